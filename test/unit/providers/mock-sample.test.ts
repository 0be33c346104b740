/** What the mock answers to a JSON schema: a real validator accepts it, whatever the schema. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import fc from 'fast-check';
import { z } from 'zod';
import { matchOf } from '../../../src/providers/mock/pattern-match.ts';
import { sampleOf } from '../../../src/providers/mock/sample.ts';

type Schema = Parameters<typeof z.fromJSONSchema>[0];

function assertValid(schema: unknown): void {
  const result = z.fromJSONSchema(schema as Schema).safeParse(sampleOf(schema));
  assert.ok(result.success, `${JSON.stringify(schema)}: ${JSON.stringify(sampleOf(schema))}`);
}

const bounds = fc
  .tuple(fc.nat({ max: 6 }), fc.nat({ max: 6 }))
  .map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
const FORMATS = ['date-time', 'date', 'email', 'uri', 'uuid', 'ipv4', 'ipv6'];
const PATTERNS = [
  '^[a-z]{3,5}$',
  '^\\d{4}-\\d{2}$',
  '^(?:GET|POST) /\\w+$',
  '^[^a-z\\s]+x?$',
  '^\\+?[1-9]\\d{1,14}$',
  'ab|cd',
  '\\.',
];

/** Schemas as official libraries write them, and such as people write. */
const { schema: schemas } = fc.letrec<{ schema: object; leaf: object }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('leaf'),
    fc
      .tuple(fc.dictionary(fc.constantFrom('a', 'b', 'c d', 'é'), tie('schema')), fc.boolean(), fc.boolean())
      .map(([properties, isStrict, isOpen]) => ({
        type: 'object',
        properties,
        required: Object.keys(properties).slice(isStrict ? 0 : 1),
        ...(!isOpen && { additionalProperties: false }),
      })),
    fc
      .tuple(tie('schema'), bounds)
      .map(([items, [minItems, maxItems]]) => ({ type: 'array', items, minItems, maxItems })),
    fc.tuple(tie('schema'), tie('leaf')).map(([a, b]) => ({ anyOf: [a, b] })),
    tie('schema').map((a) => ({ anyOf: [a, { type: 'null' }] })),
    fc.tuple(tie('leaf')).map(([a]) => ({ type: 'object', properties: { of: { allOf: [a] } }, required: ['of'] })),
  ),
  leaf: fc.oneof(
    fc.constantFrom({}, { type: 'string' }, { type: 'boolean' }, { type: 'null' }, { type: ['string', 'null'] }),
    bounds.map(([minLength, maxLength]) => ({ type: 'string', minLength, maxLength })),
    bounds.map(([minimum, maximum]) => ({ type: 'integer', minimum: minimum - 3, maximum: maximum - 3 })),
    bounds
      .map(([minimum, above]) => ({ type: 'number', exclusiveMinimum: minimum, maximum: above + 0.5 }))
      .filter(({ exclusiveMinimum, maximum }) => exclusiveMinimum < maximum),
    fc.integer({ min: 1, max: 9 }).map((multipleOf) => ({ type: 'integer', multipleOf, minimum: 1 })),
    fc.constantFrom(...FORMATS).map((format) => ({ type: 'string', format })),
    fc.constantFrom(...PATTERNS).map((pattern) => ({ type: 'string', pattern })),
    fc.array(fc.oneof(fc.string(), fc.integer()), { minLength: 1, maxLength: 3 }).map((values) => ({ enum: values })),
    fc.oneof(fc.string(), fc.integer(), fc.boolean()).map((value) => ({ const: value })),
  ),
}));

