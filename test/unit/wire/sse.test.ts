/**
 * Splitting event streams: the same events however the bytes are cut, and no byte lost or added.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { dataEvent, MAX_EVENT_BYTES, type SseEvent, SseSplitter } from '../../../src/wire/sse.ts';

/** Splits chunks into events, including the unterminated rest. */
function split(chunks: readonly Buffer[]): SseEvent[] {
  const splitter = new SseSplitter();
  const events = chunks.flatMap((chunk) => splitter.push(chunk));
  const rest = splitter.end();
  return rest === undefined ? events : [...events, rest];
}

const splitText = (text: string) => split([Buffer.from(text)]);
const joined = (events: readonly SseEvent[]) => Buffer.concat(events.map(({ bytes }) => bytes));
const dataOf = (events: readonly SseEvent[]) =>
  events.filter(({ data, name }) => data !== undefined || name !== undefined).map(({ data, name }) => ({ data, name }));

const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
const line = fc.oneof(
  fc.constantFrom('data: x', 'data:x', 'data:  x', 'data', 'data:', 'event: error', 'id: 1', ': comment', ':', 'foo'),
  fc.constantFrom('data: {"a":"é漢🚀"}', 'data: [DONE]', ' data: x', 'retry: 5', 'data: a:b: c', 'data: \ufeff'),
);
const streams = fc
  .tuple(
    fc.constantFrom('', '\ufeff'),
    fc.array(fc.tuple(fc.array(fc.tuple(line, lineEnd), { maxLength: 4 }), lineEnd), { maxLength: 6 }),
    fc.oneof(fc.constant(''), line),
  )
  .map(([mark, events, rest]) => {
    const texts = events.map(([lines, end]) => lines.map(([text, lineEnd]) => text + lineEnd).join('') + end);
    return Buffer.from(mark + texts.join('') + rest);
  });

/**
 * The algorithm of the standard on a whole text: lines, then fields, an event at each blank line
 * and at the end.
 */
function eventsByHand(bytes: Buffer): { data: string | undefined; name: string | undefined }[] {
  const events: { data: string | undefined; name: string | undefined }[] = [];
  let data: string[] = [];
  let name: string | undefined;
  const text = bytes.toString('utf8').replace(/^\ufeff/, '');
  for (const each of [...text.split(/\r\n|\n|\r/), '']) {
    if (each === '') {
      if (data.length > 0 || name !== undefined)
        events.push({ data: data.length > 0 ? data.join('\n') : undefined, name });
      data = [];
      name = undefined;
      continue;
    }
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(each) ?? [];
    if (field === 'data') data.push(value);
    if (field === 'event') name = value;
  }
  return events;
}

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

describe('a stream of events', () => {
  test('yields what the standard says, and all its bytes, wherever it is cut', () => {
    fc.assert(
      fc.property(streams, fc.array(fc.nat(), { maxLength: 8 }), (bytes, places) => {
        const events = split(cut(bytes, places));
        assert.deepEqual(joined(events), bytes);
        assert.deepEqual(dataOf(events), eventsByHand(bytes));
        assert.ok(events.every(({ complete }) => complete));
      }),
      { numRuns: 2_000 },
    );
  });

  test('yields the same byte by byte', () => {
    fc.assert(
      fc.property(streams, (bytes) => {
        const events = split(Array.from(bytes, (byte) => Buffer.from([byte])));
        assert.deepEqual(joined(events), bytes);
        assert.deepEqual(dataOf(events), eventsByHand(bytes));
      }),
      { numRuns: 500 },
    );
  });

  test('yields an event as soon as its blank line has arrived', () => {
    const splitter = new SseSplitter();
    assert.deepEqual(splitter.push(Buffer.from('data: a\n')), []);
    assert.equal(splitter.push(Buffer.from('\n'))[0]?.data, 'a');
    assert.deepEqual(
      splitter.push(Buffer.from('data: b\r\n\r')).map(({ data }) => data),
      ['b'],
    );
    assert.deepEqual(
      splitter.push(Buffer.from('\ndata: c\r\r')).map(({ data }) => data),
      ['c'],
    );
    assert.equal(splitter.end(), undefined);
  });

  test('has one event for an event and all the blank lines behind it, of whatever kind', () => {
    for (const blanks of ['\n', '\r\n', '\r', '\n\r']) {
      const chunks = [blanks.repeat(1_000), `${blanks}data: a\n\n${blanks.repeat(1_000)}`, blanks.repeat(1_000)];
      const events = split(chunks.map((chunk) => Buffer.from(chunk)));
      assert.deepEqual(
        events.map(({ data }) => data).filter((data) => data !== undefined),
        ['a'],
      );
      assert.ok(events.length <= 4, `${events.length} events of ${JSON.stringify(blanks)}`);
    }
  });

  test('joins data lines, and ignores comments and other fields', () => {
    const [event] = splitText(': ping\nevent: delta\ndata: one\nid: 7\ndata\ndata: three\n\n');
    assert.deepEqual([event?.data, event?.name], ['one\n\nthree', 'delta']);
  });

  test('of only comments has no data', () => {
    const events = splitText(': OPENROUTER PROCESSING\n\n: keep-alive\n\n');
    assert.deepEqual(
      events.map(({ data }) => data),
      [undefined, undefined],
    );
  });

  test('parses what the gateway itself writes', () => {
    assert.equal(splitText(dataEvent('{"a":1}'))[0]?.data, '{"a":1}');
  });
});

describe('an oversized event', () => {
  // Several pieces longer: an event that ends within the piece that exceeds the limit is still
  // parsed.
  const long = `data: ${'x'.repeat(MAX_EVENT_BYTES + 300_000)}`;
  const pieces = (text: string, length: number) =>
    Array.from({ length: Math.ceil(text.length / length) }, (_, i) =>
      Buffer.from(text.slice(i * length, (i + 1) * length)),
    );

  test('is passed on unparsed, and the next one is parsed again', () => {
    const text = `data: a\n\n${long}\n\ndata: b\n\n`;
    const events = split(pieces(text, 65_536));
    assert.equal(joined(events).toString(), text);
    assert.deepEqual(
      events.filter(({ data }) => data !== undefined).map(({ data }) => data),
      ['a', 'b'],
    );
    const unread = events.filter(({ data }) => data === undefined);
    assert.deepEqual(
      unread.map(({ complete }) => complete),
      [...unread.slice(1).map(() => false), true],
    );
  });

  test('is passed on without being buffered: memory stays within the limit', () => {
    const splitter = new SseSplitter();
    let held = 0;
    let longest = 0;
    for (const piece of pieces(long.repeat(3), 65_536)) {
      held += piece.length - splitter.push(piece).reduce((sum, { bytes }) => sum + bytes.length, 0);
      longest = Math.max(longest, held);
    }
    assert.ok(longest <= MAX_EVENT_BYTES);
  });

  test('that never ends has been passed on in pieces, none of them complete', () => {
    const events = split(pieces(long, 65_536));
    assert.equal(joined(events).toString(), long);
    assert.ok(events.every(({ complete }) => !complete));
  });

  test('just within the limit is parsed', () => {
    const data = 'x'.repeat(MAX_EVENT_BYTES - 20);
    assert.equal(split(pieces(`data: ${data}\n\n`, 65_536))[0]?.data, data);
  });
});
