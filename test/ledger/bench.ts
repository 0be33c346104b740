/** What the conformance suite of the ledger needs of a store, and what tests say with it. */
import assert from 'node:assert/strict';
import { hashKey, mintKey } from '../../src/core/api-key.ts';
import type { BudgetSpend } from '../../src/core/budgets.ts';
import type { RateFigures } from '../../src/core/limits.ts';
import type { Settlement } from '../../src/core/settlement.ts';
import type { Engine } from '../../src/ledger/engine.ts';
import type { RequestWindow } from '../../src/ledger/figures.ts';
import type {
  Admission,
  AdmissionForecast,
  AdmissionRequest,
  Grant,
  Identity,
  LedgerSettings,
  LedgerSummary,
  ListingAdmission,
  Refusal,
} from '../../src/ledger/ledger.ts';
import type { Answer, Command } from '../../src/ledger/protocol.ts';
import type { KeyRecord, NewKey } from '../../src/state/keys.ts';
import type { OpenState } from '../../src/state/state.ts';
import { type BenchKey, DEFAULTS, HandClock, NO_LIMITS, NOON, USD } from '../unit/ledger/bench.ts';

export { type BenchKey, HandClock, NOON, USD };

export type Row = Readonly<Record<string, unknown>>;

/** One store with its engine, a clock that only the test moves, and an operator. */
export interface Store {
  readonly operator: OpenState;
  /** Of the last start. */
  readonly summary: LedgerSummary;
  readonly engine: Engine;
  /** Moves the clock of everything. */
  advance(milliseconds: number): Promise<void>;
  /** Sets the clock of a store in which nothing has happened yet. */
  setClock(wallMs: number): Promise<void>;
  /** Sets the clocks that can be set, and no other. */
  step(milliseconds: number): Promise<void>;
  /** The process ends at once, and another of its name starts that much later. */
  crash(downMs: number): Promise<void>;
  /** The process ends in an orderly way, and another of its name starts. */
  restart(): Promise<void>;
  /** A new engine, on a clock of its own, takes over from the present one, which takes so long. Not of a store that has no takeover. */
  takeOver?(milliseconds: number): Promise<void>;
  /** Nothing can be written while `work` runs. */
  whileBroken(work: () => Promise<void>): Promise<void>;
  /** Resolves when the tables have all that was decided: they follow a moment later. */
  written(engine: Engine): Promise<void>;
  /** The commands in the order in which a batch decides them. */
  inOrder(commands: readonly Command[]): Command[];
  /** The rows of a table, in order of request. */
  rows(table: 'holds' | 'journal'): Promise<Row[]>;
  /** The number of rows of a table of sums: of steps of sliding budgets, or of levels. */
  count(table: 'budget_steps' | 'level_days' | 'level_months' | 'sealed_levels'): Promise<number>;
  /** Everything that is stored, to compare before and after. */
  dump(): Promise<unknown>;
  assertBooks(): Promise<void>;
  close(): Promise<void>;
}

/** Opens an empty store. */
export type OpenStore = (settings: LedgerSettings, clock: HandClock) => Promise<Store>;

/** The part of `node:test` that cleans up. */
interface Cleanup {
  after(work: () => Promise<void>): void;
}

/** The name of the first key that a bench makes. */
export const FIRST_KEY = 'key 1';

/** Commands of tests against a store. */
export class LedgerBench {
  readonly store: Store;
  readonly settings: LedgerSettings;
  readonly clock: HandClock;
  #keys = 0;
  #requests = 0;

  private constructor(store: Store, settings: LedgerSettings, clock: HandClock) {
    this.store = store;
    this.settings = settings;
    this.clock = clock;
  }

  static async open(openStore: OpenStore, settings: Partial<LedgerSettings> = {}): Promise<LedgerBench> {
    const clock = new HandClock();
    const all = { ...DEFAULTS, ...settings };
    return new LedgerBench(await openStore(all, clock), all, clock);
  }

  /** A bench whose books are checked when the test ends. */
  static async of(test: Cleanup, openStore: OpenStore, settings: Partial<LedgerSettings> = {}): Promise<LedgerBench> {
    const bench = await LedgerBench.open(openStore, settings);
    test.after(async () => {
      try {
        await bench.store.assertBooks();
      } finally {
        await bench.store.close();
      }
    });
    return bench;
  }

  async newKey(settings: Partial<NewKey> = {}): Promise<BenchKey> {
    const secret = mintKey();
    const key = { ...NO_LIMITS, name: `key ${++this.#keys}`, ...settings };
    const change = await this.store.operator.keys.create(secret, key, this.clock.wallMs());
    assert.ok(change.kind === 'done');
    return { id: change.key.id, hash: hashKey(secret), secret, name: key.name };
  }

