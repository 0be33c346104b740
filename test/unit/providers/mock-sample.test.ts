/** The samples that the mock has for JSON schemas: a validator accepts those of common schemas. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { sampleOf } from '../../../src/providers/mock/sample.ts';

type Schema = Parameters<typeof z.fromJSONSchema>[0];

const PERSON = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };

const SAMPLES: readonly (readonly [name: string, schema: object, sample: unknown])[] = [
  ['a string', { type: 'string' }, 'text'],
  ['a long string', { type: 'string', minLength: 6 }, 'textxx'],
  ['a short string', { type: 'string', maxLength: 2 }, 'te'],
  ['a date', { type: 'string', format: 'date' }, '2026-01-31'],
  ['an integer', { type: 'integer', minimum: 5 }, 5],
  ['a number above a bound', { type: 'number', exclusiveMinimum: 2 }, 3],
  ['a negative number', { type: 'number', maximum: -2 }, -2],
  ['a multiple', { type: 'integer', minimum: 1, multipleOf: 4 }, 4],
  ['a boolean', { type: 'boolean' }, true],
  ['null', { type: 'null' }, null],
  ['several types', { type: ['string', 'null'] }, 'text'],
  ['a constant', { const: 7 }, 7],
  ['an enumeration', { type: 'string', enum: ['b', 'a'] }, 'b'],
  ['items', { type: 'array', items: PERSON, minItems: 2 }, [{ name: 'text' }, { name: 'text' }]],
  ['no items', { type: 'array', items: PERSON }, []],
  ['optional fields', { type: 'object', properties: { a: { type: 'string' } } }, {}],
  [
    'definitions',
    { type: 'object', properties: { who: { $ref: '#/$defs/p' } }, required: ['who'], $defs: { p: PERSON } },
    { who: { name: 'text' } },
  ],
  [
    'a reference to itself',
    { type: 'object', properties: { next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } }, required: ['next'] },
    { next: null },
  ],
  ['alternatives', { anyOf: [PERSON, { type: 'integer' }] }, 0],
  [
    'parts',
    { allOf: [PERSON, { properties: { age: { type: 'integer' } }, required: ['age'] }] },
    { name: 'text', age: 0 },
  ],
];

describe('a sample of a schema', () => {
  for (const [name, schema, sample] of SAMPLES) {
    test(`with ${name} is valid`, () => {
      assert.deepEqual(sampleOf(schema), sample);
      assert.ok(z.fromJSONSchema(schema as Schema).safeParse(sample).success);
    });
  }

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

  test('of values that no schema has is a text', () => {
    for (const odd of [null, 1, [], 'x', { type: 5 }, { required: 'a' }, { $ref: 1 }, { enum: 1 }])
      assert.equal(sampleOf(odd), 'text');
    assert.deepEqual(sampleOf({ type: 'array', minItems: 'x' }), []);
  });
});
