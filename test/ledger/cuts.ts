/** Random histories of several gateways, cut at every point: who begins there comes to what those have decided that are gone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Admission } from '../../src/ledger/ledger.ts';
import type { Command } from '../../src/ledger/protocol.ts';
import { Facts, type FactsRow } from '../../src/ledger/shared/facts.ts';
import { Replica } from '../../src/ledger/shared/replica.ts';
import type { SharedEngine } from '../../src/ledger/shared/shared-engine.ts';
import { NO_USER_LIMITS } from '../../src/state/levels.ts';
import { type EntryRow, factsIn, type RebuildRow, type Rebuilt, rebuiltOf } from '../../src/state/postgres/log.ts';
import { type BenchKey, LedgerBench } from './bench.ts';
import { ask, budgets, change, end, KEYS } from './drawn-commands.ts';
import { NEVER_MS, type SharedDatabase, type SharedProcess, type SharedStore } from './shared-store.ts';

const TIER = { rpm: 6, tpm: 400, concurrency: 4, creditEnforced: true };
/** A few steps before the end of a month. */
const START = Date.UTC(2026, 10, 30, 23, 59);
const USER_LIMITS = { ...NO_USER_LIMITS, rpm: 4, budgets: [{ period: '90s', limitNanos: 60n }] };
const SETTINGS = { ...TIER, modelsRpm: 6_000 };

