/** When a trace ends: once its work is done and its answer is out, whichever comes first. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Exchange } from '../../src/http/exchange.ts';
import { openLog } from '../../src/observe/log.ts';
import { Tracer } from '../../src/tracing/tracer.ts';
import { TestCollector } from '../support/otlp.ts';

/** An exchange, as far as a trace looks at it, and what closes it. */
function exchangeOf(requestId: string) {
  let close = () => {};
  const exchange = {
    requestId,
    path: '/v1/models',
    request: { method: 'GET', headers: {}, httpVersion: '1.1' },
    status: 200,
    streamStarted: true,
    onClose: (callback: () => void) => {
      close = callback;
    },
  } as unknown as Exchange;
  return { exchange, close: () => close() };
}

for (const [title, order] of [
  ['its client left before its work was done', ['close', 'done']],
  ['its answer was read after its work was done', ['done', 'close']],
] as const) {
  test(`a request is exported while the gateway runs where ${title}`, async (t) => {
    const collector = await TestCollector.start();
    t.after(() => collector.close());
    const { log } = await openLog('silent', 'json');
    const settings = {
      collector: { url: `${collector.endpoint}/v1/traces`, headers: {} },
      sampleRatio: 1,
      resource: {},
      version: '1',
    };
    const tracer = new Tracer(settings, log, { batchMs: 1 });
    const { exchange, close } = exchangeOf('req_1');
    const work = Promise.withResolvers<void>();
    const served = tracer.trace(exchange, '/v1/models', () => work.promise);
    for (const step of order) {
      assert.equal(collector.exports.length, 0);
      if (step === 'close') close();
      else work.resolve();
      if (step === 'done') await served;
    }
    await collector.exported(1);
    assert.deepEqual(
      collector.spans.map(({ name }) => name),
      ['GET /v1/models'],
    );
    await tracer.close(1_000_000);
    assert.equal(collector.exports.length, 1);
  });
}
