/**
 * The engine compared with a naive ledger: random requests, edits, crashes, takeovers and failed writes;
 * every answer must agree.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { audit } from '../../../src/audit/audit.ts';
import type { Settlement } from '../../../src/core/settlement.ts';
import type { Admission, AdmissionRequest, Grant, Identity } from '../../../src/ledger/ledger.ts';
import type { Command } from '../../../src/ledger/protocol.ts';
import { ask, budgets, change, end, KEYS } from '../../ledger/drawn-commands.ts';
import { assertBooksBalance } from '../../support/books.ts';
import { Bench, type BenchKey, HandClock } from './bench.ts';
import { type NaiveKey, NaiveLedger } from './naive-ledger.ts';

/** Takes a few seconds; with MODEL_RUNS=10000, a few minutes. */
const RUNS = Number(process.env.MODEL_RUNS ?? 40);
const TIER = { rpm: 6, tpm: 400, concurrency: 4 };

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('batch' as const),
      commands: fc.array(
        fc.oneof({ weight: 3, arbitrary: ask }, { weight: 2, arbitrary: end }, { weight: 2, arbitrary: change }),
        {
          minLength: 1,
          maxLength: 5,
        },
      ),
      // The disk fails in the middle of the batch.
      fails: fc.integer({ min: 0, max: 4 }).map((number) => number === 0),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      milliseconds: fc.oneof(fc.nat({ max: 20_000 }), fc.constantFrom(59_999, 60_000, 9 * 86_400_000)),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('limit' as const),
      key: fc.nat({ max: KEYS - 1 }),
      rpm: fc.option(fc.integer({ min: 1, max: 8 })),
      tpm: fc.option(fc.integer({ min: 1, max: 600 })),
      concurrency: fc.option(fc.integer({ min: 1, max: 5 })),
      spendLimitNanos: fc.option(fc.bigInt({ min: 0n, max: 150n })),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('state' as const),
      key: fc.nat({ max: KEYS - 1 }),
      state: fc.constantFrom('enabled' as const, 'enabled' as const, 'disabled' as const),
      allowlist: fc.option(fc.subarray(['mock/a', 'mock/b'])),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('budgets' as const), key: fc.nat({ max: KEYS - 1 }), budgets }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('credit' as const),
      nanos: fc.bigInt({ min: -40n, max: 120n }).filter((nanos) => nanos !== 0n),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('takeover' as const), milliseconds: fc.nat({ max: 2_000 }) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Batch = Extract<Step, { kind: 'batch' }>;

/** The real ledger and the naive one, side by side. */
class Pair {
  readonly bench: Bench;
  readonly naive: NaiveLedger;
  readonly keys: { real: BenchKey; naive: NaiveKey }[];

  constructor(bench: Bench) {
    this.bench = bench;
    this.naive = new NaiveLedger(bench.options);
    this.keys = Array.from({ length: KEYS }, () => ({ real: bench.newKey(), naive: newNaiveKey() }));
  }

  run(step: Step): void {
    switch (step.kind) {
      case 'batch':
        return this.#batch(step);
      case 'wait':
        return this.bench.clock.advance(step.milliseconds);
      case 'limit': {
        const { key, rpm, tpm, concurrency, spendLimitNanos } = step;
        const pair = this.#key(key);
        this.bench.operator.keys.setLimits(pair.real.id, { rpm, tpm, concurrency, spendLimitNanos });
        pair.naive.rpm = rpm ?? TIER.rpm;
        pair.naive.tpm = tpm ?? TIER.tpm;
        pair.naive.concurrency = concurrency ?? TIER.concurrency;
        pair.naive.spendLimitNanos = spendLimitNanos;
        return;
      }
      case 'budgets': {
        const pair = this.#key(step.key);
        this.bench.operator.keys.setLimits(pair.real.id, { budgets: () => step.budgets }, this.bench.clock.wallMs());
        pair.naive.budgets = step.budgets;
        return;
      }
      case 'state': {
        const pair = this.#key(step.key);
        this.bench.operator.keys.setState(pair.real.id, step.state);
        this.bench.operator.keys.editAllowlist(pair.real.id, () => step.allowlist);
        pair.naive.state = step.state;
        pair.naive.allowlist = step.allowlist;
        return;
      }
      case 'credit':
        this.bench.addCredit(step.nanos);
        this.naive.balanceNanos += step.nanos;
        return;
      case 'crash':
        this.bench.database.close();
        // A new process has a monotonic clock of its own.
        this.bench.clock.monotonic = 77_000;
        this.bench.start();
        this.naive.recover(this.bench.clock.wallMs());
        return;
      case 'takeover':
        // Nothing changes for anybody.
        this.bench.takeOver(step.milliseconds);
        return;
    }
  }

