/** The engine of a ledger whose state many gateways share: the database decides. */

import { type Clock, systemClock } from '../../core/clock.ts';
import { InvariantError } from '../../core/invariant.ts';
import type { PostgresAddress } from '../../core/postgres-address.ts';
import type { Settlement } from '../../core/settlement.ts';
import type { Batch } from '../../state/postgres/batch.ts';
import { type Decided, NOTHING_DECIDED } from '../../state/postgres/decided.ts';
import { type KnownKey, type OpenRequest, SharedLedgerStore } from '../../state/postgres/ledger-store.ts';
import type { StorageFault } from '../../state/storage-fault.ts';
import { checkCommand } from '../checks.ts';
import type { Engine, EngineEvents } from '../engine.ts';
import type { AdmissionForecast, LedgerOptions, LedgerSettings, LedgerSummary, NodeIdentity } from '../ledger.ts';
import { type Answer, BUSIEST_KEYS, type Command, isAdmitted } from '../protocol.ts';
import { RefusalCounts } from '../refusal-counts.ts';
import { answersOf } from './answers.ts';
import { type KeyLookup, place } from './batch.ts';
import { ClockGuard } from './clock-guard.ts';
import { Counts } from './counts.ts';
import { CLOCK_FAULT, ClockStepError, LATE_FAULT, LateBatchError } from './faults.ts';

/**
 * All gateways wait for each other's batches. At 128 commands a batch takes some 10 ms of the
 * database.
 */
const MAX_BATCH = 128;
/** The keys by hash that are kept. When there are more, all are looked up again. */
const MAX_KNOWN_KEYS = 100_000;
/** The time between two looks at the months of the journal. */
const PARTITIONS_MS = 3_600_000;
/** The number of journal rows that one step of retention drops. */
const RETENTION_ROWS = 1_000;

/** How a request ends that was never answered. */
const NEVER_SENT: Omit<Settlement, 'requestId'> = {
  outcome: 'internal_error',
  usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
  source: 'counted',
  costNanos: 0n,
  completionId: undefined,
  firstByteMs: undefined,
};

/** SQLSTATE of `decide_batch`. */
const CLOCK_STEPPED = 'IG003';

/** How often a batch is sent that comes so late that the clock may as well have stepped. */
const MOST_SENDS = 2;

export class SharedEngine implements Engine {
  readonly maxBatch = MAX_BATCH;
  readonly needsFlush: boolean;
  readonly #store: SharedLedgerStore;
  #settings: LedgerSettings;
  readonly #clock: Clock;
  readonly #refusals = new RefusalCounts();
  /** By their hashes, which never change either. */
  readonly #keys = new Map<string, KnownKey>();
  /** Admitted by this process. Stays until a flush after the settlement, which may have to be repeated. */
  readonly #open = new Map<string, OpenRequest>();
  /** Settled, but not flushed. */
  #settled: string[] = [];
  /** Admissions that may be in the database, but whose clients were told that they failed. */
  readonly #doubtful = new Set<string>();
  readonly #counts = new Counts();
  #partitionsAtMs = 0;
  readonly #clockGuard = new ClockGuard();

  constructor(store: SharedLedgerStore, options: LedgerOptions, clock: Clock) {
    this.#store = store;
    this.#settings = options;
    this.#clock = clock;
    this.needsFlush = options.durability === 'full';
  }

  recover(): Promise<LedgerSummary> {
    return this.#store.summary();
  }

  adopt(): never {
    throw new InvariantError('a database is never handed over');
  }

  handOver(): never {
    throw new InvariantError('a database is never handed over');
  }

  async process(commands: readonly Command[]): Promise<readonly Answer[]> {
    for (const command of commands) {
      if (command.kind === 'count_refusal') this.#refusals.count(command.refusal, this.#clock.wallMs());
      checkCommand(command);
    }
    await this.#giveBack();
    await this.#learnKeys(commands);
    try {
      return await this.#decide(commands);
    } catch (error) {
      // Nobody knows whether the batch was committed.
      this.#doubt(commands);
      throw error;
    }
  }