const gateway = fc.nat();
const listing = fc.record({ kind: fc.constant('admit_listing' as const), key: fc.nat({ max: KEYS - 1 }) });
const command = fc.oneof(
  { weight: 5, arbitrary: ask },
  { weight: 4, arbitrary: end },
  { weight: 2, arbitrary: change },
  { weight: 1, arbitrary: listing },
);
const batch = fc.record({
  kind: fc.constant('batch' as const),
  gateway,
  commands: fc.array(command, { minLength: 1, maxLength: 5 }),
});
const terms = fc.record({
  kind: fc.constant('terms' as const),
  key: fc.nat({ max: KEYS - 1 }),
  rpm: fc.option(fc.integer({ min: 1, max: 8 })),
  spendLimitNanos: fc.option(fc.bigInt({ min: 0n, max: 150n })),
  budgets: fc.option(budgets),
});
const state = fc.record({
  kind: fc.constant('state' as const),
  key: fc.nat({ max: KEYS - 1 }),
  state: fc.constantFrom('enabled' as const, 'disabled' as const),
});
const step = fc.oneof(
  { weight: 14, arbitrary: batch },
  { weight: 2, arbitrary: terms },
  { weight: 1, arbitrary: state },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('credit' as const), nanos: fc.bigInt({ min: 1n, max: 90n }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('wait' as const), milliseconds: fc.nat({ max: 40_000 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('death' as const), gateway }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('correct' as const), nanos: fc.bigInt({ min: 0n, max: 45n }) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Plan = Extract<Step, { kind: 'batch' }>['commands'][number];

interface Open {
  readonly requestId: string;
  readonly holdNanos: bigint;
  readonly outputTokens: number;
}

class History {
  readonly #bench: LedgerBench;
  readonly #database: SharedDatabase;
  readonly #keys: readonly BenchKey[];
  readonly #processes: readonly SharedProcess[];
  readonly #open: Map<string, Open>[];
  /** Follows the log from its first entry on. */
  readonly #witness: Replica;
  /** The cuts with an edit after something of which was not recorded how it was decided. */
  cuts = 0;

  constructor(
    bench: LedgerBench,
    database: SharedDatabase,
    keys: readonly BenchKey[],
    processes: readonly SharedProcess[],
    witness: Replica,
  ) {
    this.#bench = bench;
    this.#database = database;
    this.#keys = keys;
    this.#processes = processes;
    this.#open = processes.map(() => new Map());
    this.#witness = witness;
  }

  async run(step: Step): Promise<void> {
    const { operator } = this.#bench.store;
    switch (step.kind) {
      case 'batch':
        return this.#batch(step.gateway % this.#processes.length, step.commands);
      case 'terms': {
        const { rpm, spendLimitNanos, budgets } = step;
        const id = this.#key(step.key).id;
        const change = budgets === null ? { rpm, spendLimitNanos } : { rpm, spendLimitNanos, budgets: () => budgets };
        return void (await operator.keys.setLimits(id, change, this.#bench.clock.wallMs()));
      }
      case 'state':
        return void (await operator.keys.setState(this.#key(step.key).id, step.state));
      case 'credit':
        return this.#bench.addCredit(step.nanos);
      case 'wait':
        return this.#bench.store.advance(step.milliseconds);
      case 'death':
        return this.#die(step.gateway % this.#processes.length);
      case 'correct': {
        const [held] = await this.#database.read(`SELECT request_id FROM inf_gw.journal WHERE source = 'held' LIMIT 1`);
        if (held === undefined) return;
        await operator.requests.correct(held.request_id as string, step.nanos, this.#bench.clock.wallMs());
      }
    }
  }

  async #batch(gateway: number, plans: readonly Plan[]): Promise<void> {
    const { engine } = this.#processes[gateway] as SharedProcess;
    const open = this.#open[gateway] as Map<string, Open>;
    const commands = (this.#bench.store as SharedStore).inOrder(this.#commandsOf(plans, open));
    if (commands.length === 0) return;
    const answers = await engine.process(commands);
    for (const [index, command] of commands.entries()) {
      if (command.kind === 'settle') open.delete(command.settlement.requestId);
      if (command.kind === 'grow') open.set(command.growth.requestId, command.growth);
      if (command.kind !== 'admit' || !(answers[index] as Admission).admitted) continue;
      open.set(command.request.requestId, command.request);
    }
  }

  #commandsOf(plans: readonly Plan[], open: ReadonlyMap<string, Open>): Command[] {
    const done = new Set<string>();
    return plans.flatMap((plan): Command[] => {
      if (plan.kind === 'admit') {
        const { key, ...changes } = plan;
        const reservedTokens = plan.inputTokens + plan.outputTokens;
        return [{ kind: 'admit', request: this.#bench.request(this.#key(key), { ...changes, reservedTokens }) }];
      }
      if (plan.kind === 'admit_listing') return [{ kind: 'admit_listing', keyHash: this.#key(plan.key).hash }];
      const left = [...open.values()].filter(({ requestId }) => !done.has(requestId));
      const request = left[plan.which % Math.max(1, left.length)];
      if (request === undefined) return [];
      const { requestId, outputTokens, holdNanos } = request;
      done.add(requestId);
      if (plan.kind !== 'settle') {
        if (plan.kind === 'free_slot') return [{ kind: 'free_slot', requestId }];
        const growth = {
          requestId,
          outputTokens: outputTokens + plan.moreTokens,
          holdNanos: holdNanos + plan.moreNanos,
        };
        return [{ kind: 'grow', growth }];
      }
      const usage = { promptTokens: plan.promptTokens, cachedTokens: 0, completionTokens: plan.completionTokens };
      return [{ kind: 'settle', settlement: this.#bench.settlement(requestId, { usage, costNanos: plan.costNanos }) }];
    });
  }

  /** A gateway is silent for too long: it is shut out, what it has in flight is charged as held, and it joins again. */
  async #die(gateway: number): Promise<void> {
    const { engine, name } = this.#processes[gateway] as SharedProcess;
    await engine.write();
    await this.#database.read('UPDATE inf_gw.nodes SET alive_us = 1 WHERE name = $1', [name]);
    await this.#database.read('SELECT inf_gw.reap()');
    await rejoined(engine);
  }

  /** What a gateway finds that begins now is what the witness has come to. */
  async compare(): Promise<void> {
    const { rebuilt, replica } = await beginning(this.#database);
    for (const entry of await this.#entriesUntil(rebuilt.seq)) this.#witness.follow(entry);
    this.cuts += Number(rebuilt.tail.some(([[, , nodeId]], index) => index > 0 && nodeId === 0));
    assert.deepEqual(this.#portrait(replica, replica), this.#portrait(this.#witness, replica));
    for (const { differences } of this.#processes) assert.deepEqual(differences, []);
  }

  async #entriesUntil(seq: bigint): Promise<EntryRow[]> {
    const text = 'SELECT o_entries FROM inf_gw.entries_after($1, $2)';
    const [row] = await this.#database.read(text, [this.#witness.place.seq, seq]);
    return JSON.parse((row?.o_entries as string | null) ?? '[]');
  }

  /** `other` is the replica that knows less: the state is the same, and so is what has to be written. */
  #portrait(replica: Replica, other: Replica) {
    const written = new Map(other.unwritten().map(([nodeId, { digest }]) => [nodeId, digest === '']));
    const active = this.#keys.filter(({ id }) => replica.isKnown(id, undefined, 0));
    return {
      place: replica.place,
      // Keys with as many requests are in any order there.
      account: {
        ...(replica.answer({ kind: 'snapshot', keyIds: active.map(({ id }) => id) }, undefined, SETTINGS) as object),
        busiest: [],
      },
      keys: active.flatMap(({ id, hash }) => [
        replica.answer({ kind: 'identify', keyHash: hash }, id, SETTINGS),
        replica.answer({ kind: 'forecast', question: { keyId: id, requests: [] } }, id, SETTINGS),
      ]),
      holds: this.#processes
        .flatMap(({ nodeId }) => replica.requestsOf(nodeId).map((id) => ({ nodeId, ...replica.holdOf(id) })))
        .toSorted((a, b) => a.requestId.localeCompare(b.requestId)),
      unwritten: replica
        .unwritten()
        .map(([nodeId, { digest, ...decided }]) => ({ nodeId, digest: written.get(nodeId) ? '' : digest, ...decided }))
        .toSorted((a, b) => a.nodeId - b.nodeId),
      unrecorded: replica.recordFor(undefined),
    };
  }

  #key(index: number): BenchKey {
    return this.#keys[index] as BenchKey;
  }
}

/** What a gateway that begins now reads, and comes to. */
async function beginning(database: SharedDatabase): Promise<{ rebuilt: Rebuilt; replica: Replica }> {
  const rows = (await database.read('SELECT * FROM inf_gw.rebuild()')) as unknown as RebuildRow[];
  const facts = new Facts(0n);
  for (const row of rows) facts.take((factsIn(row) ?? []) as FactsRow[]);
  const rebuilt = rebuiltOf(rows.find((row) => factsIn(row) === undefined) as RebuildRow);
  return { rebuilt, replica: new Replica(rebuilt, facts) };
}

async function rejoined(engine: SharedEngine): Promise<void> {
  for (;;) {
    const isBack = await engine.probe().then(
      () => true,
      (error) => {
        assert.ok(engine.faultOf(error), `${error}`);
        return false;
      },
    );
    if (isBack) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Runs a history from its beginning, cut after each step. Returns how many cuts had an edit to take back. */
async function cutAll(
  database: SharedDatabase,
  steps: readonly Step[],
  gateways: number,
  hasLevels = false,
): Promise<number> {
  const bench = await LedgerBench.open(database.openStore, TIER);
  try {
    const store = bench.store as SharedStore;
    await store.setClock(START);
    const { replica: witness } = await beginning(database);
    const processes = [store.process];
    for (let i = 1; i < gateways; i++) processes.push(await store.startOther(`other ${i}`));
    // What one has decided is written with its next entry, and not before.
    for (const process of processes) process.renew(bench.settings, bench.clock, NEVER_MS);
    const keys: BenchKey[] = hasLevels ? await keysInLevels(bench, store) : [];
    while (keys.length < KEYS) keys.push(await bench.newKey());
    await bench.addCredit(120n);
    const history = new History(bench, database, keys, processes, witness);
    for (const each of steps) {
      await history.run(each);
      await history.compare();
    }
    await store.assertBooks();
    return history.cuts;
  } finally {
    await bench.store.close();
  }
}

/** One in a group whose end users have limits, one that has users of its own, and one that the first has made. */
async function keysInLevels(bench: LedgerBench, store: SharedStore): Promise<BenchKey[]> {
  const group = await store.operator.groups.create({ name: 'group', rpm: 7, userLimits: USER_LIMITS }, START);
  assert.ok(group.kind === 'done');
  const first = await bench.newKey({ groupId: group.group.id });
  return [first, await bench.newKey({ userLimits: USER_LIMITS }), await bench.newKey({ parentId: first.id })];
}

const ASKED = { kind: 'admit', key: 0, model: 'mock/a', inputTokens: 9, outputTokens: 7, holdNanos: 40n } as const;
const SETTLED = { kind: 'settle', which: 0, promptTokens: 3, completionTokens: 2, costNanos: 5n } as const;

/** Runs that many random histories. Rejects with the seed and the shortest history that deviates. */
export function testCuts(database: SharedDatabase, numRuns: number): void {
  for (const [what, after] of [
    ['settled late', { kind: 'batch', gateway: 0, commands: [SETTLED] }],
    ['corrected', { kind: 'correct', nanos: 5n }],
  ] as const) {
    test(`so it does where a request was charged as held and ${what} after an entry that nobody has recorded`, async () => {
      const asked = { kind: 'batch', commands: [ASKED] } as const;
      const steps = [
        { ...asked, gateway: 0 },
        { kind: 'wait', milliseconds: 20 },
        { ...asked, gateway: 1 },
      ] as const;
      const wait = { kind: 'wait', milliseconds: 30 } as const;
      assert.ok(
        (await cutAll(database, [...steps, wait, { kind: 'death', gateway: 0 }, wait, after] as Step[], 2)) > 0,
      );
    });
  }

  test('a gateway that begins when all others are gone comes to the decisions of each of them', async (t) => {
    const seed = Date.now() % 1_000_000;
    t.diagnostic(`seed ${seed}`);
    let cuts = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 10, maxLength: 40, size: 'max' }),
        fc.integer({ min: 1, max: 4 }),
        fc.boolean(),
        async (steps, gateways, hasLevels) => {
          cuts += await cutAll(database, steps, gateways, hasLevels);
        },
      ),
      { numRuns, seed, endOnFailure: true },
    );
    assert.ok(cuts > 0, 'nothing was left to decide anywhere');
  });
}
