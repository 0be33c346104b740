/** An address has one gateway, however many threads the gateways have, and whenever they start. */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdirSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { CONCURRENCY, CONFIG, SERVE, type Serving, Workplace } from '../support/cli.ts';
import { freePort } from '../support/ports.ts';
import { bounded } from '../support/wait.ts';

/** The numbers of threads of two gateways. */
const PAIRS = [
  [1, 1],
  [1, 2],
  [2, 2],
] as const;
/** How long a lock is held that another gateway waits for: many times its retry interval. */
const HELD_MS = 200;

/** A workplace that is also the temporary directory. */
function openPlace(scope: ConstructorParameters<typeof Workplace>[0]): Workplace {
  const place = new Workplace(scope, null);
  place.environment.TMPDIR = place.directory;
  return place;
}

/** Writes a config with its own state file, and returns its name. */
function configOf(place: Workplace, name: string, address: string, threads: number): string {
  const config = CONFIG.replace('127.0.0.1:0', address).replace('state.db', `${name}.db`);
  place.write(`${name}.yaml`, `threads: ${threads}\n${config}`);
  return `${name}.yaml`;
}

const serveWith = (config: string) => [...SERVE, '-c', config];

function assertInUse(errors: string, port: number): void {
  assert.match(errors, new RegExp(`^error: [^ ]*:${port} is in use.*set another \`listen:\``, 'm'));
}

async function assertRefused(place: Workplace, config: string, port: number): Promise<void> {
  const { status, stderr } = await place.serveInVain('-c', config);
  assert.equal(status, 1);
  assertInUse(stderr, port);
}

async function isAlive(serving: Serving): Promise<boolean> {
  return (await fetch(`${serving.url}/healthz`)).status === 200;
}

/** Starts both at once, and returns the one that serves. The other one must fail to start. */
async function winnerOf(place: Workplace, port: number, configs: readonly string[]): Promise<Serving> {
  const servings = configs.map((config) => place.launch(serveWith(config)));
  const starts = await Promise.allSettled(servings.map((serving) => serving.listening()));
  const winners = servings.filter((_, index) => starts[index]?.status === 'fulfilled');
  assert.equal(winners.length, 1, servings.map(({ text }) => text).join('\n'));
  for (const serving of servings) {
    if (winners.includes(serving)) continue;
    assert.equal((await bounded(serving.ended, 'a gateway that cannot start exits')).status, 1);
    assertInUse(serving.text, port);
  }
  return winners[0] as Serving;
}

describe('a second gateway at the same address', { concurrency: CONCURRENCY }, () => {
  for (const first of [1, 2]) {
    test(`fails to start beside one with ${first} threads, with 1 or 2`, async (t) => {
      const place = openPlace(t);
      const port = await freePort();
      const serving = await place.serveHere(configOf(place, 'first', `127.0.0.1:${port}`, first));
      for (const second of [1, 2]) {
        await assertRefused(place, configOf(place, 'second', `127.0.0.1:${port}`, second), port);
      }
      assert.ok(await isAlive(serving));
    });
  }

  for (const [first, second] of PAIRS) {
    test(`fails to start though both start at the same moment, with ${first} and ${second} threads`, async (t) => {
      const place = openPlace(t);
      const port = await freePort();
      const configs = [first, second].map((threads, i) => configOf(place, `state-${i}`, `127.0.0.1:${port}`, threads));
      assert.ok(await isAlive(await winnerOf(place, port, configs)));
    });
  }
});

describe('a gateway of two threads', { concurrency: CONCURRENCY }, () => {
  for (const reusePort of [false, true]) {
    test(`does not share its port with another program, whether that sets SO_REUSEPORT (${reusePort}) or not`, async (t) => {
      const place = openPlace(t);
      const port = await freePort();
      const other = createServer().listen({ port, host: '127.0.0.1', reusePort });
      t.after(() => {
        other.close();
      });
      await once(other, 'listening');
      await assertRefused(place, configOf(place, 'state', `127.0.0.1:${port}`, 2), port);
    });
  }

  test('starts whatever another user has put into the common temporary directory, and puts nothing there', async (t) => {
    const place = openPlace(t);
    const port = await freePort();
    const config = configOf(place, 'state', `127.0.0.1:${port}`, 2);
    mkdirSync(join(place.directory, 'tmp'));
    place.environment.TMPDIR = join(place.directory, 'tmp');
    mkdirSync(join(place.directory, 'tmp', `inf-gw-${userInfo().uid}-${port}.lock`));
    assert.ok(await isAlive(await place.serve(serveWith(config))));
    assert.equal(readdirSync(join(place.directory, 'tmp')).length, 1);
  });

  test('starts although an earlier one was killed', async (t) => {
    const place = openPlace(t);
    const config = configOf(place, 'state', `127.0.0.1:${await freePort()}`, 2);
    const earlier = await place.serve(serveWith(config));
    earlier.signal('SIGKILL');
    await earlier.ended;
    assert.ok(await isAlive(await place.serveHere(config)));
  });

  test('waits while another starting gateway holds the lock of its port', async (t) => {
    const place = openPlace(t);
    const port = await freePort();
    const holder = createSocket('udp4').bind({ port, address: '127.0.0.1', exclusive: true });
    await once(holder, 'listening');
    const next = place.launch(serveWith(configOf(place, 'second', `127.0.0.1:${port}`, 2)));
    // It logs that it created its state file just before it asks for the lock.
    await next.logged(/^created the state file/);
    const listening = next.listening();
    const first = await Promise.race([listening.then(() => 'it listens'), pause(HELD_MS, 'it waits')]);
    assert.equal(first, 'it waits');
    holder.close();
    assert.ok(await isAlive(await listening));
  });
});