  /** A settlement is safe from a crash of the database only then, and so is a hold. Refusals take nothing. */
  waitsForFlush(command: Command, answer: Answer): boolean {
    return command.kind === 'settle' || command.kind === 'grow' || isAdmitted(command, answer);
  }

  isFlushedAtOnce(): boolean {
    return false;
  }

  async flush(): Promise<void> {
    const settled = this.#settled;
    this.#settled = [];
    try {
      await this.#store.flush();
      for (const id of settled) this.#open.delete(id);
    } catch (error) {
      this.#settled.unshift(...settled);
      throw error;
    }
  }

  isLostWithFlush(commands: readonly Command[]): boolean {
    this.#store.forgetUnflushed();
    this.#settled = [];
    this.#doubt(commands);
    return true;
  }

  get hasRefusals(): boolean {
    return !this.#refusals.isEmpty;
  }

  async writeRefusals(): Promise<void> {
    const counts = [...this.#refusals.all()];
    await this.#store.writeRefusals(counts);
    this.#refusals.clear();
  }

  get journalRetentionMs(): number | undefined {
    return this.#settings.journalRetentionMs;
  }

  async dropOldRows(): Promise<boolean> {
    if (this.journalRetentionMs === undefined) return false;
    return this.#store.dropOldRows(this.#clock.wallMs() - this.journalRetentionMs, RETENTION_ROWS);
  }

  async maintain(): Promise<void> {
    await this.#giveBack();
    if (this.#clock.monotonicMs() < this.#partitionsAtMs) return;
    await this.#store.makePartitions();
    this.#partitionsAtMs = this.#clock.monotonicMs() + PARTITIONS_MS;
  }

  get fault(): StorageFault | undefined {
    return this.#clockGuard.isClosed(this.#clock.monotonicMs()) ? CLOCK_FAULT : undefined;
  }

  async probe(): Promise<void> {
    await this.#store.probe();
    await this.#giveBack();
  }

  faultOf(error: unknown): StorageFault | undefined {
    if (error instanceof ClockStepError) return CLOCK_FAULT;
    if (error instanceof LateBatchError) return LATE_FAULT;
    return this.#store.faultOf(error);
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  async #decide(commands: readonly Command[]): Promise<Answer[]> {
    const asked = commands.flatMap((each) => (each.kind === 'forecast' ? [each.question.keyId] : []));
    const existing = asked.length === 0 ? [] : await this.#store.existing(asked);
    const lookup: KeyLookup = {
      ofId: (id) => existing.find((key) => key.id === id),
      ofHash: (hash) => this.#keys.get(hash),
      ofRequest: (requestId) => this.#open.get(requestId)?.keyId,
      admittedAtMs: (requestId) => {
        const open = this.#open.get(requestId);
        return open && Number(open.admittedUs / 1_000n);
      },
    };
    const refused = await this.#counts.refused(commands, lookup, this.#settings, (batch) => this.#ask(batch));
    const placed = place(
      commands.filter((command) => !refused.has(command)),
      lookup,
    );
    const { batch } = placed;
    const decided = batch.keys.length === 0 ? NOTHING_DECIDED : await this.#ask(batch);
    const given = answersOf(placed, decided, this.#settings).values();
    const answers = commands.map((command) => refused.get(command) ?? given.next().value);
    for (const command of commands) await this.#settleLate(command, decided);
    for (const [index, command] of commands.entries()) {
      if (command.kind === 'configure') this.#settings = command.settings;
      else if (command.kind === 'forecast') answers[index] = await this.#withHeld(answers[index] as AdmissionForecast);
      else if (command.kind === 'snapshot') answers[index] = await this.#store.snapshot(command.keyIds, BUSIEST_KEYS);
    }
    // From here on the batch is decided.
    for (const [index, command] of commands.entries()) this.#follow(command, answers[index], decided);
    return answers;
  }

  /** What is held for a key and for all, as it is a moment after the decision. */
  async #withHeld(forecast: AdmissionForecast): Promise<AdmissionForecast> {
    if (forecast.kind === 'unknown') return forecast;
    const { standing } = forecast;
    return { ...forecast, standing: { ...standing, ...(await this.#store.heldFor(standing.keyId)) } };
  }

  /** Lets the database decide. Once its clock has stepped, it only ends requests for a minute. */
  async #ask(batch: Batch): Promise<Decided> {
    for (let sends = 1; sends <= MOST_SENDS; sends++) {
      const decided = await this.#send(batch);
      if (decided !== 'late') return decided;
    }
    throw new LateBatchError();
  }

  /** `late`: the batch was on its way for so long that nothing was decided. */
  async #send(batch: Batch): Promise<Decided | 'late'> {
    const asks = batch.asks.length > 0;
    const sentMs = this.#clock.monotonicMs();
    if (asks && this.#clockGuard.isClosed(sentMs)) throw new ClockStepError();
    try {
      const latestUs = asks ? this.#clockGuard.latestUs(sentMs) : null;
      const decided = await this.#store.decide(batch, this.#settings, latestUs);
      this.#clockGuard.saw(decided.atUs, sentMs);
      return decided;
    } catch (error) {
      const { code, detail: arrivedUs } = error as { code?: string; detail?: string };
      if (code !== CLOCK_STEPPED) throw error;
      if (arrivedUs !== undefined && !this.#clockGuard.isStep(BigInt(arrivedUs), this.#clock.monotonicMs()))
        return 'late';
      this.#clockGuard.close(sentMs);
      // It has stepped back: in a minute, decisions go on by the time that it shows now.
      if (arrivedUs === undefined) await this.#store.followClock();
      throw new ClockStepError();
    }
  }

  /** Settles a request whose hold was gone. */
  async #settleLate(command: Command, decided: Decided): Promise<void> {
    if (command.kind !== 'settle' || decided.ended.has(command.settlement.requestId)) return;
    const open = this.#open.get(command.settlement.requestId);
    await this.#store.settleLate(command.settlement, open);
  }

  /** Keeps account of the open requests. */
  #follow(command: Command, answer: Answer, { atUs }: Decided): void {
    this.#counts.follow(command, answer);
    if (command.kind === 'admit' && isAdmitted(command, answer)) {
      const { requestId, keyHash, model, holdNanos } = command.request;
      const { id: keyId } = this.#keys.get(keyHash) as KnownKey;
      this.#open.set(requestId, { keyId, model, admittedUs: atUs, holdNanos });
    } else if (command.kind === 'settle') {
      if (this.needsFlush) this.#settled.push(command.settlement.requestId);
      else this.#open.delete(command.settlement.requestId);
    }
  }

  async #learnKeys(commands: readonly Command[]): Promise<void> {
    const hashes = new Set(commands.map(hashOf).filter((hash) => hash !== undefined && !this.#keys.has(hash)));
    if (hashes.size === 0) return;
    if (this.#keys.size > MAX_KNOWN_KEYS) this.#keys.clear();
    for (const [hash, key] of await this.#store.keysByHash([...hashes] as string[])) this.#keys.set(hash, key);
  }

  #doubt(commands: readonly Command[]): void {
    for (const command of commands) {
      if (command.kind !== 'admit') continue;
      this.#doubtful.add(command.request.requestId);
      this.#open.delete(command.request.requestId);
    }
  }

  /** Gives back admissions in doubt, and what another gateway has charged for them. */
  async #giveBack(): Promise<void> {
    if (this.#doubtful.size === 0) return;
    const ids = [...this.#doubtful];
    for (const requestId of await this.#store.giveBack(ids)) {
      await this.#store.settleLate({ ...NEVER_SENT, requestId }, undefined);
    }
    for (const id of ids) this.#doubtful.delete(id);
  }
}

/** The hash that a command names its key by. */
function hashOf(command: Command): string | undefined {
  if (command.kind === 'admit') return command.request.keyHash;
  return command.kind === 'identify' || command.kind === 'admit_listing' ? command.keyHash : undefined;
}

/** Connects to the database and joins the gateways there. Throws a UserError. */
export async function openSharedEngine(
  address: PostgresAddress,
  node: NodeIdentity,
  options: LedgerOptions,
  events: EngineEvents,
): Promise<SharedEngine> {
  return new SharedEngine(await SharedLedgerStore.open(address, node, events), options, systemClock);
}
