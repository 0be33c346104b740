/**
 * The engine for a state in PostgreSQL: the database orders the commands of all gateways in one log, and every gateway
 * decides every entry of it.
 */

import { type Clock, systemClock } from '../../core/clock.ts';
import { InvariantError, invariant } from '../../core/invariant.ts';
import type { PostgresAddress } from '../../core/postgres-address.ts';
import type { Settlement } from '../../core/settlement.ts';
import { ownerOf, userStoredAs } from '../../state/levels.ts';
import { type Addition, isAwaited, NOTHING_ADDED } from '../../state/postgres/batch.ts';
import { type Appended, type OpenRequest, type Place, SharedLedgerStore } from '../../state/postgres/ledger-store.ts';
import type { StorageFault } from '../../state/storage-fault.ts';
import { checkCommand } from '../checks.ts';
import type { Engine, EngineEvents } from '../engine.ts';
import type { Admission, LedgerOptions, LedgerSettings, LedgerSummary, NodeIdentity } from '../ledger.ts';
import { chargedAsHeld } from '../local/recovery.ts';
import { type Answer, type Command, isAdmitted, isCountBegun } from '../protocol.ts';
import { RefusalCounts } from '../refusal-counts.ts';
import { ClockGuard } from './clock-guard.ts';
import { type EntryCommands, encode } from './entry.ts';
import type { FactsRow } from './facts.ts';
import {
  BEHIND_FAULT,
  BehindError,
  CLOCK_FAULT,
  ClockStepError,
  DIFFERENCE_FAULT,
  LATE_FAULT,
  LateBatchError,
  UnheardError,
} from './faults.ts';
import { KnownKeys } from './known-keys.ts';
import { askerIn, type Placed, place } from './place.ts';
import { completeOthers, rebuild } from './rebuild.ts';
import { DifferenceError, type EntryAnswers, type Replica } from './replica.ts';
import { RULES } from './rules.ts';
import { Turns } from './turns.ts';

/** Bounds the memory of released admissions. If a restored database reopens an older one, it is charged as held. */
const MOST_GIVEN_BACK = 10_000;
/** Maximum commands per batch. Bounded because every gateway has to apply the batches of all others. */
const MAX_BATCH = 128;
/** Interval between two checks for missing monthly partitions of the journal. */
const PARTITIONS_MS = 3_600_000;
/** Maximum journal rows that one retention step drops. */
const RETENTION_ROWS = 1_000;
/** Decisions are written with the next batch, or after this delay if no batch follows. */
const WRITE_MS = 20;
/** Age after which this gateway writes the pending decisions of another one, which is then frozen or dead. */
const ABANDONED_US = 1_000_000n;
/**
 * If the flush was sent with a batch this long ago, a new one has to confirm that the other gateways have not declared
 * this one dead since.
 */
const FLUSH_CONFIRMS_MS = 2_000;
/**
 * The facts of keys due to become idle within this time are requested again: the entry may get a later timestamp than
 * expected.
 */
const SOON_MS = 5_000;
/** Interval between two removals of idle keys. */
const IDLE_MS = 10_000;

/** The settlement of a request whose admission was reported to the client as failed. */
const NEVER_SENT: Omit<Settlement, 'requestId'> = {
  outcome: 'internal_error',
  usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
  source: 'counted',
  costNanos: 0n,
  completionId: undefined,
  firstByteMs: undefined,
};

/** SQLSTATEs of `append`. */
const CLOCK_STEPPED = 'IG003';
const OTHER_LOG = 'IG004';
/**
 * The error detail if the database has lost entries, for example because it was restored from a backup. Trimming the
 * log gives another detail.
 */
const LOST = 'lost';
/** SQLSTATE for arguments that a correct gateway never sends. */
const NONSENSE = 'IG901';

/**
 * Maximum attempts for a batch that arrives too late. A slow batch looks like a step of the clock, so it is not
 * decided.
 */
const MOST_SENDS = 2;
/**
 * Maximum reads of the log per turn, 500 entries each. A gateway more than 10,000 entries behind fails the turn and is
 * not ready.
 */
