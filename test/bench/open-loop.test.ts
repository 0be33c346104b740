/**
 * The load generator at a fixed rate: a stall delays every request that was due meanwhile, and all
 * of them count.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { Run } from '../../bench/load/run.ts';
import type { LoadResult } from '../../bench/messages.ts';

const PER_SECOND = 500;
const REQUESTS = 200;
/** Half of the requests are due during the stall. */
const STALL_MS = 200;

/** A server that calls `stall` at its first request, which decides when requests are answered. */
async function runAgainst(stall: (untilMs: number, response: ServerResponse) => void): Promise<LoadResult> {
  let untilMs: number | undefined;
  const server = createServer((_, response) => {
    untilMs ??= performance.now() + STALL_MS;
    stall(untilMs, response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const arrivals = { kind: 'open', perSecond: PER_SECOND } as const;
    const run = new Run({ port, key: 'any', headers: [], stream: false, arrivals, length: { requests: REQUESTS } });
    return await run.measure();
  } finally {
    server.close();
  }
}

function answer(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Length': 2 }).end('{}');
}

function assertAllWereDelayed({ answers, failure, totalMs }: LoadResult): void {
  assert.equal(failure, undefined);
  assert.equal(answers, REQUESTS);
  // If only the first one had counted as delayed, one answer in 200 would be slow.
  assert.ok(totalMs.p999 >= STALL_MS * 0.95, `p99.9 ${totalMs.p999}`);
  // A tenth of all are due in the first fifth of the stall.
  assert.ok(totalMs.p90 >= STALL_MS * 0.75, `p90 ${totalMs.p90}`);
}

describe('the load generator at a fixed rate', () => {
  test('keeps sending requests when they are due while the server stalls', async () => {
    const result = await runAgainst((untilMs, response) => {
      setTimeout(() => answer(response), Math.max(0, untilMs - performance.now()));
    });
    assertAllWereDelayed(result);
  });

  test('measures from when a request was due, even if it could not send it then', async () => {
    const result = await runAgainst((untilMs, response) => {
      // The server and the generator share this thread.
      while (performance.now() < untilMs);
      answer(response);
    });
    assertAllWereDelayed(result);
  });
});