  #batch({ commands, fails }: Batch): void {
    const done = new Set<string>();
    const real: Command[] = [];
    for (const command of commands) {
      if (command.kind === 'admit') {
        const { key, model, inputTokens, outputTokens, holdNanos } = command;
        const reservedTokens = inputTokens + outputTokens;
        const changes = { model, inputTokens, outputTokens, holdNanos, reservedTokens };
        real.push({ kind: 'admit', request: this.bench.request(this.#key(key).real, changes) });
        continue;
      }
      const open = this.naive.open.filter(({ request }) => !done.has(request.requestId));
      const request = open[command.which % Math.max(1, open.length)]?.request;
      if (request === undefined) continue;
      const { requestId } = request;
      done.add(requestId);
      if (command.kind !== 'settle') {
        real.push(toChange(request, command));
        continue;
      }
      real.push({ kind: 'settle', settlement: toSettlement(requestId, command) });
    }
    if (fails) return this.#failedBatch(real);
    const answers = this.bench.engine.process(real);
    for (const [index, command] of real.entries()) {
      if (command.kind === 'admit') this.#compareAdmission(command.request, answers[index] as Admission);
      else if (command.kind === 'grow')
        assert.deepEqual(answers[index] as Grant, this.naive.grow(command.growth, this.bench.clock.wallMs()));
      else if (command.kind === 'free_slot') this.naive.freeSlot(command.requestId);
      else if (command.kind === 'settle') this.naive.settle(command.settlement, this.bench.clock.wallMs());
    }
  }

  /** The whole batch is decided and written, then it fails. */
  #failedBatch(commands: readonly Command[]): void {
    const nobody = { requestId: 'req_not_open', promptTokens: 0, completionTokens: 0, costNanos: 0n };
    const last: Command = { kind: 'settle', settlement: toSettlement(nobody.requestId, nobody) };
    assert.throws(() => this.bench.engine.process([...commands, last]));
  }

  #compareAdmission(request: Extract<Command, { kind: 'admit' }>['request'], answer: Admission): void {
    const key = this.keys.find(({ real }) => real.hash === request.keyHash)?.naive as NaiveKey;
    const refusal = this.naive.admit(key, request, this.bench.clock.wallMs());
    assert.deepEqual(answer.admitted ? undefined : answer.refusal, refusal);
  }

  /** The figures in memory, and the sums in the file. */
  compare(): void {
    const { bench, naive } = this;
    for (const key of this.keys) {
      const identity: Identity = bench.identify(key.real);
      assert.deepEqual(identity.figures, naive.figures(key.naive, bench.clock.wallMs()));
    }
    const held = naive.open.reduce((sum, { request }) => sum + request.holdNanos, 0n);
    assert.deepEqual(bench.operator.account.balance(), { balanceNanos: naive.balanceNanos, heldNanos: held });
  }

  #key(index: number): { real: BenchKey; naive: NaiveKey } {
    return this.keys[index] as { real: BenchKey; naive: NaiveKey };
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
  { kind, moreTokens, moreNanos }: { kind: 'grow' | 'free_slot'; moreTokens: number; moreNanos: bigint },
): Command {
  if (kind === 'free_slot') return { kind, requestId };
  return { kind, growth: { requestId, outputTokens: outputTokens + moreTokens, holdNanos: holdNanos + moreNanos } };
}

function toSettlement(
  requestId: string,
  from: { promptTokens: number; completionTokens: number; costNanos: bigint },
): Settlement {
  const { promptTokens, completionTokens, costNanos } = from;
  const usage = { promptTokens, cachedTokens: 0, completionTokens };
  return {
    requestId,
    outcome: 'ok',
    usage,
    source: 'reported',
    costNanos,
    completionId: undefined,
    firstByteMs: undefined,
  };
}

test('whatever happens, the ledger gives the answers and totals of a plain list', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 60, size: 'max' }), fc.boolean(), (steps, creditEnforced) => {
      const directory = mkdtempSync(join(tmpdir(), 'inf-gw-model-'));
      const bench = new Bench(directory, { ...TIER, creditEnforced }, new HandClock());
      try {
        const pair = new Pair(bench);
        pair.run({ kind: 'credit', nanos: 120n });
        for (const each of steps) {
          pair.run(each);
          pair.compare();
        }
        assertBooksBalance(bench.operator.database);
        bench.close();
        const checks = audit(join(directory, 'state.db'), { onProgress: () => {} });
        assert.deepEqual(
          checks.flatMap(({ differences }) => differences),
          [],
        );
      } finally {
        bench.close();
        rmSync(directory, { recursive: true, force: true });
      }
    }),
    { numRuns: RUNS },
  );
});