const MOST_READS = 20;
/** Maximum rebuilds per turn. Other gateways keep appending, so an unlucky gateway may need more than one. */
const MOST_REBUILDS = 10;

const NO_FACTS: ReadonlySet<string> = new Set();

type SharedEvents = Pick<EngineEvents, 'onFault' | 'onDifference' | 'onNonsense' | 'onLostLog' | 'onUncharged'>;

export class SharedEngine implements Engine {
  readonly maxBatch = MAX_BATCH;
  readonly needsFlush: boolean;
  readonly #store: SharedLedgerStore;
  #settings: LedgerSettings;
  readonly #clock: Clock;
  readonly #events: SharedEvents;
  readonly #writeMs: number;
  readonly #refusals = new RefusalCounts();
  /** Undefined until the state is loaded from the database. */
  #replica: Replica | undefined;
  readonly #keys: KnownKeys;
  /**
   * Requests admitted by this process. A request stays until its settlement is flushed, because the settlement may have
   * to be repeated.
   */
  readonly #open = new Map<string, OpenRequest>();
  /** Settled requests whose settlement is not flushed. */
  #settled: string[] = [];
  /** Admissions reported as failed to their clients, although the batch may have been committed. */
  readonly #doubtful = new Set<string>();
  /** Recently released admissions, oldest first. A restored database may contain them as open again. */
  readonly #givenBack = new Set<string>();
  /** Requests settled here and open again, because the database has lost the settlement. */
  readonly #reopened = new Set<string>();
  /** The last entry applied before the database lost the end of its log. Cleared by the rebuild. */
  #lost: Place | undefined;
  /** The last entry of this gateway with a client waiting for its flush, and the time it was sent. */
  #awaited = { seq: 0n, sentMs: 0 };
  /** The last entry known to be on disk. No client has received an answer that depends on a later one. */
  #flushedSeq = 0n;
  /**
   * Whether the log may contain an entry of this gateway that it has not applied, because an append failed with unknown
   * outcome.
   */
  #isUnsure = false;
  /** The key of each token count in flight at this gateway. */
  readonly #counts = new Map<string, string>();
  #partitionsAtMs = 0;
  #idleAtMs = 0;
  #appendedAtMs = 0;
  /** The send time of the last request that the database answered. */
  #heardMs = 0;
  readonly #clockGuard = new ClockGuard();
  readonly #turns = new Turns((error) => this.faultOf(error)?.kind === 'busy');
  #writeTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(
    store: SharedLedgerStore,
    options: LedgerOptions,
    clock: Clock,
    events: SharedEvents,
    writeMs = WRITE_MS,
  ) {
    this.#writeMs = writeMs;
    this.#store = store;
    this.#keys = new KnownKeys(store);
    this.#settings = options;
    this.#clock = clock;
    this.#events = events;
    this.needsFlush = options.durability === 'full';
  }

  recover(): Promise<LedgerSummary> {
    return this.#turns.run(async () => {
      await this.#currentReplica();
      return this.#store.summary();
    });
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
    clearTimeout(this.#writeTimer);
    return this.#turns.run(async () => {
      await this.#clearUp();
      await this.#keys.learn(commands);
      try {
        return await this.#answer(commands);
      } catch (error) {
        // The batch may or may not have been committed.
        this.#isUnsure = true;
        this.#doubt(commands);
        throw error;
      } finally {
        this.#writeSoon();
      }
    });
  }

  /**
   * A commit alone may be lost in a crash of the database, so settlements, growths and admissions wait for the flush.
   * Refusals take no resources, so they do not.
   */
  waitsForFlush(command: Command, answer: Answer): boolean {
    return command.kind === 'settle' || command.kind === 'grow' || isAdmitted(command, answer);
  }

  isFlushedAtOnce(): boolean {
    return false;
  }

  async flush(): Promise<void> {
    const settled = this.#settled;
    this.#settled = [];
    const { seq, sentMs } = this.#awaited;
    try {
      await this.#store.flush();
      if (this.#clock.monotonicMs() - sentMs > FLUSH_CONFIRMS_MS) await this.#store.flushAnew();
      this.#markFlushed(seq);
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
    const keptMs = this.journalRetentionMs;
    const isMore =
      keptMs !== undefined && (await this.#store.dropOldRows(this.#clock.wallMs() - keptMs, RETENTION_ROWS));
    return (await this.#store.dropIdleUsers(RETENTION_ROWS)) || isMore;
  }

  async maintain(): Promise<void> {
    if (this.#doubtful.size + this.#reopened.size > 0 || this.#isUnsure) await this.#turns.run(() => this.#clearUp());
    if (this.#clock.monotonicMs() < this.#partitionsAtMs) return;
    await this.#store.makePartitions();
    this.#partitionsAtMs = this.#clock.monotonicMs() + PARTITIONS_MS;
  }

  get fault(): StorageFault | undefined {
    return this.#clockGuard.isClosed(this.#clock.monotonicMs()) ? CLOCK_FAULT : this.#store.unheard;
  }

  async probe(): Promise<void> {
    await this.#store.probe();
    await this.#turns.run(async () => {
      await this.#clearUp();
      await this.#ask(NOTHING_ADDED);
    });
  }

  faultOf(error: unknown): StorageFault | undefined {
    if (error instanceof ClockStepError) return CLOCK_FAULT;
    if (error instanceof LateBatchError) return LATE_FAULT;
    if (error instanceof BehindError) return BEHIND_FAULT;
    if (error instanceof DifferenceError) return DIFFERENCE_FAULT;
    if (error instanceof UnheardError) return error.fault;
    return this.#store.faultOf(error);
  }

  /** Writes the pending decisions of this gateway. */
  write(): Promise<void> {
    return this.#turns.run(async () => {
      const replica = await this.#currentReplica();
      if (this.#hasUnwritten(replica)) await this.#ask(NOTHING_ADDED);
    });
  }

  /**
   * Runs once a second. Applies new log entries, even while this gateway is idle, and writes the pending decisions of
   * unresponsive gateways.
   */
  async beat(): Promise<void> {
    try {
      await this.#turns.run(async () => {
        if (this.#isClosed) return;
        if (performance.now() - this.#appendedAtMs > this.#writeMs) await this.#ask(NOTHING_ADDED);
        await this.#chargeReopened();
        const replica = await this.#currentReplica();
        const { nodeId: own, log } = this.#store;
        for (const { seq, nodeId } of replica.takeNonsense()) {
          this.#events.onNonsense(seq, nodeId);
          await log.shutOut(seq);
        }
        for (const [nodeId, decided] of replica.unwritten(own, ABANDONED_US)) {
          await log.writeFor(nodeId, decided, replica.place.seq, replica.recordFor(undefined));
          replica.isWritten(nodeId, decided.seq);
        }
        if (performance.now() < this.#idleAtMs) return;
        replica.dropIdle();
        // If the log is still too long, the next beat continues: a busy gateway can append more in ten seconds than one
        // step trims.
        if (!(await this.#store.cutLog())) this.#idleAtMs = performance.now() + IDLE_MS;
      });
    } catch (error) {
      this.#report(error);
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#writeTimer);
    await this.write().catch(() => {});
    this.#isClosed = true;
    await this.#turns.end();
    await this.#store.close();
  }

  /** Reports a failure of background work, which no client would notice while this gateway is idle. */
  #report(error: unknown): void {
    const fault = this.faultOf(error);
    if (fault === undefined) throw error;
    if (!this.#isClosed) this.#events.onFault(fault);
  }

  /** Returns the replica. Rebuilds it from the database if it was discarded. */
  async #currentReplica(): Promise<Replica> {
    if (this.#replica === undefined) {
      const replica = await rebuild(this.#store.log);
      this.#store.seen = replica.place.seq;
      const strays = replica
        .requestsOf(this.#store.nodeId as number)
        .filter((requestId) => !this.#open.has(requestId) && !this.#doubtful.has(requestId));
      // Open requests of this gateway that it does not know. Clients got no admission for them, unless the database has
      // lost their settlements.
      const isLost = (id: string) => this.#lost !== undefined && !this.#givenBack.has(id);
      if (this.#lost !== undefined) await this.#recordLoss(this.#lost, replica, strays.filter(isLost).length);
      for (const id of strays) (isLost(id) ? this.#reopened : this.#doubtful).add(id);
      this.#lost = undefined;
      this.#replica = replica;
    }
    return this.#replica;
  }

  /** Entries reach the disk in log order, so all earlier ones are flushed, too. */
  #markFlushed(seq: bigint): void {
    if (seq > this.#flushedSeq) this.#flushedSeq = seq;
  }

  /**
   * Records the loss in the database first: if this gateway is killed afterwards, it may have been the only one to
   * know.
   */
  async #recordLoss(lost: Place, replica: Replica, heldRequests: number): Promise<void> {
    const late = [...this.#open].filter(([requestId]) => replica.leaseOf(requestId) === undefined);
    const loss = {
      ...lost,
      // Without flushes, every committed entry was promised to clients. A flush may also have been in flight during the
      // loss.
      flushedSeq: this.needsFlush && this.#flushedSeq < lost.seq ? this.#flushedSeq : lost.seq,
      heldRequests,
      lateUs: late.map(([, { admittedUs }]) => admittedUs),
    };
    await this.#store.recordLoss(loss).catch((error: { code?: string }) => {
      // The entry's time is further in the future than the database accepts. The loss is then only logged.
      if (error.code !== NONSENSE) throw error;
    });
    this.#awaited = { seq: 0n, sentMs: 0 };
    this.#flushedSeq = 0n;
    this.#events.onLostLog(lost.seq, heldRequests);
  }

  /** Applies entries. If the state diverges from the log, discards the replica, so that the next turn rebuilds it. */
  #follow<T>(replica: Replica, work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.#replica = undefined;
      // A broken invariant means that the state has diverged, too.
      if (!(error instanceof DifferenceError || error instanceof InvariantError)) throw error;
      this.#events.onDifference(replica.place.seq);
      throw new DifferenceError(error.message);
    } finally {
      this.#store.seen = replica.place.seq;
    }
  }

  #hasUnwritten(replica: Replica | undefined): boolean {
    const { nodeId } = this.#store;
    return nodeId !== undefined && replica?.hasUnwritten(nodeId) === true;
  }

  #writeSoon(): void {
    if (this.#isClosed || !this.#hasUnwritten(this.#replica)) return;
    clearTimeout(this.#writeTimer);
    this.#writeTimer = setTimeout(() => {
      void this.write().catch((error) => this.#report(error));
    }, this.#writeMs).unref();
  }

  async #answer(commands: readonly Command[]): Promise<Answer[]> {
    const answers: Answer[] = new Array(commands.length).fill(undefined);
    let left = [...commands.keys()];
    // Keys whose facts were missing at the entry, although this gateway expected all gateways to have them.
    let missing = NO_FACTS;
    for (let turn = 0; ; turn++) {
      invariant(turn < 8, () => 'a key is never known');
      left = await this.#answerSome(commands, left, answers, missing);
      if (left.length === 0) return answers;
      missing = new Set(
        left.map((index) => askerIn(commands[index] as Command, this.#keys.of(commands[index] as Command) as string)),
      );
      const asked = left.map((index) => commands[index] as Command);
      await this.#keys.learnAgain(asked);
    }
  }

  /** Returns the indices of commands to ask again. */
  async #answerSome(
    commands: readonly Command[],
    indices: readonly number[],
    answers: Answer[],
    missing: ReadonlySet<string>,
  ): Promise<number[]> {
    let replica = await this.#currentReplica();
    const placed = place(commands, indices, {
      keyOf: (command) => this.#keys.of(command),
      countsOf: (keyId) => [...this.#counts.values()].filter((each) => each === keyId).length,
      open: (requestId) => this.#open.get(requestId),
      reserved: (requestId) => replica.leaseOf(requestId),
    });
    if (placed.isTrivial) return this.#finish(commands, placed, answers, replica);
    const entry: EntryCommands = { ...placed.entry, tier: this.#settings };
    const laterMs = this.#clock.monotonicMs() - this.#heardMs + SOON_MS;
    const keyIds = placed.keyIds.filter((id) => {
      const { ownerId, stored } = ownerOf(id) ?? { ownerId: id };
      return missing.has(id) || !replica.isKnown(ownerId, stored && userStoredAs(stored), laterMs);
    });
    const isEmpty = placed.isEmpty;
    const addition: Addition = {
      ...NOTHING_ADDED,
      commands: isEmpty ? undefined : encode(entry),
      decides: placed.decides,
      writes: entry.questions.length + entry.growths.length > 0,
      keyIds,
      freed: entry.freed,
      settlements: placed.settlements,
    };
    const appended = await this.#ask(addition);
    replica = this.#replica as Replica;
    const facts = appended.facts === null ? null : (JSON.parse(appended.facts) as FactsRow[]);
    if (isEmpty) {
      if (facts !== null) replica.facts.take(facts);
      await this.#settleLate(commands, placed.late, answers);
      return this.#finish(commands, placed, answers, replica);
    }
    const nodeId = this.#store.nodeId as number;
    const decided = this.#follow(replica, () =>
      replica.decide(appended.seq, appended.atUs as bigint, nodeId, entry, facts),
    );
    const again = this.#answerEntry(commands, placed, decided, answers, appended.atUs as bigint);
    const late = [...placed.late, ...placed.ends.filter((index) => answers[index] === undefined)];
    await this.#settleLate(commands, late, answers);
    return [...again, ...this.#finish(commands, placed, answers, replica)];
  }

  /** Answers the commands of the entry. Returns the indices of commands left undecided because facts were missing. */
  #answerEntry(
    commands: readonly Command[],
    placed: Placed,
    decided: EntryAnswers,
    answers: Answer[],
    atUs: bigint,
  ): number[] {
    let [admissions, tokens] = [0, 0];
    const again: number[] = [];
    for (const [position, index] of placed.ends.entries()) {
      answers[index] = decided.ends[position];
      const { settlement } = commands[index] as Extract<Command, { kind: 'settle' }>;
      tokens += settlement.usage.promptTokens + settlement.usage.completionTokens;
      if (answers[index] !== undefined) this.#markEnded(settlement.requestId);
    }
    for (const [position, index] of placed.growths.entries()) {
      answers[index] = decided.growths[position] ?? TAKEN_FOR_DEAD;
    }
    for (const [position, index] of placed.questions.entries()) {
      const answer = decided.questions[position];
      if (answer === 'void') again.push(index);
      else {
        answers[index] = this.#trackAdmission(commands[index] as Command, answer, atUs);
        if (isAdmitted(commands[index] as Command, answer)) admissions++;
      }
    }
    this.#store.count(admissions, tokens);
    return again;
  }

  /** Tracks the admitted request or token count as open at this gateway. */
  #trackAdmission(command: Command, answer: Answer, atUs: bigint): Answer {
    const replica = this.#replica as Replica;
    if (isCountBegun(command, answer)) this.#counts.set(command.countId, this.#keys.of(command) as string);
    if (command.kind !== 'admit' || !isAdmitted(command, answer)) return answer;
    const { requestId, model, holdNanos, fallbacks } = command.request;
    const keyId = this.#keys.of(command) as string;
    const levels = replica.leaseOf(requestId)?.hold.levels;
    this.#open.set(requestId, { keyId, model, admittedUs: atUs, holdNanos, levels });
    // The batch may repeat an earlier one, whose admissions were released.
    this.#givenBack.delete(requestId);
    if (fallbacks === undefined) return answer;
    const allowed = fallbacks.filter((id) => replica.facts.allows(keyId, id));
    return { ...(answer as Admission), fallbacks: allowed } as Answer;
  }

  #markEnded(requestId: string): void {
    if (this.needsFlush) this.#settled.push(requestId);
    else this.#open.delete(requestId);
  }

  /** Answers the commands that take no resources. */
  #finish(commands: readonly Command[], { others }: Placed, answers: Answer[], replica: Replica): never[] {
    for (const index of others) {
      const command = commands[index] as Command;
      if (command.kind === 'configure') this.#settings = command.settings;
      else if (command.kind === 'end_count') this.#counts.delete(command.countId);
      else if (command.kind !== 'count_refusal')
        answers[index] = replica.answer(command, this.#keys.of(command), this.#settings);
    }
    return [];
  }

  /**
   * Settles requests whose holds are gone: the other gateways declared this one dead and charged them as held, or the
   * database lost them.
   */
  async #settleLate(commands: readonly Command[], indices: readonly number[], answers: Answer[]): Promise<void> {
    for (const index of indices) {
      const { settlement } = commands[index] as Extract<Command, { kind: 'settle' }>;
      const open = this.#open.get(settlement.requestId) as OpenRequest;
      await this.#store.settleLate(settlement, open).catch((error: { code?: string }) => {
        if (error.code !== NONSENSE) throw error;
        this.#events.onUncharged(settlement.requestId);
      });
      this.#markEnded(settlement.requestId);
      answers[index] = (this.#replica as Replica).figuresOf(open.keyId, this.#settings);
    }
  }

  /**
   * Appends to the log, after applying all earlier entries in bounded steps. For a minute after a step of the clock,
   * batches with admissions fail; settlements and growths still pass.
   */
  async #ask(addition: Addition): Promise<Appended> {
    let [sends, rebuilds, reads] = [0, 0, 0];
    while (sends < MOST_SENDS) {
      const appended = await this.#append(addition);
      if (appended === 'late') sends++;
      else if (appended === 'anew') invariant(++rebuilds < MOST_REBUILDS, () => 'the log cannot be followed');
      else if (appended.atUs !== undefined) return appended;
      else if (++reads === MOST_READS) throw new BehindError();
    }
    throw new LateBatchError();
  }

  /**
   * Appends once. `late`: the batch took so long that the database rejected it. `anew`: the database has lost its last
   * entries, or has trimmed entries before this gateway read them; the replica is discarded.
   */
  async #append(addition: Addition): Promise<Appended | 'late' | 'anew'> {
    const replica = await this.#currentReplica();
    const { decides } = addition;
    const sentMs = this.#clock.monotonicMs();
    if (decides && this.#clockGuard.isClosed(sentMs)) throw new ClockStepError();
    if (decides && this.#store.unheard !== undefined) throw new UnheardError(this.#store.unheard);
    const { nodeId } = this.#store;
    const decided = nodeId === undefined ? undefined : replica.unwrittenOf(nodeId);
    const { place } = replica;
    try {
      const latestUs = decides ? this.#clockGuard.latestUs(sentMs) : null;
      const recorded = replica.recordFor(nodeId);
      const appended = await this.#store.append({ ...addition, decided, recorded }, place, latestUs, this.needsFlush);
      this.#appendedAtMs = performance.now();
      this.#heardMs = sentMs;
      if (appended.atUs !== undefined && isAwaited(addition)) this.#awaited = { seq: appended.seq, sentMs };
      if (appended.atUs !== undefined) this.#clockGuard.saw(appended.atUs, sentMs);
      this.#followEntries(replica, place.seq, appended, addition.commands !== undefined, decided?.seq);
      if (appended.atUs !== undefined) this.#isUnsure = false;
      return appended;
    } catch (error) {
      const { code, detail } = error as { code?: string; detail?: string };
      if (code === OTHER_LOG) {
        this.#replica = undefined;
        if (detail === LOST) this.#lost = place;
        return 'anew';
      }
      if (code !== CLOCK_STEPPED) throw error;
      if (detail !== undefined && !this.#clockGuard.isStep(BigInt(detail), this.#clock.monotonicMs())) return 'late';
      this.#clockGuard.close(sentMs);
      // The clock has stepped back. After a minute, decisions continue by its new time.
      if (detail === undefined) await this.#store.followClock();
      throw new ClockStepError();
    }
  }

  /**
   * Applies the entries before the appended one. `seenSeq`: the last entry applied before the append. `writtenSeq`: the
   * entry whose decisions were written with the append.
   */
  #followEntries(
    replica: Replica,
    seenSeq: bigint,
    appended: Appended,
    hasCommands: boolean,
    writtenSeq: bigint | undefined,
  ): void {
    this.#follow(replica, () => {
      for (const entry of appended.entries) {
        replica.follow(entry);
        // Changes by the database, such as an operator's edit, become visible only once they are on disk.
        if (entry[2] === 0) this.#markFlushed(BigInt(entry[0]));
      }
      if (appended.atUs === undefined) return;
      if (appended.seq > replica.place.seq) replica.isRecorded(seenSeq);
      if (writtenSeq !== undefined) replica.isWritten(this.#store.nodeId as number, writtenSeq);
      if (hasCommands) return;
      if (appended.seq > replica.place.seq) replica.pass(appended.seq, appended.atUs);
      else replica.tick(appended.atUs);
    });
  }

  #doubt(commands: readonly Command[]): void {
    for (const command of commands) {
      if (command.kind !== 'admit') continue;
      this.#doubtful.add(command.request.requestId);
      this.#open.delete(command.request.requestId);
    }
  }

  /** Ends requests without a waiting client. */
  async #clearUp(): Promise<void> {
    await this.#giveBack();
    await this.#chargeReopened();
  }

  /** Charges requests as held whose settlement the database has lost: the host has done the work regardless. */
  async #chargeReopened(): Promise<void> {
    while (this.#reopened.size > 0) {
      const replica = await this.#currentReplica();
      const ids = [...this.#reopened].slice(0, MAX_BATCH);
      const holds = ids.filter((id) => replica.leaseOf(id) !== undefined).map((id) => replica.holdOf(id));
      for (const hold of holds) this.#open.set(hold.requestId, hold);
      await this.#answer(holds.map((hold) => ({ kind: 'settle', settlement: chargedAsHeld(hold) })));
      for (const id of ids) this.#reopened.delete(id);
    }
  }

  /** Releases admissions in doubt, and refunds the charge if another gateway has already charged them as held. */
  async #giveBack(): Promise<void> {
    if (this.#doubtful.size === 0 && !this.#isUnsure) return;
    // An append applies all earlier entries, so afterwards the replica has every admission in doubt that was committed.
    await this.#ask(NOTHING_ADDED);
    const ids = [...this.#doubtful];
    let replica = this.#replica as Replica;
    const givenBack = ids.filter((id) => replica.leaseOf(id) !== undefined).map((id) => replica.holdOf(id));
    if (givenBack.length > 0) {
      const entry = { tier: this.#settings, ends: [], freed: [], givenBack, growths: [], questions: [] };
      const requestIds = givenBack.map(({ requestId }) => requestId);
      const appended = await this.#ask({ ...NOTHING_ADDED, commands: encode(entry), givenBack: requestIds });
      replica = this.#replica as Replica;
      this.#follow(replica, () =>
        replica.decide(appended.seq, appended.atUs as bigint, this.#store.nodeId as number, entry, null),
      );
    }
    for (const requestId of await this.#store.ended(ids)) {
      await this.#store.settleLate({ ...NEVER_SENT, requestId }, undefined);
    }
    for (const id of ids) {
      this.#doubtful.delete(id);
      this.#givenBack.add(id);
    }
    for (const oldest of this.#givenBack) {
      if (this.#givenBack.size <= MOST_GIVEN_BACK) break;
      this.#givenBack.delete(oldest);
    }
  }
}

const TAKEN_FOR_DEAD: Answer = {
  unavailable: 'this gateway was taken for dead while the request ran, and its hold was charged',
};

/** Connects to the database and joins the gateways there. Throws a UserError. */
export async function openSharedEngine(
  address: PostgresAddress,
  node: NodeIdentity,
  options: LedgerOptions,
  events: EngineEvents,
): Promise<SharedEngine> {
  let engine: SharedEngine | undefined;
  const onBeat = () => void engine?.beat();
  const store = await SharedLedgerStore.open(address, { ...node, rules: RULES }, { ...events, onBeat }, completeOthers);
  engine = new SharedEngine(store, options, systemClock, events);
  return engine;
}
