/** The engine of a ledger whose state many gateways share: the database orders what they ask, and each decides all of it. */

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

/** The admissions given back that are remembered: what a backup has of older ones is charged as held. */
const MOST_GIVEN_BACK = 10_000;
/** All gateways wait for each other's batches. */
const MAX_BATCH = 128;
/** The time between two looks at the months of the journal. */
const PARTITIONS_MS = 3_600_000;
/** The number of journal rows that one step of retention drops. */
const RETENTION_ROWS = 1_000;
/** What is decided is written with the next batch; if none comes, after this. */
const WRITE_MS = 20;
/** What another gateway has decided and not written by then, this one writes: it is frozen, or gone. */
const ABANDONED_US = 1_000_000n;
/** A flush that was sent with a batch so long ago does not tell whether the others have taken this gateway for dead since. */
const FLUSH_TELLS_MS = 2_000;
/** The facts of keys that will be idle so soon are asked for again. */
const SOON_MS = 5_000;
/** The time between two looks at keys that nobody uses. */
const IDLE_MS = 10_000;

/** How a request ends that was never answered. */
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
/** What it says where entries are gone, and not only dropped: the database has another history. */
const LOST = 'lost';
/** SQLSTATE of what no gateway asks. */
const NONSENSE = 'IG901';

/** How often a batch is sent that comes so late that the clock may as well have stepped. */
const MOST_SENDS = 2;
/** How often a gateway reads of the log, 500 entries at once, until it gives a turn up and is not ready: 10,000 behind. */
const MOST_READS = 20;
/** How often a gateway begins anew before it gives up: others go on meanwhile. */
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
  /** Undefined until it is read from the database. */
  #replica: Replica | undefined;
  readonly #keys: KnownKeys;
  /** Admitted by this process. Stays until a flush after the settlement, which may have to be repeated. */
  readonly #open = new Map<string, OpenRequest>();
  /** Settled, but not flushed. */
  #settled: string[] = [];
  /** Admissions that may be in the database, but whose clients were told that they failed. */
  readonly #doubtful = new Set<string>();
  /** Admissions that were given back lately, the oldest first: a database that is restored may have them again. */
  readonly #givenBack = new Set<string>();
  /** Requests that this gateway had ended, and that are open again since the database has lost its last entries. */
  readonly #reopened = new Set<string>();
  /** The last entry that this gateway had followed of a log that has lost its end, until the state is read anew. */
  #lost: Place | undefined;
  /** The last entry of this gateway that somebody waits for, and when it was sent. */
  #awaited = { seq: 0n, sentMs: 0 };
  /** The last entry that is known to be on the disk: of what came after, nobody was promised anything. */
  #flushedSeq = 0n;
  /** Whether this gateway may have an entry in the log that it has not followed. */
  #isUnsure = false;
  /** The key of each count of tokens in flight here. */
  readonly #counts = new Map<string, string>();
  #partitionsAtMs = 0;
  #idleAtMs = 0;
  #appendedAtMs = 0;
  /** When the last answer of the database was asked for. */
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
      await this.#following();
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
        // Nobody knows whether the batch was committed.
        this.#isUnsure = true;
        this.#doubt(commands);
        throw error;
      } finally {
        this.#writeSoon();
      }
    });
  }

  /** A settlement is safe from a crash of the database only then, and so is an admission. Refusals take nothing. */
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
      if (this.#clock.monotonicMs() - sentMs > FLUSH_TELLS_MS) await this.#store.flushAnew();
      this.#sawFlushed(seq);
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

  /** Writes what was decided. */
  write(): Promise<void> {
    return this.#turns.run(async () => {
      const replica = await this.#following();
      if (this.#hasUnwritten(replica)) await this.#ask(NOTHING_ADDED);
    });
  }

  /** Once a second: follows the log, also while nobody asks for anything, and does for others what they cannot. */
  async beat(): Promise<void> {
    try {
      await this.#turns.run(async () => {
        if (this.#isClosed) return;
        if (performance.now() - this.#appendedAtMs > this.#writeMs) await this.#ask(NOTHING_ADDED);
        await this.#chargeReopened();
        const replica = await this.#following();
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
        // What is left to cut is cut with the next beat: a busy gateway adds more in ten seconds than is dropped at once.
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

  /** What fails that nobody waits for: nobody else would notice while nothing is asked here. */
  #report(error: unknown): void {
    const fault = this.faultOf(error);
    if (fault === undefined) throw error;
    if (!this.#isClosed) this.#events.onFault(fault);
  }

  /** The state, read anew if need be. */
  async #following(): Promise<Replica> {
    if (this.#replica === undefined) {
      const replica = await rebuild(this.#store.log);
      this.#store.seen = replica.place.seq;
      const strays = replica
        .requestsOf(this.#store.nodeId as number)
        .filter((requestId) => !this.#open.has(requestId) && !this.#doubtful.has(requestId));
      // Nobody here was told that these are admitted, unless their ends are among what is lost.
      const isLost = (id: string) => this.#lost !== undefined && !this.#givenBack.has(id);
      if (this.#lost !== undefined) await this.#tellOfLoss(this.#lost, replica, strays.filter(isLost).length);
      for (const id of strays) (isLost(id) ? this.#reopened : this.#doubtful).add(id);
      this.#lost = undefined;
      this.#replica = replica;
    }
    return this.#replica;
  }

  /** So is all before it: the log is in order. */
  #sawFlushed(seq: bigint): void {
    if (seq > this.#flushedSeq) this.#flushedSeq = seq;
  }

  /** Writes it down before anything else: were this gateway killed, nobody else might know. */
  async #tellOfLoss(lost: Place, replica: Replica, heldRequests: number): Promise<void> {
    const late = [...this.#open].filter(([requestId]) => replica.leaseOf(requestId) === undefined);
    const loss = {
      ...lost,
      // Where nobody waits for the disk, all that is committed is promised. A flush may have been in flight meanwhile.
      flushedSeq: this.needsFlush && this.#flushedSeq < lost.seq ? this.#flushedSeq : lost.seq,
      heldRequests,
      lateUs: late.map(([, { admittedUs }]) => admittedUs),
    };
    await this.#store.recordLoss(loss).catch((error: { code?: string }) => {
      // Its clock was ahead by more than the database takes: that is only logged.
      if (error.code !== NONSENSE) throw error;
    });
    this.#awaited = { seq: 0n, sentMs: 0 };
    this.#flushedSeq = 0n;
    this.#events.onLostLog(lost.seq, heldRequests);
  }

  /** Follows the log. If this gateway has come to another state than the others, it begins anew. */
  #follow<T>(replica: Replica, work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.#replica = undefined;
      // Whatever does not fit the state shows that it is another one.
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
    // Keys that nobody had the facts of although they seemed to.
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

  /** Returns those that have to be asked again. */
  async #answerSome(
    commands: readonly Command[],
    indices: readonly number[],
    answers: Answer[],
    missing: ReadonlySet<string>,
  ): Promise<number[]> {
    let replica = await this.#following();
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
    const again = this.#give(commands, placed, decided, answers, appended.atUs as bigint);
    const late = [...placed.late, ...placed.ends.filter((index) => answers[index] === undefined)];
    await this.#settleLate(commands, late, answers);
    return [...again, ...this.#finish(commands, placed, answers, replica)];
  }

  /** Answers to the commands of the entry. Returns those that could not be decided. */
  #give(
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
      if (answers[index] !== undefined) this.#ended(settlement.requestId);
    }
    for (const [position, index] of placed.growths.entries()) {
      answers[index] = decided.growths[position] ?? TAKEN_FOR_DEAD;
    }
    for (const [position, index] of placed.questions.entries()) {
      const answer = decided.questions[position];
      if (answer === 'void') again.push(index);
      else {
        answers[index] = this.#admitted(commands[index] as Command, answer, atUs);
        if (isAdmitted(commands[index] as Command, answer)) admissions++;
      }
    }
    this.#store.count(admissions, tokens);
    return again;
  }

  /** Keeps account of what is open here. */
  #admitted(command: Command, answer: Answer, atUs: bigint): Answer {
    const replica = this.#replica as Replica;
    if (isCountBegun(command, answer)) this.#counts.set(command.countId, this.#keys.of(command) as string);
    if (command.kind !== 'admit' || !isAdmitted(command, answer)) return answer;
    const { requestId, model, holdNanos, fallbacks } = command.request;
    const keyId = this.#keys.of(command) as string;
    const levels = replica.leaseOf(requestId)?.hold.levels;
    this.#open.set(requestId, { keyId, model, admittedUs: atUs, holdNanos, levels });
    // Its batch may be a repetition, after one that was given back.
    this.#givenBack.delete(requestId);
    if (fallbacks === undefined) return answer;
    const allowed = fallbacks.filter((id) => replica.facts.allows(keyId, id));
    return { ...(answer as Admission), fallbacks: allowed } as Answer;
  }

  #ended(requestId: string): void {
    if (this.needsFlush) this.#settled.push(requestId);
    else this.#open.delete(requestId);
  }

  /** Answers what takes nothing. */
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

  /** Settles requests whose holds are gone: this gateway was taken for dead, or the database has lost them. */
  async #settleLate(commands: readonly Command[], indices: readonly number[], answers: Answer[]): Promise<void> {
    for (const index of indices) {
      const { settlement } = commands[index] as Extract<Command, { kind: 'settle' }>;
      const open = this.#open.get(settlement.requestId) as OpenRequest;
      await this.#store.settleLate(settlement, open).catch((error: { code?: string }) => {
        if (error.code !== NONSENSE) throw error;
        this.#events.onUncharged(settlement.requestId);
      });
      this.#ended(settlement.requestId);
      answers[index] = (this.#replica as Replica).figuresOf(open.keyId, this.#settings);
    }
  }

  /** Adds to the log once it has followed it, in bounded steps. Once the clock has stepped, only ends requests for a minute. */
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
   * `late`: it was on its way for so long that nothing was added. `anew`: the database has lost its last entries, or has
   * dropped some that this gateway has not seen, and it begins anew.
   */
  async #append(addition: Addition): Promise<Appended | 'late' | 'anew'> {
    const replica = await this.#following();
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
      // It has stepped back: in a minute, decisions go on by the time that it shows now.
      if (detail === undefined) await this.#store.followClock();
      throw new ClockStepError();
    }
  }

  /**
   * Applies what others have asked before. `seenSeq`: what it had followed when it asked; `writtenSeq`: what it has
   * written with its addition.
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
        // Whatever no gateway asks, an operator's edit for one, is seen by others only once it is on the disk.
        if (entry[2] === 0) this.#sawFlushed(BigInt(entry[0]));
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

  /** Ends what no client waits for. */
  async #clearUp(): Promise<void> {
    await this.#giveBack();
    await this.#chargeReopened();
  }

  /** Charges as held what this gateway has ended, where that is lost: what its host has done is not undone by that. */
  async #chargeReopened(): Promise<void> {
    while (this.#reopened.size > 0) {
      const replica = await this.#following();
      const ids = [...this.#reopened].slice(0, MAX_BATCH);
      const holds = ids.filter((id) => replica.leaseOf(id) !== undefined).map((id) => replica.holdOf(id));
      for (const hold of holds) this.#open.set(hold.requestId, hold);
      await this.#answer(holds.map((hold) => ({ kind: 'settle', settlement: chargedAsHeld(hold) })));
      for (const id of ids) this.#reopened.delete(id);
    }
  }

  /** Gives back admissions in doubt, and what another gateway has charged for them. */
  async #giveBack(): Promise<void> {
    if (this.#doubtful.size === 0 && !this.#isUnsure) return;
    // What was in doubt is in the log, if anywhere.
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
