/** Keys that `run` has made: what is known of them, and how runs inside of one another share what the outer ones may spend. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Admission, Refusal } from '../../src/ledger/ledger.ts';
import type { KeyRecord } from '../../src/state/keys.ts';
import { Random } from '../support/random.ts';
import { type BenchKey, LedgerBench, type OpenStore, USD } from './bench.ts';

interface Tree {
  readonly bench: LedgerBench;
  /** A run, two in it, and one in the first of them. */
  readonly outer: BenchKey;
  readonly first: BenchKey;
  readonly second: BenchKey;
  readonly deep: BenchKey;
}

const total = (limitNanos: bigint) => ({ budgets: [{ period: 'total', limitNanos }] });
const reached = (limitNanos: bigint, { name: keyName }: BenchKey): Refusal => ({
  reason: 'spend_limit_reached',
  keyName,
  limitNanos,
  budget: { period: 'total', freesAtMs: null },
});
const SPOKEN_FOR: Refusal = { reason: 'money_spoken_for', retryAfterS: 1 };
/** A refusal of `key` for what `of` may do: its own, or that of a run around it. */
const ofRun = (refusal: Refusal, of: BenchKey, key: BenchKey): Refusal =>
  of === key ? refusal : ({ ...refusal, level: { kind: 'key', name: of.name } } as Refusal);
/** The processes of a dead gateway are settled after this. */
const DOWN_MS = 15_000;

async function grow(
  t: { after(work: () => Promise<void>): void },
  openStore: OpenStore,
  limits: Readonly<Record<'outer' | 'first' | 'second' | 'deep', bigint>>,
): Promise<Tree> {
  const bench = await LedgerBench.of(t, openStore);
  await bench.addCredit(USD);
  const inside = (limit: bigint, outer?: BenchKey) =>
    bench.newKey({ ...total(limit), isLeashed: true, parentId: outer?.id ?? null });
  const outer = await inside(limits.outer);
  const first = await inside(limits.first, outer);
  const second = await inside(limits.second, outer);
  return { bench, outer, first, second, deep: await inside(limits.deep, first) };
}

const LARGE = { outer: 100n, first: 1_000n, second: 1_000n, deep: 1_000n };

const spend = async (bench: LedgerBench, key: BenchKey, costNanos: bigint) =>
  bench.settle(await bench.admit(key, { holdNanos: costNanos }), { costNanos });

/** What operators read: what is spent of the total. */
async function spentOf(bench: LedgerBench, key: BenchKey): Promise<bigint | undefined> {
  const { keys, levels } = bench.store.operator;
  const record = (await keys.find(key.id)) as KeyRecord;
  return (await levels.spentBy([record], bench.clock.wallMs())).get(key.id)?.[0]?.chargedNanos;
}

