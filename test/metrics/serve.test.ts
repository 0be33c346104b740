/** Metrics of a real gateway: what clients get is what the page says, whichever thread has served it. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { UserError } from '../../src/core/errors.ts';
import { startGateway } from '../../src/gateway/gateway.ts';
import { openLog } from '../../src/observe/log.ts';
import { NO_USER_LIMITS } from '../../src/state/levels.ts';
import { completion } from '../support/answers.ts';
import { load } from '../support/configs.ts';
import { type ReadMetric, readExposition } from '../support/exposition.ts';
import { chat, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { RawConnection } from '../support/raw.ts';

const REQUESTS = 12;

/** The sum of the samples of a metric that have these labels. */
function sumOf(page: ReadonlyMap<string, ReadMetric>, name: string, labels: Record<string, string> = {}): number {
  const samples = page
    .get(name)
    ?.samples.filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value));
  return (samples ?? []).reduce((sum, { value }) => sum + value, 0);
}

describe('a gateway with two threads', () => {
  let gateway: TestGateway;
  let page: ReadonlyMap<string, ReadMetric>;
  let charged: bigint;

  before(async () => {
    const metrics = { listen: '127.0.0.1:0', key_labels: 1 };
    gateway = await startTestGateway({ config: { threads: 2, metrics } });
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    gateway.upstream.follow((call) => call.answer(200, completion('Hello!', { usage })));
    const balance = gateway.balanceNanos;
    const key = gateway.key();
    for (let n = 0; n < REQUESTS; n++) {
      // A connection each, so that both threads get some.
      const { status } = await gateway.complete(key, chat(), { headers: { connection: 'close' } });
      assert.equal(status, 200);
    }
    await gateway.complete(gateway.key({ rpm: 1 }), chat({ model: 'fake/none' }));
    await gateway.request('/v1/nothing');
    await gateway.request('/v1/models', { headers: { authorization: 'Bearer sk-wrong' } });
    charged = balance - gateway.balanceNanos;
    page = readExposition(await (await fetch(gateway.metricsUrl)).text());
  });
  after(() => gateway.stop());

  test('counts each request once', () => {
    assert.equal(sumOf(page, 'inf_gw_requests_total', { model: 'fake/echo', outcome: 'ok' }), REQUESTS);
    assert.equal(sumOf(page, 'inf_gw_requests_total'), REQUESTS);
    assert.equal(sumOf(page, 'inf_gw_tokens_total', { kind: 'input' }), 10 * REQUESTS);
    assert.equal(sumOf(page, 'inf_gw_tokens_total', { kind: 'output' }), 5 * REQUESTS);
    assert.equal(sumOf(page, 'inf_gw_upstream_attempts_total', { upstream: 'fake', result: 'ok' }), REQUESTS);
    for (const name of ['inf_gw_first_byte_seconds', 'inf_gw_request_duration_seconds']) {
      const count = page.get(name)?.samples.find((sample) => sample.name === `${name}_count`);
      assert.equal(count?.value, REQUESTS);
    }
  });

  test('shows the money as the ledger has it', () => {
    assert.equal(charged, BigInt(REQUESTS) * 20_000n);
    assert.equal(sumOf(page, 'inf_gw_cost_usd_total').toFixed(9), (Number(charged) / 1e9).toFixed(9));
    assert.equal(sumOf(page, 'inf_gw_balance_usd'), Number(gateway.balanceNanos) / 1e9);
    assert.equal(sumOf(page, 'inf_gw_held_usd'), 0);
  });

  test('counts refusals by their reason, with a key and without', () => {
    const reasons = page.get('inf_gw_refusals_total')?.samples.map(({ labels, value }) => [labels.reason, value]);
    assert.deepEqual(reasons?.toSorted(), [
      ['invalid_api_key', 1],
      ['invalid_request', 1],
      ['model_not_found', 1],
    ]);
    assert.equal(sumOf(page, 'inf_gw_responses_total', { status: '200' }), REQUESTS);
    assert.equal(sumOf(page, 'inf_gw_responses_total', { status: '404' }), 2);
    assert.equal(sumOf(page, 'inf_gw_key_refusals_total', { key_id: 'other' }), 1);
  });

  test('has measured its ledger, in another thread', () => {
    const counts = ['inf_gw_ledger_batch_seconds', 'inf_gw_ledger_sync_seconds'].map((name) =>
      page.get(name)?.samples.find((sample) => sample.name === `${name}_count`),
    );
    for (const count of counts) assert.ok((count?.value ?? 0) >= 1);
  });

  test('answers /metrics there and nothing else, and on its own address nothing', async () => {
    const statusOf = async (url: string, method = 'GET') => (await fetch(url, { method })).status;
    assert.equal(await statusOf(new URL('/', gateway.metricsUrl).href), 404);
    assert.equal(await statusOf(new URL('/v1/models', gateway.metricsUrl).href), 404);
    assert.equal(await statusOf(`${gateway.metricsUrl}?name=x`), 200);
    assert.equal(await statusOf(gateway.metricsUrl, 'HEAD'), 200);
    assert.equal(await statusOf(gateway.metricsUrl, 'POST'), 405);
    assert.equal((await gateway.request('/metrics')).status, 404);
    const { headers } = await fetch(gateway.metricsUrl);
    assert.equal(headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  });
});

test('a request counts for the groups around its key, refusals for the level that refuses, and nobody is named', async (t) => {
  const gateway = await startTestGateway({ config: { threads: 2, metrics: { listen: '127.0.0.1:0', key_labels: 5 } } });
  t.after(() => gateway.stop());
  gateway.upstream.follow((call) => call.answer(200, completion('Hello!')));
  const outer = gateway.group({ name: 'research', rpm: 2 });
  const groupId = gateway.group({ name: 'nlp', groupId: outer });
  const key = gateway.key({ groupId, userLimits: { ...NO_USER_LIMITS, rpm: 1 } });
  for (const [user, status] of [
    ['zoe', 200],
    ['zoe', 429],
    ['xaver', 200],
    ['quentin', 429],
  ] as const) {
    const headers = { connection: 'close', 'X-Inf-Gw-User': user };
    assert.equal((await gateway.complete(key, chat(), { headers })).status, status);
  }
  const text = await (await fetch(gateway.metricsUrl)).text();
  const page = readExposition(text);
  for (const group of ['@nlp', '@research']) assert.equal(sumOf(page, 'inf_gw_group_requests_total', { group }), 2);
  assert.equal(sumOf(page, 'inf_gw_group_refusals_total', { group: '@research' }), 1);
  assert.equal(sumOf(page, 'inf_gw_group_refusals_total'), 1);
  for (const level of ['user', 'group']) assert.equal(sumOf(page, 'inf_gw_refusals_total', { level }), 1);
  assert.doesNotMatch(text, /zoe|xaver|quentin/);
});

test('metrics are read by a name that they have, and by nobody else', async () => {
  const gateway = await startTestGateway({
    config: { metrics: { listen: '127.0.0.1:0', hosts: ['Gateway.Internal'] } },
  });
  const { port } = new URL(gateway.metricsUrl);
  const statusFor = async (host: string) => {
    const connection = await RawConnection.sending(
      Number(port),
      `GET /metrics HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
    );
    return (await connection.answer()).status;
  };
  for (const host of ['127.0.0.1', `localhost:${port}`, '[::1]:9464', 'gateway.internal:9464', '']) {
    assert.equal(await statusFor(host), 200, host);
  }
  for (const host of ['attacker.example', `attacker.example:${port}`, '127.0.0.1.attacker.example']) {
    assert.equal(await statusFor(host), 403, host);
  }
  await gateway.stop();
});

test('connections that send nothing keep nobody from the metrics', async () => {
  const gateway = await startTestGateway({ config: { metrics: '127.0.0.1:0' } });
  const { port } = new URL(gateway.metricsUrl);
  const silent = await Promise.all(Array.from({ length: 100 }, () => RawConnection.open(Number(port))));
  assert.equal((await fetch(gateway.metricsUrl)).status, 200);
  for (const connection of silent) connection.leave();
  await gateway.stop();
});

test('a gateway whose address for metrics is taken does not start, says so, and leaves nothing behind', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  t.after(() => taken.close());
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address() as { port: number };
  const config = load(`{ listen: "127.0.0.1:0", state: ./metrics.db, metrics: "127.0.0.1:${port}" }`);
  const log = await openLog('silent', 'json');
  await assert.rejects(startGateway(config, log, { onFatal: () => {} }), (error) => {
    assert.ok(error instanceof UserError);
    assert.match(error.message, new RegExp(`^127\\.0\\.0\\.1:${port} is in use, .* \`metrics:\` address`));
    return true;
  });
  assert.equal(existsSync(config.statePath), false);
});
