/** Times to the first byte by upstream: steps of ten seconds, the last five minutes of them. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { mergedUpstreams } from '../../../src/gateway/snapshot.ts';
import { FirstBytes } from '../../../src/observe/first-bytes.ts';
import { quantile } from '../../../src/observe/histogram.ts';
import type { WorkerSnapshot } from '../../../src/observe/worker-snapshot.ts';

const NOW_S = 1_762_000_000;
const medians = (bytes: FirstBytes, steps: number, nowS: number) =>
  bytes.last('openai', steps, nowS).map((step) => quantile(step, 0.5));

test('each step has its own, the oldest first, and another upstream has none of them', () => {
  const bytes = new FirstBytes();
  for (const [ms, nowS] of [
    [100, NOW_S],
    [100, NOW_S + 9],
    [1_000, NOW_S + 20],
  ] as const)
    bytes.record('openai', ms, nowS);
  assert.deepEqual(medians(bytes, 4, NOW_S + 25), [undefined, 108, undefined, 1_010]);
  assert.deepEqual(bytes.last('groq', 4, NOW_S), []);
});

test('what is older than five minutes is gone', () => {
  const bytes = new FirstBytes();
  bytes.record('openai', 100, NOW_S);
  assert.equal(medians(bytes, 30, NOW_S + 290)[0], 108);
  assert.deepEqual(medians(bytes, 99, NOW_S + 300), []);
  bytes.record('openai', 1_000, NOW_S + 300);
  assert.deepEqual(medians(bytes, 1, NOW_S + 300), [1_010]);
});

test('those of several threads are added, step by step', () => {
  const worker = (...ms: readonly (number | undefined)[]) => {
    const bytes = new FirstBytes();
    for (const [step, each] of ms.entries())
      if (each !== undefined) bytes.record('openai', each, NOW_S + 10 * (step - ms.length + 1));
    const steps = bytes.last('openai', ms.length, NOW_S);
    const health = { upstream: 'openai', in_flight: 0, last_failure: null, causes: [], state: 'closed' };
    return { upstreams: [{ ...health, ...(steps.length > 0 && { first_bytes: steps }) }] } as unknown as WorkerSnapshot;
  };
  const added = (...workers: WorkerSnapshot[]) =>
    mergedUpstreams(workers)[0]?.first_bytes?.map((step) => [quantile([...step], 0.5), quantile([...step], 0.99)]);
  assert.deepEqual(added(worker(100, 100), worker(undefined, 1_000)), [
    [108, 108],
    [108, 1_010],
  ]);
  assert.deepEqual(added(worker(undefined, undefined), worker(100, undefined)), [
    [108, 108],
    [undefined, undefined],
  ]);
});