  async addCredit(nanos: bigint): Promise<void> {
    await this.store.operator.account.enter(nanos, 'test', this.clock.wallMs());
  }

  async balance(): Promise<readonly [balanceNanos: bigint, heldNanos: bigint]> {
    const { balanceNanos, heldNanos } = await this.store.operator.account.balance();
    return [balanceNanos, heldNanos];
  }

  /** Decides a batch, and flushes it where somebody waits for that. */
  async process(commands: readonly Command[], engine = this.store.engine): Promise<readonly Answer[]> {
    const answers = await engine.process(commands);
    const waiting = commands.filter((command, index) => engine.waitsForFlush(command, answers[index]));
    if (engine.needsFlush && waiting.length > 0) await flush(engine, waiting);
    // Where that fails, the next batch writes it.
    await this.store.written(engine).catch(() => {});
    return answers;
  }

  async one<T extends Answer>(command: Command): Promise<T> {
    return (await this.process([command]))[0] as T;
  }

  request(key: BenchKey, changes: Partial<AdmissionRequest> = {}): AdmissionRequest {
    const tokens = { reservedTokens: 10, inputTokens: 10, outputTokens: 20 };
    const requestId = `req_${String(++this.#requests).padStart(6, '0')}`;
    return { requestId, keyHash: key.hash, model: 'mock/echo', ...tokens, holdNanos: 0n, ...changes };
  }

  /** What `decide` would say, and the figures that it would decide by. */
  async forecast(key: BenchKey, changes: Partial<AdmissionRequest> = {}): Promise<AdmissionForecast> {
    const requests = [{ ...this.request(key), ...changes }];
    return this.one({ kind: 'forecast', question: { keyId: key.id, requests } });
  }

  decide(key: BenchKey, changes: Partial<AdmissionRequest> = {}): Promise<Admission> {
    return this.one({ kind: 'admit', request: this.request(key, changes) });
  }

  /** Admits a request and returns its id. */
  async admit(key: BenchKey, changes: Partial<AdmissionRequest> = {}): Promise<string> {
    const request = this.request(key, changes);
    const admission = await this.one<Admission>({ kind: 'admit', request });
    assert.equal(admission.admitted ? 'admitted' : admission.refusal.reason, 'admitted');
    return request.requestId;
  }

  async refuse(key: BenchKey, changes: Partial<AdmissionRequest> = {}): Promise<Refusal> {
    const admission = await this.decide(key, changes);
    assert.ok(!admission.admitted, 'the request is admitted');
    return admission.refusal;
  }

  settlement(requestId: string, changes: Partial<Settlement> = {}): Settlement {
    const usage = { promptTokens: 6, cachedTokens: 0, completionTokens: 4 };
    const end = { outcome: 'ok', source: 'reported', completionId: undefined, firstByteMs: undefined } as const;
    return { requestId, ...end, usage, costNanos: 0n, ...changes };
  }

  settle(requestId: string, changes: Partial<Settlement> = {}): Promise<RateFigures> {
    return this.one({ kind: 'settle', settlement: this.settlement(requestId, changes) });
  }

  grow(requestId: string, holdNanos: bigint, outputTokens = 40): Promise<Grant> {
    return this.one({ kind: 'grow', growth: { requestId, outputTokens, holdNanos } });
  }

  async freeSlot(requestId: string): Promise<void> {
    await this.process([{ kind: 'free_slot', requestId }]);
  }

  identify(key: BenchKey, window?: RequestWindow): Promise<Identity> {
    return this.one({ kind: 'identify', keyHash: key.hash, window });
  }

  list(key: BenchKey): Promise<ListingAdmission> {
    return this.one({ kind: 'admit_listing', keyHash: key.hash });
  }

  beginCount(key: BenchKey, countId: string): Promise<ListingAdmission> {
    return this.one({ kind: 'admit_listing', keyHash: key.hash, countId });
  }

  async endCount(countId: string): Promise<void> {
    await this.process([{ kind: 'end_count', countId }]);
  }
}

/** As the ledger's thread does. */
async function flush(engine: Engine, waiting: readonly Command[]): Promise<void> {
  try {
    await engine.flush();
  } catch (error) {
    engine.isLostWithFlush(waiting);
    throw error;
  }
}

/** What operators read of the budgets of a key. */
export async function spendsOf(bench: LedgerBench, { id }: BenchKey): Promise<readonly BudgetSpend[]> {
  const { keys, levels } = bench.store.operator;
  const record = (await keys.find(id)) as KeyRecord;
  return (await levels.spentBy([record], bench.clock.wallMs())).get(id) ?? [];
}

/** Usage of that many tokens. */
export function tokens(promptTokens: number, completionTokens = 0): Pick<Settlement, 'usage'> {
  return { usage: { promptTokens, cachedTokens: 0, completionTokens } };
}