export function testLeashes(openStore: OpenStore): void {
  describe('a leash', () => {
    test('is booked to all runs around it, however many there are', async (t) => {
      const bench = await LedgerBench.of(t, openStore);
      await bench.addCredit(USD);
      const outermost = await bench.newKey({ ...total(100n), isLeashed: true });
      let innermost = outermost;
      for (let depth = 0; depth < 300; depth++) {
        innermost = await bench.newKey({ isLeashed: true, parentId: innermost.id });
      }
      await spend(bench, innermost, 30n);
      assert.equal(await spentOf(bench, outermost), 30n);
    });

    test('is known of its key, also of a successor, after a restart and after a crash', async (t) => {
      const { bench, outer, deep } = await grow(t, openStore, LARGE);
      const plain = await bench.newKey(total(100n));
      const isLeashed = async (key: BenchKey) => {
        const identity = await bench.identify(key);
        const forecast = await bench.forecast(key);
        assert.ok(identity.kind === 'enabled' && forecast.kind === 'known');
        assert.equal(identity.isLeashed, forecast.standing.isLeashed);
        return identity.isLeashed;
      };
      const all = async () => [await isLeashed(outer), await isLeashed(deep), await isLeashed(plain)];
      assert.deepEqual(await all(), [true, true, false]);
      await bench.store.restart();
      assert.deepEqual(await all(), [true, true, false]);
      await bench.store.crash(DOWN_MS);
      assert.deepEqual(await all(), [true, true, false]);
      const { keys } = bench.store.operator;
      const change = await keys.rotate(deep.id, 'sk-inf-new', bench.clock.wallMs());
      assert.ok(change.kind === 'done');
      assert.deepEqual([change.key.isLeashed, change.key.parentId], [true, (await keys.find(deep.id))?.parentId]);
    });

    test('counts what the runs inside of it are charged and hold, at any depth', async (t) => {
      const { bench, outer, first, second, deep } = await grow(t, openStore, LARGE);
      await spend(bench, first, 20n);
      await spend(bench, deep, 30n);
      await spend(bench, outer, 9n);
      assert.deepEqual(await Promise.all([outer, first, second, deep].map((key) => spentOf(bench, key))), [
        59n,
        50n,
        0n,
        30n,
      ]);
      const open = await bench.admit(deep, { holdNanos: 41n });
      for (const key of [outer, first, second, deep]) {
        assert.deepEqual(await bench.refuse(key), ofRun(SPOKEN_FOR, outer, key));
      }
      await bench.settle(open, { costNanos: 41n });
      for (const key of [outer, first, second, deep]) {
        assert.deepEqual(await bench.refuse(key), ofRun(reached(100n, key), outer, key));
      }
    });

    test('of a run inside holds as well, and takes nothing from those beside it', async (t) => {
      const { bench, outer, first, second, deep } = await grow(t, openStore, { ...LARGE, first: 30n, second: 50n });
      await spend(bench, deep, 30n);
      for (const key of [first, deep]) assert.deepEqual(await bench.refuse(key), ofRun(reached(30n, key), first, key));
      await spend(bench, second, 49n);
      await spend(bench, outer, 1n);
    });

    test('admits of racing requests in one batch as many as it takes to reach it, whichever run sends them', async (t) => {
      const { bench, outer, first, second, deep } = await grow(t, openStore, LARGE);
      const sent = Array.from({ length: 20 }, () => [outer, first, second, deep]).flat();
      const commands = sent.map((key) => ({ kind: 'admit', request: bench.request(key, { holdNanos: 30n }) }) as const);
      const answers = (await bench.process(commands)) as readonly Admission[];
      const admitted = commands.filter((_, index) => answers[index]?.admitted);
      assert.equal(admitted.length, 4);
      for (const { request } of admitted) await bench.settle(request.requestId, { costNanos: 30n });
      assert.equal(await spentOf(bench, outer), 120n);
    });

    test('leaves the stream of a run inside what it has left to grow by, and then ends it', async (t) => {
      const { bench, outer, deep } = await grow(t, openStore, LARGE);
      await spend(bench, outer, 10n);
      const id = await bench.admit(deep, { holdNanos: 40n });
      await bench.admit(outer, { holdNanos: 20n });
      assert.deepEqual(await bench.grow(id, 900n), { granted: true, holdNanos: 70n, leftNanos: 0n });
      assert.deepEqual(await bench.grow(id, 900n), {
        granted: false,
        refusal: {
          ...ofRun(reached(100n, deep), outer, deep),
          budget: { period: 'total', freesAtMs: bench.clock.wallMs() },
        },
      });
    });

    test('is the same after a crash, which charges what the runs inside of it held', async (t) => {
      const { bench, outer, first, deep } = await grow(t, openStore, LARGE);
      await spend(bench, first, 30n);
      await bench.store.restart();
      await bench.admit(deep, { holdNanos: 69n });
      await bench.store.crash(DOWN_MS);
      await spend(bench, outer, 1n);
      for (const key of [outer, first, deep]) {
        assert.deepEqual(await bench.refuse(key), ofRun(reached(100n, key), outer, key));
      }
    });

    test('ends with that around it: its key is refused while the other is disabled or deleted', async (t) => {
      const { bench, outer, first, second, deep } = await grow(t, openStore, LARGE);
      const { keys } = bench.store.operator;
      await bench.admit(deep);
      await keys.setState(first.id, 'disabled');
      for (const key of [first, deep]) {
        assert.deepEqual(await bench.refuse(key), ofRun({ reason: 'key_disabled' }, first, key));
        assert.equal((await bench.identify(key)).kind, 'disabled');
        assert.equal((await bench.list(key)).kind, 'disabled');
      }
      await bench.admit(second);
      await keys.setState(first.id, 'enabled');
      await bench.admit(deep);
      await keys.setState(outer.id, 'deleted');
      assert.deepEqual(await bench.refuse(deep), { reason: 'unknown_key' });
    });

    test('shows the key what is spent of it, and of those around it', async (t) => {
      const { bench, outer, deep } = await grow(t, openStore, { ...LARGE, deep: 40n });
      await spend(bench, outer, 9n);
      await spend(bench, deep, 5n);
      const listing = await bench.list(deep);
      assert.ok(listing.kind === 'admitted');
      const { budgets, outer: around } = listing.account;
      const shown = [...budgets, ...around.flatMap((level) => level.budgets)];
      const figures = shown.map(({ limitNanos, chargedNanos }) => [limitNanos, chargedNanos]);
      assert.deepEqual(figures[0], [40n, 5n]);
      assert.deepEqual(new Set(figures.slice(1).map(String)), new Set(['1000,5', '100,14']));
    });

    test('is never passed by more than one request, whatever the runs inside of it do', async (t) => {
      const seed = Date.now() % 1_000_000;
      t.diagnostic(`seed ${seed}`);
      const random = new Random(seed);
      const limits = { outer: 2_000n, first: 1_200n, second: 700n, deep: 600n };
      const { bench, outer, first, second, deep } = await grow(t, openStore, limits);
      const keys = { outer, first, second, deep };
      const names = ['outer', 'first', 'second', 'deep'] as const;
      const MOST = 60;
      const open: { readonly id: string; readonly holdNanos: bigint }[] = [];
      for (let round = 0; round < 60; round++) {
        const ended = open.splice(0, random.between(0, open.length));
        const asked = Array.from({ length: random.between(1, 12) }, () => {
          const holdNanos = BigInt(random.between(1, MOST));
          return { kind: 'admit', request: bench.request(keys[random.pick(names)], { holdNanos }) } as const;
        });
        const settled = ended.map(({ id, holdNanos }) => {
          const costNanos = BigInt(random.between(0, Number(holdNanos)));
          return { kind: 'settle', settlement: bench.settlement(id, { costNanos }) } as const;
        });
        const commands = bench.store.inOrder([...settled, ...asked]);
        const answers = await bench.process(commands);
        for (const [index, command] of commands.entries()) {
          if (command.kind !== 'admit' || !(answers[index] as Admission).admitted) continue;
          open.push({ id: command.request.requestId, holdNanos: command.request.holdNanos });
        }
      }
      for (const { id, holdNanos } of open) await bench.settle(id, { costNanos: holdNanos });
      for (const name of names) {
        const spent = (await spentOf(bench, keys[name])) as bigint;
        assert.ok(spent < limits[name] + BigInt(MOST), `${name}: ${spent}`);
        if (name === 'outer') assert.ok(spent >= limits.outer - BigInt(MOST), `there was too little to do: ${spent}`);
      }
    });
  });
}
