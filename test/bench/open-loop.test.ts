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
import type { LoadJob, LoadResult } from '../../bench/messages.ts';
import { buildNativeTools, NativeLoad } from '../../bench/native/native.ts';

const PER_SECOND = 500;
const REQUESTS = 200;
/** Half of the requests are due during the stall. */
const STALL_MS = 200;

/** A server that calls `stall` at its first request, which decides when requests are answered. */
async function runAgainst(stall: (untilMs: number, response: ServerResponse) => void): Promise<LoadResult> {
  let untilMs: number | undefined;
  const onRequest = (response: ServerResponse) => {
    untilMs ??= performance.now() + STALL_MS;
    stall(untilMs, response);
  };
  return await against(onRequest, (job) => new Run(job).measure());
}

async function against(
  onRequest: (response: ServerResponse) => void,
  run: (job: LoadJob) => Promise<LoadResult>,
): Promise<LoadResult> {
  const server = createServer((_, response) => onRequest(response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const arrivals = { kind: 'open', perSecond: PER_SECOND } as const;
    return await run({ port, key: 'any', headers: [], stream: false, arrivals, length: { requests: REQUESTS } });
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

test('both load generators say how the body of an answer begins that is no 200', async () => {
  const refuse = (response: ServerResponse) => {
    response.writeHead(429, { 'Content-Length': 1_000 }).end(`{"error":"too much"}${' '.repeat(980)}`);
  };
  const { failure } = await against(refuse, (job) => new Run(job).measure());
  assert.match(String(failure), /^the server answered 429: \{"error":"too much"\} +$/);
  const tools = await buildNativeTools();
  if (tools === undefined) return;
  const native = await against(refuse, (job) => new NativeLoad(tools).run(job));
  assert.match(String(native.failure), /^the server answered 429: \{'error':'too much'\} +$/);
});
