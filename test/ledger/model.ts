/** Random commands against a store and against a naive ledger: every answer and every figure must agree. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Settlement } from '../../src/core/settlement.ts';
import { untouchedFigures } from '../../src/ledger/figures.ts';
import type { Admission, AdmissionRequest, Grant } from '../../src/ledger/ledger.ts';
import type { Answer, Command } from '../../src/ledger/protocol.ts';
import { naiveRooms } from '../unit/ledger/naive-budgets.ts';
import { type NaiveKey, NaiveLedger } from '../unit/ledger/naive-ledger.ts';
import { type BenchKey, LedgerBench, type OpenStore, spendsOf } from './bench.ts';
import { ask, budgets, change, end, KEYS } from './drawn-commands.ts';

const TIER = { rpm: 6, tpm: 400, concurrency: 4 };
const DAY_MS = 86_400_000;
/** A few steps before the end of a month. */
const START = Date.UTC(2026, 10, 30, 23, 59);

const listing = fc.record({ kind: fc.constant('admit_listing' as const), key: fc.nat({ max: KEYS - 1 }) });
const command = fc.oneof(
  { weight: 4, arbitrary: ask },
  { weight: 3, arbitrary: end },
  { weight: 2, arbitrary: change },
  { weight: 1, arbitrary: listing },
);
const batch = fc.record({
  kind: fc.constant('batch' as const),
  commands: fc.array(command, { minLength: 1, maxLength: 6 }),
  isBroken: fc.integer({ min: 0, max: 5 }).map((number) => number === 0),
});
const wait = fc.record({
  kind: fc.constant('wait' as const),
  milliseconds: fc.oneof(
    fc.nat({ max: 20_000 }),
    fc.nat({ max: 20_000_000 }).map((us) => us / 1_000),
    fc.constantFrom(59_999, 60_000, 60_001, 9 * DAY_MS, 40 * DAY_MS),
  ),
});
const limit = fc.record({
  kind: fc.constant('limit' as const),
  key: fc.nat({ max: KEYS - 1 }),
  rpm: fc.option(fc.integer({ min: 1, max: 8 })),
  tpm: fc.option(fc.integer({ min: 1, max: 600 })),
  concurrency: fc.option(fc.integer({ min: 1, max: 5 })),
  spendLimitNanos: fc.option(fc.bigInt({ min: 0n, max: 150n })),
});
const terms = fc.record({
  kind: fc.constant('terms' as const),
  key: fc.nat({ max: KEYS - 1 }),
  budgets,
  expiresInMs: fc.option(fc.constantFrom(30_000, 60_000, 20 * DAY_MS), { freq: 3 }),
});
const state = fc.record({
  kind: fc.constant('state' as const),
  key: fc.nat({ max: KEYS - 1 }),
  state: fc.constantFrom('enabled' as const, 'enabled' as const, 'disabled' as const),
  allowlist: fc.option(fc.subarray(['mock/a', 'mock/b'])),
});
const credit = fc.record({
  kind: fc.constant('credit' as const),
  nanos: fc.bigInt({ min: -40n, max: 120n }).filter((nanos) => nanos !== 0n),
});
const crash = fc.record({ kind: fc.constant('crash' as const), downMs: fc.constantFrom(9_000, 61_000, 20 * DAY_MS) });
const takeover = fc.record({ kind: fc.constant('takeover' as const), milliseconds: fc.nat({ max: 2_000 }) });
const step = fc.oneof(
  { weight: 12, arbitrary: batch },
  { weight: 5, arbitrary: wait },
  { weight: 2, arbitrary: limit },
  { weight: 3, arbitrary: terms },
  { weight: 1, arbitrary: state },
  { weight: 2, arbitrary: credit },
  { weight: 1, arbitrary: crash },
  { weight: 1, arbitrary: takeover },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Batch = Extract<Step, { kind: 'batch' }>;
type Plan = Batch['commands'][number];

interface KeyPair {
  readonly real: BenchKey;
  readonly naive: NaiveKey;
}

/** The real ledger and the naive one, side by side. */
class Pair {
  readonly #bench: LedgerBench;
  readonly #naive: NaiveLedger;
  readonly #keys: readonly KeyPair[];

  private constructor(bench: LedgerBench, keys: readonly KeyPair[]) {
    this.#bench = bench;
    this.#naive = new NaiveLedger(bench.settings);
    this.#keys = keys;
  }

  static async open(bench: LedgerBench): Promise<Pair> {
    await bench.store.setClock(START);
    const keys: KeyPair[] = [];
    for (let i = 0; i < KEYS; i++) keys.push({ real: await bench.newKey(), naive: newNaiveKey() });
    const pair = new Pair(bench, keys);
    await pair.run({ kind: 'credit', nanos: 120n });
    return pair;
  }

  async run(step: Step): Promise<void> {
    const { store } = this.#bench;
    switch (step.kind) {
      case 'batch':
        return this.#batch(step);
      case 'wait':
        return store.advance(step.milliseconds);
      case 'limit': {
        const { key, rpm, tpm, concurrency, spendLimitNanos } = step;
        const { real, naive } = this.#key(key);
        await store.operator.keys.setLimits(real.id, { rpm, tpm, concurrency, spendLimitNanos });
        naive.rpm = rpm ?? TIER.rpm;
        naive.tpm = tpm ?? TIER.tpm;
        naive.concurrency = concurrency ?? TIER.concurrency;
        naive.spendLimitNanos = spendLimitNanos;
        return;
      }
      case 'terms': {
        const { key, budgets, expiresInMs } = step;
        const { real, naive } = this.#key(key);
        const wallMs = this.#bench.clock.wallMs();
        const expiresAtMs = expiresInMs === null ? null : wallMs + expiresInMs;
        await store.operator.keys.setLimits(real.id, { budgets: () => budgets, expiresAtMs }, wallMs);
        naive.budgets = budgets;
        naive.expiresAtMs = expiresAtMs;
        return;
      }
      case 'state': {
        const { real, naive } = this.#key(step.key);
        await store.operator.keys.setState(real.id, step.state);
        await store.operator.keys.editAllowlist(real.id, () => step.allowlist);
        naive.state = step.state;
        naive.allowlist = step.allowlist;
        return;
      }
      case 'credit':
        await this.#bench.addCredit(step.nanos);
        this.#naive.balanceNanos += step.nanos;
        return;
      case 'crash':
        await store.crash(step.downMs);
        this.#naive.recover(this.#bench.clock.wall);
        return;
      case 'takeover':
        // Nothing changes for anybody.
        return store.takeOver?.(step.milliseconds);
    }
  }

  async #batch({ commands: plans, isBroken }: Batch): Promise<void> {
    const { store } = this.#bench;
    const commands = store.inOrder(this.#commandsOf(plans));
    let answers: readonly Answer[] | undefined;
    const decide = async () => {
      answers = await this.#bench.process(commands);
    };
    if (isBroken) {
      // A batch that writes no row is decided all the same.
      await store.whileBroken(() => decide().catch((error: Error) => assert.match(error.message, /broken/)));
    } else {
      await decide();
    }
    if (answers === undefined) return;
    for (const [index, command] of commands.entries()) this.#compareAnswer(command, answers[index]);
  }

  #commandsOf(plans: readonly Plan[]): Command[] {
    const done = new Set<string>();
    return plans.flatMap((plan): Command[] => {
      if (plan.kind === 'admit') return [{ kind: 'admit', request: this.#request(plan) }];
      if (plan.kind === 'admit_listing') return [{ kind: 'admit_listing', keyHash: this.#key(plan.key).real.hash }];
      const open = this.#naive.open.filter(({ request }) => !done.has(request.requestId));
      const request = open[plan.which % Math.max(1, open.length)]?.request;
      if (request === undefined) return [];
      done.add(request.requestId);
      return [plan.kind === 'settle' ? toSettlement(request.requestId, plan) : toChange(request, plan)];
    });
  }

  #request({ key, model, inputTokens, outputTokens, holdNanos }: Extract<Plan, { kind: 'admit' }>): AdmissionRequest {
    const reservedTokens = inputTokens + outputTokens;
    return this.#bench.request(this.#key(key).real, { model, inputTokens, outputTokens, holdNanos, reservedTokens });
  }

  #compareAnswer(command: Command, answer: Answer): void {
    const nowMs = this.#bench.clock.wall;
    if (command.kind === 'admit') {
      const { request } = command;
      const { naive } = this.#keys.find(({ real }) => real.hash === request.keyHash) as KeyPair;
      const refusal = this.#naive.admit(naive, request, nowMs);
      const admission = answer as Admission;
      assert.deepEqual(admission.admitted ? undefined : admission.refusal, refusal);
      const figures =
        refusal?.reason === 'unknown_key' ? untouchedFigures('requests', this.#bench.settings) : undefined;
      assert.deepEqual(admission.figures, figures ?? this.#naive.figures(naive, nowMs));
    } else if (command.kind === 'grow') {
      assert.deepEqual(answer as Grant, this.#naive.grow(command.growth, nowMs));
    } else if (command.kind === 'free_slot') {
      this.#naive.freeSlot(command.requestId);
    } else if (command.kind === 'settle') {
      this.#naive.settle(command.settlement, nowMs);
    }
  }

  /** The figures of the keys, and what is stored of the account. */
  async compare(): Promise<void> {
    for (const { real, naive } of this.#keys) {
      const { kind, figures } = await this.#bench.identify(real);
      const isGone = this.#naive.isGone(naive, this.#bench.clock.wall);
      assert.equal(kind === 'unknown', isGone);
      if (!isGone) assert.deepEqual(figures, this.#naive.figures(naive, this.#bench.clock.wall));
      await this.#compareSpent({ real, naive });
    }
    const held = this.#naive.open.reduce((sum, { request }) => sum + request.holdNanos, 0n);
    assert.deepEqual(await this.#bench.balance(), [this.#naive.balanceNanos, held]);
  }

  /** What operators read of the budgets. */
  async #compareSpent({ real, naive }: KeyPair): Promise<void> {
    const wallMs = this.#bench.clock.wallMs();
    const spent = await spendsOf(this.#bench, real);
    assert.deepEqual(
      spent.map(({ period, limitNanos, chargedNanos, freesAtMs }) => [period, limitNanos, chargedNanos, freesAtMs]),
      naiveRooms(naive, [], wallMs, wallMs).map((room) => [room.period, room.limitNanos, room.charged, room.freesAtMs]),
    );
  }

  #key(index: number): KeyPair {
    return this.#keys[index] as KeyPair;
  }
}

function newNaiveKey(): NaiveKey {
  const nothing = { requestsAtMs: [], tokens: [], charges: [] };
  return {
    state: 'enabled',
    allowlist: null,
    ...TIER,
    spendLimitNanos: null,
    budgets: [],
    expiresAtMs: null,
    ...nothing,
  };
}

function toChange(
  { requestId, outputTokens, holdNanos }: AdmissionRequest,
  { kind, moreTokens, moreNanos }: Exclude<Extract<Plan, { which: number }>, { kind: 'settle' }>,
): Command {
  if (kind === 'free_slot') return { kind, requestId };
  return { kind, growth: { requestId, outputTokens: outputTokens + moreTokens, holdNanos: holdNanos + moreNanos } };
}

function toSettlement(requestId: string, plan: Extract<Plan, { kind: 'settle' }>): Command {
  const { promptTokens, completionTokens, costNanos } = plan;
  const usage = { promptTokens, cachedTokens: 0, completionTokens };
  const end = { outcome: 'ok', source: 'reported', completionId: undefined, firstByteMs: undefined } as const;
  const settlement: Settlement = { requestId, ...end, usage, costNanos };
  return { kind: 'settle', settlement };
}

/** Runs that many random histories on a store. Rejects with the seed and the shortest history that deviates. */
export async function compareWithNaiveLedger(openStore: OpenStore, numRuns: number, seed: number): Promise<void> {
  const steps = fc.array(step, { minLength: 5, maxLength: 40, size: 'max' });
  await fc.assert(
    fc.asyncProperty(steps, fc.boolean(), async (history, creditEnforced) => {
      const bench = await LedgerBench.open(openStore, { ...TIER, creditEnforced });
      try {
        const pair = await Pair.open(bench);
        for (const each of history) {
          await pair.run(each);
          await pair.compare();
        }
        await bench.store.assertBooks();
      } finally {
        await bench.store.close();
      }
    }),
    { numRuns, seed },
  );
}
