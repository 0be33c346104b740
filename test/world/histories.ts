/** Random histories of a ledger with ends of its process: whatever clients have seen must hold in what is left. */
import fc from 'fast-check';
import { type End, POINTS, TROUBLES } from './disk.ts';
import type { Terms } from './witness.ts';
import { ALL_USERS, GROUP, KEYS, MODEL, OTHER_MODEL, RETRY_MS, USERS, WORKERS, World } from './world.ts';

const worker = fc.nat({ max: WORKERS - 1 });
const which = fc.nat({ max: 9 });
const how = fc.constantFrom<End>('kill', 'power cut');
const point = fc.option(fc.constantFrom(...POINTS), { nil: undefined });
const limit: fc.Arbitrary<Partial<Terms>> = fc.oneof(
  fc.record({ rpm: fc.integer({ min: 1, max: 6 }) }),
  fc.record({ concurrency: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ totalNanos: fc.bigInt({ min: 20n, max: 300n }) }),
);
const change: fc.Arbitrary<Partial<Terms>> = fc.oneof(
  { weight: 3, arbitrary: limit },
  fc.record({ state: fc.constantFrom('enabled' as const, 'enabled' as const, 'disabled' as const) }),
  fc.record({ allowlist: fc.constantFrom(null, [MODEL], [MODEL, OTHER_MODEL], [OTHER_MODEL]) }),
);
const step = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      worker,
      key: fc.nat({ max: KEYS - 1 }),
      holdNanos: fc.bigInt({ min: 0n, max: 40n }),
      stream: fc.boolean(),
      user: fc.option(fc.constantFrom(...USERS), { nil: undefined }),
    }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('settle' as const), which, percent: fc.nat({ max: 100 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('grow' as const), which, nanos: fc.bigInt({ min: 1n, max: 60n }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('free slot' as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('credit' as const), nanos: fc.bigInt({ min: 1n, max: 120n }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('edit' as const), owner: fc.nat({ max: GROUP }), change }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('edit' as const), owner: fc.constant(ALL_USERS), change: limit }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('sync' as const) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('turn' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      milliseconds: fc.constantFrom(100, 20_000, 60_000, 100_000_000),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('disk' as const),
      trouble: fc.option(fc.constantFrom(...TROUBLES), { freq: 2, nil: undefined }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('end at' as const),
      how,
      point,
      visits: fc.integer({ min: 1, max: 12 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('end' as const), how, again: point }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('stop' as const) }) },
);
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Ends of a process, and what is left by them. */
export interface Figures {
  histories: number;
  ends: number;
}

/** Does what steps say, with an end of the process last. Rejects with what is wrong. */
export async function play(steps: readonly Step[], figures: Figures = { histories: 0, ends: 0 }): Promise<Figures> {
  const world = await World.open();
  figures.histories++;
  try {
    await world.addCredit(200n);
    for (const each of steps) {
      await take(world, each);
      if (!world.disk.hasEnded) continue;
      figures.ends++;
      await world.restart(9_000, each.kind === 'end' ? each.again : undefined);
    }
    await world.quiet();
    await world.mend();
    await world.restart(9_000);
    return figures;
  } finally {
    await world.close();
  }
}

async function take(world: World, step: Step): Promise<void> {
  const { open } = world.witness;
  switch (step.kind) {
    case 'ask':
      return world.ask(step.worker, step.key, step.holdNanos, step.stream, step.user);
    case 'settle':
    case 'grow':
    case 'free slot': {
      const seen = open[step.which % Math.max(1, open.length)];
      if (seen === undefined) return;
      // A stream that grows waits for that before it goes on.
      if (seen.leastNanos !== seen.mostNanos) return;
      if (step.kind === 'settle') return world.settle(seen, (seen.leastNanos * BigInt(step.percent)) / 100n);
      if (step.kind === 'grow') return world.grow(seen, step.nanos);
      return world.freeSlot(seen);
    }
    case 'credit':
      return world.addCredit(step.nanos);
    case 'edit':
      return world.edit(step.owner, step.change);
    case 'sync':
      world.sync();
      return world.quiet();
    case 'turn':
      // The ledger tries again by then what it could not write.
      world.advance(RETRY_MS);
      return world.quiet();
    case 'wait':
      world.advance(step.milliseconds);
      return world.quiet();
    case 'disk':
      world.disk.trouble = step.trouble;
      return;
    case 'end at':
      return world.disk.endAt(step.how, step.point, step.visits);
    case 'end':
      return void world.disk.end(step.how);
    case 'stop':
      await world.quiet();
      await world.stop();
      return void world.disk.end('kill');
  }
}

/**
 * Plays that many histories. Rejects with the seed and a history in which something is wrong: the shortest one if there is
 * time to look for it.
 */
export async function playHistories(count: number, seed: number, isShortened = false): Promise<Figures> {
  const figures = { histories: 0, ends: 0 };
  const histories = fc.array(step, { minLength: 10, maxLength: 60, size: 'max' });
  const property = fc.asyncProperty(histories, async (steps) => void (await play(steps, figures)));
  await fc.assert(property, { numRuns: count, seed, endOnFailure: !isShortened });
  return figures;
}
