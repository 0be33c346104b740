/**
 * Random JSON objects as text: with unusual white space, escapes, number formats, and nested
 * duplicates.
 */
import fc from 'fast-check';

const space = fc.stringMatching(/^[ \t\n\r]{0,3}$/);

/** A string as JSON text, with each character plain or escaped. */
const stringText = fc
  .array(
    fc.tuple(
      fc.oneof(fc.constantFrom('"', '\\', '/', '{', '}', '[', ']', ',', ':', '\n', 'é', '漢', '🚀', ' '), fc.string()),
      fc.boolean(),
    ),
    { maxLength: 5 },
  )
  .map((parts) => `"${parts.map(([text, escaped]) => (escaped ? escapeAll(text) : inner(text))).join('')}"`);

const inner = (text: string) => JSON.stringify(text).slice(1, -1);
const escapeAll = (text: string) =>
  Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('');

const scalar = fc.oneof(
  stringText,
  fc.constantFrom(
    'true',
    'false',
    'null',
    '0',
    '-0',
    '1.0',
    '1e3',
    '1E+03',
    '0.10',
    '-12.50e-2',
    '12345678901234567890',
  ),
  fc.integer().map(String),
);

const nested: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc
      .array(fc.tuple(space, tie('value'), space), { maxLength: 3 })
      .map((items) => `[${items.map(([before, value, behind]) => before + value + behind).join(',')}]`),
    fc
      .array(fc.tuple(space, stringText, space, tie('value')), { maxLength: 3 })
      .map((members) => `{${members.map(([s, key, t, value]) => `${s}${key}${t}:${s}${value}${t}`).join(',')}}`),
  ),
})).value;

export interface RandomMember {
  /** As JSON text, including the quotes. */
  readonly key: string;
  readonly value: string;
}

const member: fc.Arbitrary<RandomMember> = fc.record({ key: stringText, value: nested });

/** An object as text, with its members in order, including duplicates. */
export const randomObject = fc
  .tuple(fc.array(fc.tuple(space, member, space, space, space), { maxLength: 6 }), space, space)
  .map(([parts, before, behind]) => {
    const texts = parts.map(([a, { key, value }, b, c, d]) => `${a}${key}${b}:${c}${value}${d}`);
    return {
      text: `${before}{${texts.join(',')}${parts.length === 0 ? behind : ''}}${behind}`,
      members: parts.map(([, m]) => m),
    };
  });
