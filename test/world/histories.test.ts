/** The simulated ledger in longer scenes, and in hundreds of random histories; `npm run prove -- world` plays more. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Random } from '../support/random.ts';
import { cutLogOf } from './cut-log.ts';
import { play, playHistories, type Step } from './histories.ts';
import { ALL_USERS, GROUP, USERS, World } from './world.ts';

const HISTORIES = 400;
/** Requests that are open when a process ends. */
const MANY = 300;
/** Five steps' worth. */
const OLD_ROWS = 4_500;
/** Between two steps at most. */
const HOUR_MS = 3_600_000;
const MOST_TURNS = 20;

test('a start that is killed charges each of many open requests as held, or none of them', async () => {
  const many: Step[] = [{ kind: 'credit', nanos: 1_000n }];
  for (const owner of [0, GROUP, ALL_USERS]) {
    for (const change of [{ rpm: MANY }, { concurrency: MANY }, { totalNanos: 1_000n }]) {
      many.push({ kind: 'edit', owner, change });
    }
  }
  while (many.length < MANY) {
    const user = USERS[many.length % 3];
    many.push({ kind: 'ask', worker: 0, key: 0, holdNanos: 3n, stream: true, user });
  }
  for (const again of ['after journal row', 'after balance', 'before commit', 'after commit'] as const) {
    await play([...many, { kind: 'turn' }, { kind: 'end', how: 'kill', again }]);
  }
});

test('wherever its log is cut off, the file opens, passes the audit, and has a prefix of the journal', async (t) => {
  const world = await World.open();
  t.after(() => world.close());
  await world.addCredit(1_000n);
  for (let count = 0; count < 6; count++) {
    world.ask(count % 2, count % 2, 30n, false);
    await world.quiet();
    for (const seen of world.witness.open.slice(0, count % 2)) world.settle(seen, 20n);
    await world.quiet();
  }
  const { remains } = world.disk.end('kill');
  const { cuts, journals, deviations } = cutLogOf(join(remains, 'state.db'), new Random(20));
  t.diagnostic(`${cuts} cuts left ${journals} different journals`);
  assert.deepEqual(deviations, []);
  assert.ok(journals > 1);
});

test('old rows are dropped in steps, whatever process or disk fails between them, and every sum stays', async (t) => {
  const world = await World.open(OLD_ROWS);
  t.after(() => world.close());
  const goOn = async (isDone: () => boolean) => {
    for (let turn = 0; !isDone(); turn++) {
      assert.ok(turn < MOST_TURNS, `${world.rows()} rows are left`);
      world.advance(HOUR_MS);
      world.sync();
      await world.quiet();
    }
  };
  for (const [how, point] of [
    ['kill', 'after drop'],
    ['power cut', 'before commit'],
    ['kill', 'after seal'],
  ] as const) {
    world.disk.endAt(how, point);
    await goOn(() => world.disk.hasEnded);
    await world.restart(9_000);
  }
  const rows = world.rows();
  world.disk.trouble = 'full at drop';
  world.advance(HOUR_MS);
  await world.quiet();
  assert.equal(world.rows(), rows);
  await world.mend();
  await goOn(() => world.rows() === 0);
  await world.restart(9_000);
});

test('what clients and operators have seen holds over any end of a process, in random histories', async (t) => {
  const seed = Date.now() % 1_000_000;
  t.diagnostic(`seed ${seed}`);
  await playHistories(HISTORIES, seed);
});
