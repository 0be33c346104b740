/** The program's HTTP server reads hostile and odd HTTP as Node's server does, wherever it is cut. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { HTTP_CORPUS, LARGE_CORPUS } from './http-corpus.ts';
import { differenceOf, NodeServer, OwnServer } from './server-campaign.ts';

const own = new OwnServer();
const nodes = new NodeServer();

/** Every cut takes a third of a millisecond of both servers, and the fuzzer cuts anywhere. */
const BYTES_PER_CUT = 4;

/** How a client may send it: at once, each byte by itself, or in two parts. */
function cutsOf(bytes: Buffer): Buffer[][] {
  const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
  const halves = Array.from({ length: Math.floor((bytes.length - 1) / BYTES_PER_CUT) }, (_, index) => {
    const at = (index + 1) * BYTES_PER_CUT;
    return [bytes.subarray(0, at), bytes.subarray(at)];
  });
  return [[bytes], single, ...halves];
}

async function assertSame(bytes: Buffer, pieces: readonly Buffer[], ends: boolean): Promise<void> {
  const [a, b] = await Promise.all([own.read(pieces, ends), nodes.read(pieces, ends)]);
  const cut = pieces.map(({ length }) => length).join('+');
  assert.equal(differenceOf(bytes, a, b), undefined, `${JSON.stringify(bytes.toString('latin1'))}, cut ${cut}`);
}

for (const { about, cases } of HTTP_CORPUS) {
  describe(`the server reads as Node's does: ${about}:`, () => {
    for (const [name, text] of cases) {
      const bytes = Buffer.from(text, 'latin1');
      test(name, async () => {
        await Promise.all(cutsOf(bytes).map((pieces) => assertSame(bytes, pieces, false)));
        await assertSame(bytes, [bytes], true);
      });
    }
  });
}

describe(`the server reads as Node's does: ${LARGE_CORPUS.about}:`, () => {
  for (const [name, text] of LARGE_CORPUS.cases) {
    const bytes = Buffer.from(text, 'latin1');
    test(name, () => assertSame(bytes, [bytes], false));
  }
});

test('a malformed request behind a request for an upgrade is refused, while Node drops it', async () => {
  const request = (more: string) => Buffer.from(`GET / HTTP/1.1\r\nHost: gateway.test\r\n${more}\r\n`);
  const sent = Buffer.concat([request('Upgrade: websocket\r\nConnection: upgrade\r\n'), request('Na}me: value\r\n')]);
  const [a, b] = await Promise.all([own.read([sent], false), nodes.read([sent], false)]);
  assert.deepEqual([a.requests.length, a.requests.at(-1), a.end], [2, 'HPE_INVALID_HEADER_TOKEN', 'over']);
  assert.equal(differenceOf(sent, a, b), undefined);
  // Other differences behind such a request are reported.
  assert.notEqual(differenceOf(sent, b, a), undefined);
  assert.notEqual(differenceOf(sent, { ...a, requests: [] }, b), undefined);
});
