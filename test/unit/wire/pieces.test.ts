/** Splitting streams of Google's dialect: the same events in each form, however the bytes are cut. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { readJson } from '../../../src/core/json.ts';
import { PieceSplitter } from '../../../src/wire/pieces.ts';
import type { SseEvent } from '../../../src/wire/sse.ts';

const MAX_BYTES = 100_000;

function split(chunks: readonly Buffer[]): SseEvent[] {
  const splitter = new PieceSplitter(MAX_BYTES);
  const events = chunks.flatMap((chunk) => splitter.push(chunk));
  const rest = splitter.end();
  return rest === undefined ? events : [...events, rest];
}

/** The bytes in chunks that are cut at these places. */
function cut(text: string, places: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text);
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...ends].map((start, index) => bytes.subarray(start, ends[index] ?? bytes.length));
}

const valuesOf = (events: readonly SseEvent[]) => events.map(({ data = '' }) => readJson(data));

const text = fc.oneof(fc.string(), fc.constantFrom('}', ']', '"', '\\', '{"', 'é漢🚀', '\n', '\u2028', '],[{'));
const json = fc.letrec((tie) => ({
  value: fc.oneof(text, fc.integer(), fc.constant(null), tie('object'), fc.array(tie('value'), { maxLength: 3 })),
  object: fc.dictionary(text, tie('value'), { maxKeys: 3, noNullPrototype: true }),
})).object;
const places = fc.array(fc.nat(), { maxLength: 5 });

describe('a stream of JSON', () => {
  for (const indent of [undefined, 2, '\t']) {
    test(`is an event for each object of its array, indented by ${JSON.stringify(indent)}`, () => {
      fc.assert(
        fc.property(fc.array(json, { maxLength: 5 }), places, (values, at) => {
          assert.deepEqual(valuesOf(split(cut(JSON.stringify(values, undefined, indent), at))), values);
        }),
      );
    });
  }

  test('may be an object by itself', () => {
    fc.assert(
      fc.property(json, places, (value, at) => {
        assert.deepEqual(valuesOf(split(cut(`\ufeff \r\n${JSON.stringify(value)}\n`, at))), [value]);
      }),
    );
  });

  test('has events that are server-sent events, each in one line', () => {
    const [event] = split(cut('[{\n "a": "b\\nc"\n}\n]', []));
    assert.equal(event?.bytes.toString(), 'data: {  "a": "b\\nc" }\r\n\r\n');
  });

  test('has no event for an object that is cut off, nor for anything but objects', () => {
    assert.deepEqual(valuesOf(split(cut('[1, "{", [], {"a":1}, null, {"b":', []))), [{ a: 1 }]);
  });

  test('has an event that is not valid for an object that is too long', () => {
    const splitter = new PieceSplitter(MAX_BYTES);
    assert.deepEqual(splitter.push(Buffer.from('[{"a":"')), []);
    const [event] = splitter.push(Buffer.alloc(MAX_BYTES, 'x'));
    assert.throws(() => JSON.parse(event?.data ?? ''), SyntaxError);
    assert.equal(splitter.pendingBytes, 0);
  });
});

describe('a stream of events', () => {
  test('is split as in other dialects, with the blanks before it', () => {
    const sent = ' \n\ndata: {"a":1}\r\n\r\n: comment\n\ndata: {"b":[2]}\n\n';
    fc.assert(
      fc.property(places, (at) => {
        const events = split(cut(sent, at));
        assert.equal(Buffer.concat(events.map(({ bytes }) => bytes)).toString(), sent);
        assert.deepEqual(valuesOf(events.filter(({ data }) => data !== undefined)), [{ a: 1 }, { b: [2] }]);
      }),
    );
  });

  test('is one of blanks alone, if it begins with many', () => {
    const splitter = new PieceSplitter(MAX_BYTES);
    const blanks = Buffer.alloc(70_000, '\n');
    assert.ok(splitter.push(blanks).length > 0 || splitter.pendingBytes > 0);
  });
});
