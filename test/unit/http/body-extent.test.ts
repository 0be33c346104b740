/** How many of the bytes behind a head go to the parser with it: all of its body at once, and nothing of the next request. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { BodyExtent } from '../../../src/http/body-extent.ts';

const CHUNKED = { 'transfer-encoding': 'chunked' };
const NEXT = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3);

/** What is taken of reads until nothing is left or all of `body` is taken, and in how many pieces. */
function taken(
  headers: Record<string, string>,
  reads: readonly string[],
  body: string,
): { text: string; pieces: number } {
  const extent = new BodyExtent(headers);
  let [waiting, text, pieces] = ['', '', 0];
  for (const read of reads) {
    waiting += read;
    while (waiting !== '' && text.length < body.length) {
      const length = extent.take(Buffer.from(waiting, 'latin1'));
      if (length === 0) break;
      text += waiting.slice(0, length);
      waiting = waiting.slice(length);
      pieces++;
    }
  }
  return { text, pieces };
}

describe('of one read', () => {
  const long = '\r\n\r\n'.repeat(16_000);
  for (const [what, headers, body] of [
    ['a body of declared length', { 'content-length': '9' }, '\r\n\r\nHello'],
    ['a chunk of blank lines', CHUNKED, `${long.length.toString(16)}\r\n${long}\r\n0\r\n\r\n`],
    ['chunks of a byte', CHUNKED, `${'1\r\na\r\n'.repeat(5_000)}0\r\n\r\n`],
    ['chunks with extensions and trailers', CHUNKED, '5;a="b"\r\nHello\r\n000;c\r\nX: 1\r\nY: 2\r\n\r\n'],
    ['sizes in both cases', CHUNKED, `a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n`],
    ['no chunk', CHUNKED, '0\r\n\r\n'],
  ] as const) {
    test(`${what} is one piece, without the next request`, () => {
      assert.deepEqual(taken(headers, [body + NEXT], body), { text: body, pieces: 1 });
    });
  }
});

describe('the rest is left to the parser where it refuses', () => {
  for (const line of ['x', '', ' 5', '-1', 'f'.repeat(17)]) {
    test(`a size ${JSON.stringify(line)}`, () => {
      const body = `${line}\r\nHello\r\n0\r\n\r\n`;
      assert.equal(new BodyExtent(CHUNKED).take(Buffer.from(body)), body.length);
    });
  }
  test('the line before a chunk that has no end', () => {
    assert.equal(new BodyExtent(CHUNKED).take(Buffer.from(`5;${'x'.repeat(10_000)}`)), 0);
    assert.equal(new BodyExtent(CHUNKED).take(Buffer.from(`5;${'x'.repeat(40_000)}`)), 40_002);
  });
});

const chunk = fc
  .tuple(fc.stringMatching(/^[a\r\n0]{1,20}$/), fc.constantFrom('', ';x', ';0\t'))
  .map(([data, extension]) => `${data.length.toString(16)}${extension}\r\n${data}\r\n`);
const chunked = fc
  .tuple(
    fc.array(chunk, { maxLength: 6 }),
    fc.constantFrom('0', '00', '0;e'),
    fc.constantFrom('', 'T: 0\r\n', 'T:\r\n'),
  )
  .map(([chunks, last, trailers]) => `${chunks.join('')}${last}\r\n${trailers}\r\n`);

test('wherever reads end, all of a body in chunks is taken, and nothing behind it', () => {
  fc.assert(
    fc.property(chunked, fc.array(fc.nat(12)), (body, sizes) => {
      const all = body + NEXT;
      const reads: string[] = [];
      let at = 0;
      for (const size of sizes) {
        reads.push(all.slice(at, at + size));
        at += size;
      }
      assert.equal(taken(CHUNKED, [...reads, all.slice(at)], body).text, body);
    }),
    { numRuns: 2_000 },
  );
});
