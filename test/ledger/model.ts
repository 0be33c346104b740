/** Random commands against a store and against a naive ledger: every answer and every figure must agree. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Settlement } from '../../src/core/settlement.ts';
import { untouchedFigures } from '../../src/ledger/figures.ts';
import type { Admission, AdmissionRequest, Grant } from '../../src/ledger/ledger.ts';
import type { Answer, Command } from '../../src/ledger/protocol.ts';
import type { NewKey, OwnLimits } from '../../src/state/keys.ts';
import { hasNoLimits, NO_LEVEL_TERMS, userId } from '../../src/state/levels.ts';
import {
  NaiveLedger,
  type NaiveOwner,
  type NaiveTerms,
  naiveChain,
  naiveUser,
  newNaiveOwner,
  roomsOf,
  UNLIMITED,
} from '../unit/ledger/naive-ledger.ts';
import { type BenchKey, LedgerBench, type OpenStore } from './bench.ts';
import { ask, budgets, change, end, KEYS, USERS } from './drawn-commands.ts';

const TIER = { rpm: 6, tpm: 400, concurrency: 4 };
const DAY_MS = 86_400_000;
/** A few steps before the end of a month. */
const START = Date.UTC(2026, 10, 30, 23, 59);
const GROUPS = ['outer', 'inner', 'other'] as const;

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
    // In eighths: whole microseconds that sums of wall times and of monotonic ones both give exactly.
    fc.nat({ max: 160_000 }).map((eighths) => eighths / 8),
    fc.constantFrom(59_999, 60_000, 60_001, 9 * DAY_MS, 40 * DAY_MS),
  ),
});
/** The keys, and behind them the groups. */
const owner = fc.nat({ max: KEYS + GROUPS.length - 1 });
const limits = fc.record({
  rpm: fc.option(fc.integer({ min: 1, max: 8 })),
  tpm: fc.option(fc.integer({ min: 1, max: 600 })),
  concurrency: fc.option(fc.integer({ min: 1, max: 5 })),
  spendLimitNanos: fc.option(fc.bigInt({ min: 0n, max: 150n })),
});
const limit = fc.record({ kind: fc.constant('limit' as const), owner, limits });
const terms = fc.record({
  kind: fc.constant('terms' as const),
  owner,
  budgets,
  expiresInMs: fc.option(fc.constantFrom(30_000, 60_000, 20 * DAY_MS), { freq: 3 }),
});
const state = fc.record({
  kind: fc.constant('state' as const),
  owner,
  state: fc.constantFrom('enabled' as const, 'enabled' as const, 'disabled' as const),
  allowlist: fc.option(fc.subarray(['mock/a', 'mock/b'])),
});
/** What each end user may do, or none any more. */
const users = fc.record({
  kind: fc.constant('users' as const),
  owner,
  limits,
  budgets,
  required: fc.integer({ min: 0, max: 9 }).map((number) => number === 0),
});
/** What one of them may do. */
const user = fc.record({
  kind: fc.constant('user' as const),
  owner,
  name: fc.constantFrom(...USERS),
  limits: fc.option(limits, { nil: NO_LEVEL_TERMS }),
  budgets: fc.option(budgets, { nil: [] }),
  state: fc.constantFrom('enabled' as const, 'enabled' as const, 'disabled' as const),
});
const move = fc.record({
  kind: fc.constant('move' as const),
  owner,
  into: fc.option(fc.nat({ max: GROUPS.length - 1 })),
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
  { weight: 2, arbitrary: users },
  { weight: 1, arbitrary: user },
  { weight: 1, arbitrary: move },
  { weight: 2, arbitrary: credit },
  { weight: 1, arbitrary: crash },
  { weight: 1, arbitrary: takeover },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Batch = Extract<Step, { kind: 'batch' }>;
type Plan = Batch['commands'][number];

interface OwnerPair<Real = { readonly id: string }> {
  readonly real: Real;
  readonly naive: NaiveOwner;
}
type KeyPair = OwnerPair<BenchKey>;

/** The real ledger and the naive one, side by side. */
class Pair {
  readonly #bench: LedgerBench;
  readonly #naive: NaiveLedger;
  readonly #keys: readonly KeyPair[];
  readonly #groups: readonly OwnerPair[];

  private constructor(bench: LedgerBench, keys: readonly KeyPair[], groups: readonly OwnerPair[]) {
    this.#bench = bench;
    this.#naive = new NaiveLedger(bench.settings);
    this.#keys = keys;
    this.#groups = groups;
  }

  /** A key in two groups, one that it has made, and one in none. */
  static async open(bench: LedgerBench): Promise<Pair> {
    const { store } = bench;
    await store.setClock(START);
    const groups: OwnerPair[] = [];
    for (const name of GROUPS) {
      const outer = name === 'inner' ? groups[0] : undefined;
      const made = await store.operator.groups.create({ name, groupId: outer?.real.id ?? null }, START);
      assert.ok(made.kind === 'done');
      groups.push({ real: made.group, naive: newNaiveOwner({ kind: 'group', name }, UNLIMITED, outer?.naive) });
    }
    const newKey = async (outer: NaiveOwner | undefined, place: Partial<NewKey>): Promise<KeyPair> => {
      const real = await bench.newKey(place);
      return { real, naive: newNaiveOwner({ kind: 'key', name: real.name }, { ...UNLIMITED, ...TIER }, outer) };
    };
    const inner = groups[1] as OwnerPair;
    const key = await newKey(inner.naive, { groupId: inner.real.id });
    const keys = [key, await newKey(undefined, {}), await newKey(key.naive, { parentId: key.real.id })];
    const pair = new Pair(bench, keys, groups);
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
        const { real, naive, book, tier } = this.#owner(step.owner);
        await book.setLimits(real.id, step.limits);
        Object.assign(naive, naiveLimits(step.limits, tier));
        return;
      }
      case 'terms': {
        const { budgets, expiresInMs } = step;
        const { real, naive, book, isKey } = this.#owner(step.owner);
        const wallMs = this.#bench.clock.wallMs();
        const expiresAtMs = expiresInMs === null || !isKey ? null : wallMs + expiresInMs;
        await book.setLimits(real.id, { budgets: () => budgets, ...(isKey && { expiresAtMs }) }, wallMs);
        naive.budgets = budgets;
        naive.expiresAtMs = expiresAtMs;
        return;
      }
      case 'state': {
        const { real, naive, book } = this.#owner(step.owner);
        await book.setState(real.id, step.state);
        await book.editAllowlist(real.id, () => step.allowlist);
        naive.state = step.state;
        naive.allowlist = step.allowlist;
        return;
      }
      case 'users': {
        const { limits, budgets, required } = step;
        const { real, naive, book } = this.#owner(step.owner);
        const userLimits = () => ({ ...limits, budgets, required });
        await book.setLimits(real.id, { userLimits }, this.#bench.clock.wallMs());
        const after = { ...naiveLimits(limits, UNLIMITED), budgets, required };
        naive.ofUsers = isNothing(after) && naive.ownOfUsers.size === 0 ? null : after;
        return;
      }
      case 'user': {
        const { name, limits, budgets, state } = step;
        const { real, naive } = this.#owner(step.owner);
        const record = { ...NO_LEVEL_TERMS, ...limits, budgets, state, ownerId: real.id, name };
        await store.operator.groups.editUser(real.id, name, () => record, this.#bench.clock.wallMs());
        naive.ofUsers ??= { ...UNLIMITED, required: false };
        if (state !== 'enabled' || !hasNoLimits(record)) {
          naive.ownOfUsers.set(name, { ...naiveLimits(limits, UNLIMITED), budgets, state });
          return;
        }
        naive.ownOfUsers.delete(name);
        if (isNothing(naive.ofUsers) && naive.ownOfUsers.size === 0) naive.ofUsers = null;
        return;
      }
      case 'move': {
        const { real, naive, book } = this.#owner(step.owner);
        const into = step.into === null ? undefined : (this.#groups[step.into] as OwnerPair);
        const { kind } = await book.place(real.id, into?.real.id ?? null);
        const isChild = naive.outer?.name.kind === 'key';
        const isInItself = into !== undefined && naiveChain(into.naive, undefined).includes(naive);
        assert.equal(kind, isChild ? 'is_child' : isInItself ? 'in_itself' : 'done');
        if (kind === 'done') naive.outer = into?.naive;
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

  #request({ kind, key, ...plan }: Extract<Plan, { kind: 'admit' }>): AdmissionRequest {
    const reservedTokens = plan.inputTokens + plan.outputTokens;
    return this.#bench.request(this.#key(key).real, { ...plan, reservedTokens });
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
      assert.deepEqual(admission.figures, figures ?? this.#naive.figures(naiveChain(naive, request.user), nowMs));
    } else if (command.kind === 'grow') {
      assert.deepEqual(answer as Grant, this.#naive.grow(command.growth, nowMs));
    } else if (command.kind === 'free_slot') {
      this.#naive.freeSlot(command.requestId);
    } else if (command.kind === 'settle') {
      assert.deepEqual(answer, this.#naive.settle(command.settlement, nowMs));
    }
  }

  /** The figures of the keys, and what is stored of the account and of all levels. */
  async compare(): Promise<void> {
    const nowMs = this.#bench.clock.wall;
    for (const { real, naive } of this.#keys) {
      const identity = await this.#bench.identify(real);
      const levels = naiveChain(naive, undefined);
      const isOff = levels.some(({ state }) => state !== 'enabled');
      const kind = this.#naive.isGone(naive, nowMs) ? 'unknown' : isOff ? 'disabled' : 'enabled';
      assert.equal(identity.kind, kind);
      if (kind !== 'unknown') assert.deepEqual(identity.figures, this.#naive.figures(levels, nowMs));
      if (identity.kind === 'enabled') assert.equal(identity.freeSlots, this.#naive.freeSlots(naive));
    }
    for (const each of [...this.#keys, ...this.#groups]) await this.#compareSpent(each);
    const held = this.#naive.open.reduce((sum, { request }) => sum + request.holdNanos, 0n);
    assert.deepEqual(await this.#bench.balance(), [this.#naive.balanceNanos, held]);
  }

  /** What operators read of the budgets of a level and of its end users. */
  async #compareSpent({ real, naive }: OwnerPair): Promise<void> {
    const wallMs = this.#bench.clock.wallMs();
    const users = USERS.flatMap((name) => naiveUser(naive, name) ?? []);
    for (const level of [naive, ...users]) {
      const id = level.user === undefined ? real.id : userId(real.id, level.user.name);
      const { budgets } = level;
      const spent = (await this.#bench.store.operator.levels.spentBy([{ id, budgets }], wallMs)).get(id) ?? [];
      assert.deepEqual(
        spent
          .map(({ period, limitNanos, chargedNanos, freesAtMs }) => [period, limitNanos, chargedNanos, freesAtMs])
          .toSorted(),
        roomsOf(level, [], wallMs, wallMs)
          .map((room) => [room.period, room.limitNanos, room.charged, room.freesAtMs])
          .toSorted(),
      );
    }
  }

  /** A key or a group, what operators change it with, and its limits where it has none of its own. */
  #owner(index: number) {
    const { keys, groups } = this.#bench.store.operator;
    const isKey = index < KEYS;
    const pair: OwnerPair = isKey ? this.#key(index) : (this.#groups[index - KEYS] as OwnerPair);
    return { ...pair, isKey, book: isKey ? keys : groups, tier: isKey ? TIER : UNLIMITED };
  }

  #key(index: number): KeyPair {
    return this.#keys[index] as KeyPair;
  }
}

function naiveLimits(own: OwnLimits, otherwise: Pick<NaiveTerms, 'rpm' | 'tpm' | 'concurrency'>) {
  return {
    rpm: own.rpm ?? otherwise.rpm,
    tpm: own.tpm ?? otherwise.tpm,
    concurrency: own.concurrency ?? otherwise.concurrency,
    spendLimitNanos: own.spendLimitNanos,
  };
}

/** Whether end users are bounded by nothing. */
function isNothing({ rpm, tpm, concurrency, spendLimitNanos, budgets, required }: NonNullable<NaiveOwner['ofUsers']>) {
  const isInfinite = [rpm, tpm, concurrency].every((limit) => limit === Number.POSITIVE_INFINITY);
  return isInfinite && spendLimitNanos === null && budgets.length === 0 && !required;
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

function inWholeMs(step: Step): Step {
  return step.kind === 'wait' ? { ...step, milliseconds: Math.floor(step.milliseconds) } : step;
}

/** Runs that many random histories on a store. Rejects with the seed and the shortest history that deviates. */
export async function compareWithNaiveLedger(openStore: OpenStore, numRuns: number, seed: number): Promise<void> {
  const steps = fc.array(step, { minLength: 5, maxLength: 40, size: 'max' });
  await fc.assert(
    fc.asyncProperty(steps, fc.boolean(), async (history, creditEnforced) => {
      const bench = await LedgerBench.open(openStore, { ...TIER, creditEnforced });
      try {
        const pair = await Pair.open(bench);
        // A state file has the times of requests in whole milliseconds, and after a crash nobody knows more.
        const isCrashing = history.some(({ kind }) => kind === 'crash');
        for (const each of history) {
          await pair.run(isCrashing ? inWholeMs(each) : each);
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
