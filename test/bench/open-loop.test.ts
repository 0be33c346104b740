/** The load generator at a fixed rate: what a stall costs is counted for all that were due meanwhile. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { Run } from '../../bench/load/run.ts';

const PER_SECOND = 500;
const REQUESTS = 200;
/** Half of the requests are due in that time. */
const STALL_MS = 200;

const server = createServer((_, response) => {
  if (stalledUntilMs === 0) stalledUntilMs = performance.now() + STALL_MS;
  const answer = () => response.writeHead(200, { 'Content-Length': 2 }).end('{}');
  setTimeout(answer, Math.max(0, stalledUntilMs - performance.now()));
});
let stalledUntilMs = 0;

describe('the load generator at a fixed rate', () => {
  before(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });

  after(() => server.close());

  test('sends what is due during a stall, and counts its time from when it was due', async () => {
    const { port } = server.address() as AddressInfo;
    const result = await new Run({
      port,
      key: 'any',
      headers: [],
      stream: false,
      arrivals: { kind: 'open', perSecond: PER_SECOND },
      length: { requests: REQUESTS },
    }).measure();
    assert.equal(result.failure, undefined);
    assert.equal(result.answers, REQUESTS);
    // The first one waits for the whole stall. Had the generator waited with it, one answer in 200 would be slow.
    assert.ok(result.totalMs.p999 >= STALL_MS * 0.95, `p99.9 ${result.totalMs.p999}`);
    // A tenth of all are due in its first fifth.
    assert.ok(result.totalMs.p90 >= STALL_MS * 0.75, `p90 ${result.totalMs.p90}`);
  });
});
