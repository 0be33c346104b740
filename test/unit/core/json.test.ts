/** JSON from outside the program is read by its own names, whatever was parsed before. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parseArguments, parseJson, readJson, withLongIntegers } from '../../../src/core/json.ts';
import { runs } from '../../support/at-length.ts';

const AROUND = {
  'at the top': (text: string) => text,
  'in an object': (text: string) => `{"a":${text}}`,
  'in an array': (text: string) => `[0,${text}]`,
};

describe('a name with an escape is read as what it says, though an object parsed before had its first characters', () => {
  for (const [where, around] of Object.entries(AROUND)) {
    for (const [name, earlier] of [
      [String.raw`\u006e`, String.raw`\\`],
      [String.raw`\n`, String.raw`\\`],
      [String.raw`\"`, String.raw`\\`],
      [String.raw`\u5e74`, String.raw`\\`],
      [String.raw`\u006e\u006E`, String.raw`\\u`],
      [String.raw`max_token\u0073`, String.raw`max_token\\`],
    ] as const) {
      test(`${name} ${where}`, () => {
        const plain = JSON.parse(`"${name}"`) as string;
        // V8 misreads only some, depending on where the earlier name lies in memory.
        for (let index = 0; index < 100; index++) {
          const first = `first ${where} ${name.length} ${index}`;
          JSON.parse(Buffer.from(around(`{"${first}":1,"${earlier}":1,"x":2}`)).toString());
          const text = Buffer.from(around(`{"${first}":1,"${name}":50,"model":{"b":2}}`)).toString();
          const expected = JSON.parse(around('{}'), (_key, value: unknown) =>
            JSON.stringify(value) === '{}' ? { [first]: 1, [plain]: 50, model: { b: 2 } } : value,
          );
          assert.deepEqual(readJson(text), expected);
        }
      });
    }
  }
});

/** Writes a value with white space and names that are escaped, all or in part. */
function written(value: unknown, choice: () => number): string {
  const space = () => [' ', '', '\n', '\t\r'][choice() % 4];
  const list = (items: readonly string[]) => items.map((item) => space() + item + space()).join(',');
  if (Array.isArray(value)) return `[${list(value.map((item) => written(item, choice)))}${space()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, item]) => `${nameOf(name, choice)}${space()}:${space()}${written(item, choice)}`,
  );
  return `{${list(members)}${space()}}`;
}

function nameOf(name: string, choice: () => number): string {
  const unit = (at: number) => `\\u${name.charCodeAt(at).toString(16).padStart(4, '0')}`;
  const plain = (at: number) => JSON.stringify(name.charAt(at)).slice(1, -1);
  return `"${Array.from({ length: name.length }, (_, at) => (choice() % 2 ? unit(at) : plain(at))).join('')}"`;
}

test('any value is read as it was written', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.infiniteStream(fc.nat(3)), (value, choices) => {
      const text = written(value, () => choices.next().value);
      assert.deepStrictEqual(JSON.stringify(readJson(text)), JSON.stringify(value));
    }),
    { numRuns: runs(1_000) },
  );
});

describe('with a name that has an escape', () => {
  test('__proto__ is a field', () => {
    const value = readJson(String.raw`{"__proto\u005f_":{"stream":true}}`) as object;
    assert.deepEqual(Object.entries(value), [['__proto__', { stream: true }]]);
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
  });
  test('the last of several counts', () => assert.deepEqual(readJson(String.raw`{"a":1,"\u0061":2}`), { a: 2 }));
  test('nesting of any depth is read', () => {
    const depth = 100_000;
    let value = readJson(`${String.raw`{"\u0061":`.repeat(depth)}0${'}'.repeat(depth)}`) as { a: never };
    for (let level = 1; level < depth; level++) value = value.a;
    assert.deepEqual(value, { a: 0 });
  });
  test('an incomplete text is malformed', () => assert.equal(parseJson(String.raw`{"\u0061":[1`), undefined));
});

describe('an integer that a number would round', () => {
  for (const text of ['{"id":12345678901234567890}', '{"a":[{"b":-9007199254740993}],"c":"1234567890123456"}']) {
    test(`is written as it was read, in ${text}`, () => assert.equal(JSON.stringify(parseArguments(text)), text));
  }

  test('is a number where the gateway itself may read it', () => {
    const text = '{"max":12345678901234567890,"a":[{"b":[{"c":12345678901234567890}]}]}';
    const value = withLongIntegers(text, JSON.parse(text));
    assert.equal(value.max, Number('12345678901234567890'));
    assert.equal(JSON.stringify(value.a), '[{"b":[{"c":12345678901234567890}]}]');
  });

  test('is found in a text of any length', () => {
    const text = `{"digits":"${'1'.repeat(20_000_000)}","id":12345678901234567890}`;
    assert.ok(JSON.stringify(parseArguments(text)).endsWith('"id":12345678901234567890}'));
  });

  test('is no other number', () => {
    const text = '{"a":[1234567890123456,0.1234567890123456789,1e400,-12345678901234567e3,1.0]}';
    assert.deepEqual(parseArguments(text), JSON.parse(text));
  });
});
