/** The cache of answers of gateways on one database: each has its own, and says what it has saved. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG, type Serving, Workplace } from '../support/cli.ts';
import { PostgresServer } from '../support/postgres.ts';
import { until } from '../support/wait.ts';

const CACHED = CONFIG.replace(
  /( {4}models:\n)/,
  '$1      kept: { input: 1, output: 2, cache: { ttl: 1h, shared: true } }\n',
);

test('what one gateway keeps another asks for, and a hit is booked to the key at all of them', async (t) => {
  const server = await PostgresServer.start();
  t.after(() => server.stop());
  const config = CACHED.replace('./state.db', await server.createDatabase());
  const place = new Workplace(t, config);
  for (const name of ['a', 'b']) place.write(`${name}.yaml`, `node: ${name}\n${config}`);
  const { key } = await place.createKey('app');
  await place.json('credit', 'add', '5');
  const [a, b] = [await place.serveHere('a.yaml'), await place.serveHere('b.yaml')];
  let sent = 0;
  const ask = async (gateway: Serving) => {
    sent++;
    const reply = await gateway.chat(key, { model: 'mock/kept', messages: [{ role: 'user', content: '/words 2' }] });
    await reply.text();
    assert.equal(reply.status, 200);
    return reply.headers.get('x-inf-gw-cache');
  };
  assert.equal(await ask(a), null);
  await until(async () => (await ask(a)) === 'hit');
  assert.equal(await ask(b), null, 'another gateway has its own');
  await until(async () => (await ask(b)) === 'hit');
  for (const gateway of [a, b]) assert.equal(await gateway.stop(), 0);
  for (const name of ['a', 'b']) {
    const [usage] = await place.json<{ requests: number; cache_hits?: number }[]>('usage', '-c', `${name}.yaml`);
    assert.equal(usage?.requests, sent, 'a hit is a request, whichever gateway gave it');
    assert.ok(Number(usage?.cache_hits) >= 1 && Number(usage?.cache_hits) < sent - 1, 'its own savings alone');
  }
});
