/** A gateway takes over from another one under load, several times in a row: nobody notices. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readExposition } from '../support/exposition.ts';
import { freePort } from '../support/ports.ts';
import { RawConnection } from '../support/raw.ts';
import { bounded, until } from '../support/wait.ts';
import { PAID, PAID_COST_USD, Site } from './site.ts';
import { outcomesOf, send, Traffic } from './traffic.ts';

const STREAMS = 20;
const CLIENTS = 4;
/** How many requests the spend limit of a key admits. */
const MOST_PAID = 100;
/** The threads of each gateway that takes over. */
const THREADS = [3, 2];

/** What a busy machine makes wait must not be refused. */
const OVERLOAD = { overload: { loop_delay: 'off' } };
/** More than Node itself has the system keep. */
const WAITING = 1_000;

/** How many requests have ended, by the metrics at this address. */
async function countedIn(address: string): Promise<number> {
  const page = readExposition(await (await fetch(`http://${address}/metrics`)).text());
  const { samples = [] } = page.get('inf_gw_requests_total') ?? {};
  return samples.reduce((sum, { value }) => sum + value, 0);
}

test('takeovers refuse nobody, break no stream, and lose or count twice no request', async (t) => {
  const site = await Site.open(t);
  const metrics = `127.0.0.1:${await freePort()}`;
  site.configure({ ...OVERLOAD, metrics });
  const first = await site.takeOver();
  const { port } = new URL(first.url);
  const gateways = [first];
  const free = await site.key('free');
  const paid = await site.key('paid', '--spend-limit', String(MOST_PAID * PAID_COST_USD));
  const to = { port: Number(port) };
  const streams = Array.from({ length: STREAMS }, () =>
    send({ ...to, key: free.key, model: 'host/stream', stream: true }),
  );
  await until(() => site.streams === STREAMS);
  const traffic = new Traffic({ ...to, key: free.key, model: 'mock/echo' }, CLIENTS);
  const races = new Traffic({ ...to, key: paid.key, model: PAID }, CLIENTS);
  for (const threads of THREADS) {
    site.configure({ ...OVERLOAD, threads, metrics });
    gateways.push(await site.takeOver());
    site.continueStreams();
  }
  const sent = await traffic.stop();
  const raced = await races.stop();
  site.finishStreams();
  const streamed = await Promise.all(streams);
  const last = gateways.pop();
  const earlier = await Promise.all(gateways.map(({ ended }) => ended));
  const answered = [...sent, ...raced, ...streamed].filter(({ status }) => status === 200);
  // What the last of them has said comes as it ends.
  await until(async () => (await countedIn(metrics)) >= answered.length);
  const counts = [await countedIn(metrics), answered.length];
  assert.equal(await last?.stop(), 0);

  const journal = site.journal();

  await t.test('no connection is refused or reset', () => {
    assert.deepEqual(Object.keys(outcomesOf(sent)), ['200']);
    assert.deepEqual(Object.keys(outcomesOf(raced)).toSorted(), ['200', '402', '429']);
  });

  await t.test('every stream comes to its end', () => {
    assert.deepEqual(outcomesOf(streamed), { 200: STREAMS });
    for (const { text } of streamed) {
      assert.match(text, /begun/);
      assert.equal(text.match(/more/g)?.length, THREADS.length);
      assert.match(text, /\[DONE\]\n\n$/);
    }
  });

  await t.test('every request is in the journal once, with the charge that its host has reported', () => {
    assert.deepEqual(
      journal.map(({ request_id: id }) => id).toSorted(),
      answered.map(({ requestId }) => requestId).toSorted(),
    );
    assert.deepEqual(new Set(journal.map(({ outcome, source }) => `${outcome} ${source}`)), new Set(['ok reported']));
  });

  await t.test('the metrics of the last gateway have counted every request of all of them once', () => {
    assert.equal(counts[0], counts[1]);
  });

  await t.test('a spend limit admits exactly what it allows', () => {
    assert.equal(raced.filter(({ status }) => status === 200).length, MOST_PAID);
  });

  await t.test('the gateways that have handed over exit with status 0, and all is consistent', async () => {
    assert.deepEqual(earlier, Array(THREADS.length).fill({ status: 0, signal: null }));
    assert.equal((await site.place.run(['audit'])).status, 0);
  });
});

test('connections that come while the processes stand still are accepted later', {
  skip: process.platform === 'linux' ? false : 'the system sets the bound',
}, async (t) => {
  const site = await Site.open(t);
  site.configure(OVERLOAD);
  const first = await site.takeOver();
  const second = await site.takeOver();
  await first.logged(/^handed over/);
  for (const gateway of [first, second]) gateway.signal('SIGSTOP');
  const most = Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'));
  const port = Number(new URL(first.url).port);
  const opened = Array.from({ length: Math.min(WAITING, most) }, () => RawConnection.open(port));
  const connections = await bounded(Promise.all(opened), 'all are connected');
  for (const connection of connections) connection.send('GET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n');
  for (const gateway of [first, second]) gateway.signal('SIGCONT');
  const answers = await Promise.all(connections.map((connection) => connection.answer()));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  for (const connection of connections) connection.leave();
});
