/** The way to the collector: batches, retries, the bound of the queue, and what is counted as dropped. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { openLog } from '../../src/observe/log.ts';
import { Exporter, type ExportTimes } from '../../src/tracing/exporter.ts';
import { Attributes, envelopeOf, KIND, spanJson } from '../../src/tracing/otlp.ts';
import { TestCollector } from '../support/otlp.ts';
import { until } from '../support/wait.ts';

const LONG_MS = 1_000_000;
const HEX = '0123456789abcdef';

function span(name: string): string {
  return spanJson({
    traceId: HEX + HEX,
    id: HEX,
    parentId: undefined,
    state: undefined,
    name,
    kind: KIND.internal,
    startMs: 1_700_000_000_000.25,
    endMs: 1_700_000_000_001.5,
    attributes: new Attributes().text('half', '\ud800"').int('n', 3).double('d', 0.5).flag('f', true).texts('l', ['a']),
    isError: true,
  });
}

describe('an exporter', () => {
  let collector: TestCollector;
  beforeEach(async () => {
    collector = await TestCollector.start();
  });
  afterEach(() => collector.close());

  async function exporter(times: Partial<ExportTimes> = {}): Promise<Exporter> {
    const envelope = envelopeOf(new Attributes().text('service.name', 'x'), '1.2.3');
    const { log } = await openLog('silent', 'json');
    const settings = { url: `${collector.endpoint}/v1/traces`, headers: { 'x-token': 'secret' } };
    return new Exporter(settings, envelope, log, { batchMs: 1, pauseMs: 1, answerMs: LONG_MS, ...times });
  }

  test('sends every value in its form', async () => {
    const sending = await exporter();
    sending.add(span('one'), 1);
    await collector.exported(1);
    const [first] = collector.exports;
    assert.deepEqual(first?.resource, { 'service.name': 'x' });
    assert.equal(first?.path, '/v1/traces');
    assert.equal(first?.headers['x-token'], 'secret');
    const { attributes, startNanos, endNanos, isError, kind } = first.spans[0] ?? {};
    assert.deepEqual(attributes, { half: '\ufffd"', n: 3, d: 0.5, f: true, l: ['a'] });
    assert.deepEqual(
      [startNanos, endNanos, isError, kind],
      [1_700_000_000_000_250_000n, 1_700_000_000_001_500_000n, true, 'internal'],
    );
    await sending.close(LONG_MS);
  });

  test('sends what has come together in one request, and the rest when it is closed', async () => {
    const sending = await exporter({ batchMs: LONG_MS });
    for (const name of ['one', 'two', 'three']) sending.add(span(name), 1);
    await sending.close(LONG_MS);
    assert.deepEqual(
      collector.exports.map(({ spans }) => spans.map(({ name }) => name)),
      [['one', 'two', 'three']],
    );
    assert.equal(sending.dropped, 0);
  });

  for (const status of [429, 502, 503, 504]) {
    test(`sends a batch again after ${status}`, async () => {
      collector.answers = [{ status, headers: { 'retry-after': '0' } }, { status: 200 }];
      const sending = await exporter();
      sending.add(span('again'), 1);
      await collector.exported(2);
      await sending.close(LONG_MS);
      assert.deepEqual(
        collector.spans.map(({ name }) => name),
        ['again', 'again'],
      );
      assert.equal(sending.dropped, 0);
    });
  }

  for (const [title, answer, dropped] of [
    ['it refuses', { status: 400, body: 'what?' }, 4],
    ['it takes only in part', { status: 200, body: '{"partialSuccess":{"rejectedSpans":"3"}}' }, 3],
    ['it takes with a remark', { status: 200, body: '{"partialSuccess":{"errorMessage":"slow down"}}' }, 0],
    ['it takes with an answer that is no JSON', { status: 202, body: 'OK' }, 0],
  ] as const) {
    test(`sends a batch once that ${title}, and counts ${dropped} of 4 spans as dropped`, async () => {
      collector.answers = [answer];
      const sending = await exporter();
      sending.add([1, 2, 3, 4].map((n) => span(`${n}`)).join(), 4);
      await collector.exported(1);
      await until(() => sending.dropped === dropped);
      await sending.close(LONG_MS);
      assert.equal(collector.exports.length, 1);
    });
  }

  test('drops a batch that is never taken, and goes on with the next', async () => {
    collector.answers = [...Array.from({ length: 6 }, () => ({ status: 503 })), { status: 200 }];
    const sending = await exporter();
    sending.add(span('lost'), 1);
    await collector.exported(6);
    await until(() => sending.dropped === 1);
    sending.add(span('taken'), 1);
    await collector.exported(7);
    await sending.close(LONG_MS);
    assert.equal(collector.spans.at(-1)?.name, 'taken');
    assert.equal(sending.dropped, 1);
  });

  test('keeps no more than its bound for a collector that does not answer, and stops in time', async () => {
    collector.answers = ['silent'];
    const sending = await exporter();
    const large = `${span('large').slice(0, -1)}${' '.repeat(1024 * 1024)}}`;
    for (let n = 0; n < 20; n++) sending.add(large, 5);
    const { dropped } = sending;
    assert.ok(dropped >= 60 && dropped < 80, `${dropped} of 100 spans are dropped at once`);
    await collector.exported(1);
    await sending.close(1);
    assert.equal(sending.dropped, 100);
  });

  test('is not kept from closing by a collector that is gone', async () => {
    const sending = await exporter({ batchMs: LONG_MS });
    sending.add(span('lost'), 1);
    await collector.close();
    await sending.close(LONG_MS);
    assert.equal(sending.dropped, 1);
    collector = await TestCollector.start();
  });
});
