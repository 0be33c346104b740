/** Parsing request bodies: which are accepted, and the problem reported for the others. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readJsonBody } from '../../../src/wire/body.ts';

const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

const INVALID: readonly (readonly [what: string, body: string | Buffer, problem: RegExp])[] = [
  ['empty', '', /empty/],
  ['only white space', '  \n', /not valid JSON/],
  ['a word', 'model', /not valid JSON/],
  ['an open brace', '{"model": "a/b"', /not valid JSON/],
  ['a trailing comma', '{"model": "a/b",}', /not valid JSON/],
  ['single quotes', "{'model': 'a/b'}", /not valid JSON/],
  ['text after the object', '{"model": "a/b"} x', /not valid JSON/],
  ['a byte order mark alone', '\ufeff', /empty/],
  ['two byte order marks', '\ufeff\ufeff{"model": "a/b"}', /not valid JSON: line 1, column 1\./],
  ['broken on its third line', '\ufeff{\n  "model": "a/b",\n  "n": x\n}', /not valid JSON: line 3, column 8\./],
  ['a line break in a string', '{"a": "x\ny"}', /not valid JSON/],
  ['not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /not valid UTF-8: line 1, column 3\./],
  [
    'Latin-1 after U+FFFD',
    Buffer.concat([Buffer.from('{"\ufffd": 1,\n "'), Buffer.of(0xe9)]),
    /UTF-8: line 2, column 3\./,
  ],
  ['UTF-16', Buffer.from('{"a":1}', 'utf16le'), /UTF-8|JSON/],
  ['an array', '[{"model": "a/b"}]', /not a JSON object/],
  ['a string', '"model"', /not a JSON object/],
  ['null', 'null', /not a JSON object/],
  ['a number', '1', /not a JSON object/],
  ['an object with a duplicate field', '{"model": "a/b", "n": 1, "model": "c/d"}', /Duplicate field.*: "model"/],
  [
    'an object with a duplicate field, once with escapes',
    String.raw`{"model": "a/b", "mod\u0065l": "c/d"}`,
    /Duplicate field.*: "model"/,
  ],
  [
    'an object of many fields with a duplicate one',
    `{${Array.from({ length: 20 }, (_, at) => `"f${at}": 1`).join(',')}, "f7": 2}`,
    /Duplicate field.*: "f7"/,
  ],
  ['nested 201 levels deep', nested(201), /more than 200 levels/],
  ['nested 100,000 levels deep', nested(100_000), /more than 200 levels/],
];

describe('a body is rejected that is', () => {
  for (const [what, body, problem] of INVALID) {
    test(what, () => {
      const read = readJsonBody(Buffer.from(body));
      assert.ok(!read.ok);
      assert.match(read.problem, problem);
    });
  }
});

describe('a body is accepted', () => {
  test('with its original text, and its fields', () => {
    const text = ' {"model" :"a/b", "n": 1.0, "é": "\\u00e9"}\r\n';
    const read = readJsonBody(Buffer.from(text));
    assert.ok(read.ok);
    assert.equal(read.body.text, text);
    assert.deepEqual({ ...read.body.fields }, { model: 'a/b', n: 1, é: 'é' });
    assert.deepEqual(
      read.body.members.map(({ key }) => key),
      ['model', 'n', 'é'],
    );
  });

  test('with a byte order mark, which is not part of its text', () => {
    const read = readJsonBody(Buffer.from('\ufeff{"model": "a/b"}'));
    assert.ok(read.ok);
    assert.equal(read.body.text, '{"model": "a/b"}');
  });

  test('with duplicates in nested objects, and nesting up to the limit', () => {
    assert.ok(readJsonBody(Buffer.from('{"a": {"x": 1, "x": 2}, "b": {"a": 1}}')).ok);
    assert.ok(readJsonBody(Buffer.from(nested(200))).ok);
  });

  test('with a field named __proto__, which stays a field', () => {
    const read = readJsonBody(Buffer.from('{"__proto__": {"stream": true}}'));
    assert.ok(read.ok);
    assert.equal(read.body.fields.stream, undefined);
  });
});