describe('a sample of a schema', () => {
  test('is what a real validator accepts, for any schema that clients send', () => {
    fc.assert(fc.property(schemas, assertValid), { numRuns: 2_000 });
  });

  for (const [name, schema] of Object.entries<object>({
    'that refers to its definitions': {
      type: 'object',
      properties: {
        who: { $ref: '#/$defs/person' },
        others: { type: 'array', items: { $ref: '#/$defs/person' }, minItems: 2 },
      },
      required: ['who', 'others'],
      $defs: { person: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } },
    },
    'that refers to itself': {
      type: 'object',
      properties: { value: { type: 'integer' }, next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } },
      required: ['value', 'next'],
      additionalProperties: false,
    },
    'of unions that are told apart by a constant': {
      type: 'object',
      properties: {
        step: {
          anyOf: [
            { type: 'object', properties: { kind: { const: 'a' }, n: { type: 'number' } }, required: ['kind', 'n'] },
            { type: 'object', properties: { kind: { const: 'b' } }, required: ['kind'] },
          ],
        },
      },
      required: ['step'],
    },
    'with parts that all hold': {
      allOf: [
        { type: 'object', properties: { a: { type: 'integer', minimum: 5 } }, required: ['a'] },
        { type: 'object', properties: { a: { maximum: 6 }, b: { type: 'string' } }, required: ['b'] },
      ],
    },
  })) {
    test(`is valid for one ${name}`, () => assertValid(schema));
  }

  test('of items that have to differ has different ones', () => {
    const schema = { type: 'array', items: { enum: ['a', 'b', 'c'] }, minItems: 3, uniqueItems: true };
    assert.deepEqual(sampleOf(schema), ['a', 'b', 'c']);
    assert.deepEqual(sampleOf({ ...schema, items: { type: 'integer', minimum: 4 } }), [4, 5, 6]);
  });

  test('is not searched for without end', () => {
    assert.equal(sampleOf({ $ref: '#' }), undefined);
    assert.equal(sampleOf({ type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] }), undefined);
    const doubling = Object.fromEntries(
      Array.from({ length: 60 }, (_, i) => [
        `d${i}`,
        { anyOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
      ]),
    );
    assert.equal(sampleOf({ $ref: '#/$defs/d0', $defs: { ...doubling, d60: false } }), undefined);
    assert.equal(sampleOf(false), undefined);
  });
});

// What backtracks without end, as some of the patterns do, is matched in linear time instead.
setFlagsFromString('--enable-experimental-regexp-engine-on-excessive-backtracks');

describe('a match of a pattern', () => {
  test('is one, for any pattern of the parts that are read', () => {
    const { pattern: patterns } = fc.letrec<{ pattern: string; part: string }>((tie) => ({
      pattern: fc.array(tie('part'), { maxLength: 4 }).map((parts) => parts.join('')),
      part: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(
          'a',
          'é',
          '0',
          '\\d',
          '\\w',
          '\\s',
          '\\D',
          '\\.',
          '\\/',
          '.',
          '[a-z]',
          '[^a-z0-9]',
          '[\\w.-]',
          '[^\\d]',
          '\\x41',
        ),
        fc
          .tuple(tie('part'), fc.constantFrom('*', '+', '?', '{2}', '{1,3}', '{2,}'))
          .map(([part, times]) => `(?:${part})${times}`),
        fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(${a}|${b})`),
        tie('pattern').map((inner) => `(?<n${inner.length}x${Math.abs(inner.length * 7)}>${inner})`),
      ),
    }));
    fc.assert(
      fc.property(patterns, fc.nat({ max: 8 }), (pattern, least) => {
        fc.pre(!hasTwice(pattern));
        const text = matchOf(`^${pattern}$`, least);
        assert.match(text ?? assert.fail(pattern), new RegExp(`^${pattern}$`));
      }),
      { numRuns: 2_000 },
    );
  });

  test('is as long as it has to be', () => {
    assert.equal(matchOf('^a+$', 5), 'aaaaa');
    assert.equal(matchOf('^a{1,3}$', 5), 'aaa');
  });

  for (const pattern of [
    '(?=a)b',
    '(a)\\1',
    '\\p{L}',
    '(',
    'a)',
    '[',
    '*',
    'a{999999}',
    '['.repeat(200),
    '('.repeat(200),
  ]) {
    test(`of ${pattern.slice(0, 20)} is not made`, () => assert.equal(matchOf(pattern, 0), undefined));
  }
});

/** Groups of the same name may not stand twice in a pattern. */
function hasTwice(pattern: string): boolean {
  const names = pattern.match(/\(\?<\w+>/g) ?? [];
  return new Set(names).size < names.length;
}
