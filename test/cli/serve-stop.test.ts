/**
 * How `serve` ends: gracefully on a signal, at once on the second, and without loss when killed.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openDatabase } from '../../src/state/sqlite/database.ts';
import { chunk, DONE, usageChunk } from '../support/answers.ts';
import { type BalanceJson, CONCURRENCY, CONFIG, Workplace } from '../support/cli.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';

interface UsageJson {
  readonly requests: number;
  readonly errors: number;
  readonly total_tokens: number;
  readonly cost_usd: string;
}

const STALLING = {
  model: 'mock/paid',
  stream: true,
  max_tokens: 100,
  messages: [{ role: 'user', content: '/stall 1' }],
};

describe('`serve` at its end', { concurrency: CONCURRENCY }, () => {
  test('on SIGTERM a running stream finishes, nothing new is accepted, and everything is settled: status 0', async (t) => {
    const upstream = await FakeUpstream.start();
    t.after(() => upstream.close());
    upstream.follow((call) => {
      call.stream();
      call.send(chunk('first'));
    });
    const host = `  host:
    kind: openai
    base_url: http://127.0.0.1:${upstream.port}/v1
    models: { model: { input: 1000, output: 1000 } }
`;
    const place = new Workplace(t, CONFIG + host);
    const serving = await place.serve();
    const [{ key }] = await Promise.all([place.createKey('app'), place.json('credit', 'add', '10')]);
    const response = await serving.chat(key, { model: 'host/model', stream: true });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let received = (await reader?.read())?.value ?? '';

    serving.signal('SIGTERM');
    await serving.logged(/SIGTERM: shutting down, .* 1 request in flight/);
    await assert.rejects(fetch(`${serving.url}/healthz`), 'no new connections');
    const call = await upstream.call();
    call.send(chunk(' last', 'stop') + usageChunk() + DONE);
    call.end();
    for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read()) received += piece.value;
    assert.match(received, /first[\s\S]* last[\s\S]*data: \[DONE\]\n\n$/);
    assert.doesNotMatch(received, /"error"/);
    assert.deepEqual(await serving.ended, { status: 0, signal: null });

    const [balance, usage] = await Promise.all([
      place.json<BalanceJson>('credit', 'show'),
      place.json<UsageJson[]>('usage'),
    ]);
    assert.deepEqual(balance, { balance_usd: '9.985000', held_usd: '0.00', available_usd: '9.985000' });
    assert.deepEqual([usage[0]?.requests, usage[0]?.errors, usage[0]?.total_tokens], [1, 0, 15]);
  });

  test('an idle gateway exits with status 0 on SIGINT too, though a client keeps its connection open', async (t) => {
    const place = new Workplace(t);
    const serving = await place.serve();
    await (await fetch(`${serving.url}/healthz`)).text();
    serving.signal('SIGINT');
    assert.deepEqual(await serving.ended, { status: 0, signal: null });
  });

  test('a request that runs longer than `drain` is cut off with an error, and charged', async (t) => {
    const place = new Workplace(t, `timeouts: { drain: 50ms }\n${CONFIG}`);
    const serving = await place.serve();
    const [{ key }] = await Promise.all([place.createKey('app'), place.json('credit', 'add', '10')]);
    const response = await serving.chat(key, STALLING);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let received = (await reader?.read())?.value ?? '';
    assert.equal(await serving.stop(), 0);
    for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read()) received += piece.value;
    assert.match(received, /data: \{"error":\{"code":"upstream_error".*\n\ndata: \[DONE\]\n\n$/);
    const [balance, usage] = await Promise.all([
      place.json<BalanceJson>('credit', 'show'),
      place.json<UsageJson[]>('usage'),
    ]);
    assert.equal(balance.held_usd, '0.00');
    assert.equal(usage[0]?.requests, 1);
    assert.ok(Number(usage[0]?.cost_usd) > 0);
  });

  test('a second signal ends it at once, whatever is still running', async (t) => {
    const place = new Workplace(t, `timeouts: { drain: 24h }\n${CONFIG}`);
    const serving = await place.serve();
    const [{ key }] = await Promise.all([place.createKey('app'), place.json('credit', 'add', '10')]);
    const response = await serving.chat(key, STALLING);
    const reader = response.body?.getReader();
    await reader?.read();
    serving.signal('SIGTERM');
    await serving.logged(/SIGTERM: shutting down, .* 1 request in flight/);
    serving.signal('SIGTERM');
    const { status } = await serving.ended;
    assert.notEqual(status, 0, 'not everything was settled');
    await assert.rejects(async () => {
      while ((await reader?.read())?.done === false);
    });
  });

  test('killed in mid-request, it charges the hold at the next start, and the windows are as full as before', async (t) => {
    const place = new Workplace(t);
    const first = await place.serve();
    const [{ key }] = await Promise.all([place.createKey('app', '--rpm', '2'), place.json('credit', 'add', '10')]);
    assert.equal(await first.chatOutcome(key, { model: 'mock/echo' }), '200');
    const reader = (await first.chat(key, STALLING)).body?.getReader();
    await reader?.read();
    const before = await place.json<BalanceJson>('credit', 'show');
    assert.equal(before.balance_usd, '10.00');
    assert.ok(Number(before.held_usd) >= 0.2, '100 tokens at 2000 USD a million, and the input');

    first.signal('SIGKILL');
    await first.ended;
    assert.deepEqual(await place.json('credit', 'show'), before, 'a hold outlives its process');

    const second = await place.serve();
    await second.logged(/charged the holds of 1 request left open/);
    const [after, usage] = await Promise.all([
      place.json<BalanceJson>('credit', 'show'),
      place.json<UsageJson[]>('usage', '--model', 'mock/paid'),
    ]);
    assert.deepEqual(after, {
      balance_usd: before.available_usd,
      held_usd: '0.00',
      available_usd: before.available_usd,
    });
    assert.deepEqual([usage[0]?.requests, usage[0]?.errors, usage[0]?.cost_usd], [1, 1, before.held_usd]);

    const refused = await second.chat(key);
    assert.equal(refused.status, 429, 'both requests of the last minute still count');
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    assert.equal(await second.stop(), 0);
    const { database } = openDatabase(place.statePath);
    const rows = database.prepare('SELECT model, source, outcome FROM journal ORDER BY id').all();
    database.close();
    assert.deepEqual(rows, [
      { model: 'mock/echo', source: 'reported', outcome: 'ok' },
      { model: 'mock/paid', source: 'held', outcome: 'interrupted' },
    ]);
    await assert.rejects(async () => {
      while ((await reader?.read())?.done === false);
    });
  });
});
