/** Random mutations of JSON values: removed, renamed, duplicated or unexpected ones. */
import type { Random } from '../support/random.ts';

const DEEP = 400;
/** Longer than the body limit in the config of the fuzzed gateway. */
const LONG_CHARACTERS = 70_000;

/** Texts that replace a value. Some are not JSON. */
const ODD_VALUES: readonly string[] = [
  ...['null', 'true', 'false', '0', '-0', '-1', '1', '1.5', '128', '129', '1e999', '-1e999', '1e-400', '2e0'],
  ...['9007199254740993', '123456789012345678901234567890', '""', '"x"', '"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"'],
  ...['[]', '{}', '[null]', '[{}]', '[[]]', '{"__proto__":{"stream":true}}', '{"a":1,"a":2}', '"\u2028"', '"é漢🚀"'],
  ...['NaN', 'undefined', "'x'", '0x10', '01', '+1', '.5', '1.', '"\t"', '"\\x"', 'tru', '[1,]', '{"a":}', '/**/1'],
  ...['"system"', '"tool"', '"calm/echo"', '"calm/none"', '"../v1"', '"http://127.0.0.1/"', '"<|endoftext|>"'],
  '['.repeat(DEEP) + ']'.repeat(DEEP),
  `${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`,
  '['.repeat(DEEP),
  JSON.stringify('a'.repeat(LONG_CHARACTERS)),
];
const ODD_NAMES = ['__proto__', 'constructor', 'toString', '', 'model', 'messages', 'stream', 'n', '\ud800', 'é'];

type Holder = Record<string, unknown> | unknown[];

/** A place in the tree: the parent, and the name or index there. */
interface Place {
  readonly holder: Holder;
  readonly key: string;
}

function placesOf(holder: Holder): Place[] {
  return Object.entries(holder).flatMap(([key, value]) => [
    { holder, key },
    ...(typeof value === 'object' && value !== null ? placesOf(value as Holder) : []),
  ]);
}

/** Stands for a text that cannot be expressed as a value. */
const marked = (index: number) => `@odd ${index}@`;

/** The text of the value after a few mutations. */
export function mutateJson(value: Holder, random: Random): string {
  const tree = structuredClone(value);
  for (let left = random.between(1, 3); left > 0; left--) {
    const places = placesOf(tree);
    if (places.length === 0) break;
    mutatePlace(random.pick(places), random);
  }
  return JSON.stringify(tree).replace(/"@odd (\d+)@"/g, (_, index) => ODD_VALUES[Number(index)] as string);
}

function mutatePlace({ holder, key }: Place, random: Random): void {
  const fields = holder as Record<string, unknown>;
  const odd = marked(random.between(0, ODD_VALUES.length - 1));
  switch (random.between(0, 4)) {
    case 0:
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else delete holder[key];
      return;
    case 1:
      if (Array.isArray(holder)) holder.push(structuredClone(holder[Number(key)]));
      else define(holder, random.pick(ODD_NAMES), fields[key]);
      return;
    default:
      fields[key] = odd;
  }
}

/** Like an assignment, but also works for `__proto__`. */
function define(fields: object, name: string, value: unknown): void {
  Object.defineProperty(fields, name, { value, enumerable: true, configurable: true, writable: true });
}
