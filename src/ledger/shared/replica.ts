/**
 * A replica of the ledger's state. Every gateway applies every log entry, in log order and at the time recorded in the
 * log, so all gateways reach the same decisions.
 */
import { type Clock, utcMonth } from '../../core/clock.ts';
import { levelIdsOf, ownerOf } from '../../state/levels.ts';
import type { Decided, DecidedHold, GrownHold } from '../../state/postgres/batch.ts';
import type { EntryRow, Rebuilt } from '../../state/postgres/log.ts';
import type { Admission, Grant, LedgerSettings, ListingAdmission } from '../ledger.ts';
import type { Lease } from '../local/activity.ts';
import { Decisions } from '../local/decisions.ts';
import type { Answer, Command } from '../protocol.ts';
import { beginningOf, type Change, handoverOf, listedIn } from './beginning.ts';
import { Digest } from './digest.ts';
import { decode, type EntryCommands, NonsenseError, type Question, type Tier, userIn } from './entry.ts';
import type { Facts, FactsRow } from './facts.ts';

/** The state has diverged from the log, or an entry is missing. The gateway has to rebuild its replica. */
export class DifferenceError extends Error {}

/** The answers to the commands of an entry, in order. Undefined for requests no longer open. */
export interface EntryAnswers {
  readonly ends: readonly Answer[];
  readonly growths: readonly (Grant | undefined)[];
  /** `void` if no gateway could decide, because the facts of the key were missing. */
  readonly questions: readonly (Admission | ListingAdmission | 'void')[];
}

/** The maximum of a 64-bit integer column. */
const MOST_NANOS = 2n ** 63n - 1n;

/**
 * The time of the current log entry. Conversions are done once per entry, because decisions read the clock several
 * times per request.
 */
class LogClock implements Clock {
  #us = 0n;
  #wallMs = 0;
  #monotonicMs = 0;

  get us(): bigint {
    return this.#us;
  }

  set us(us: bigint) {
    this.#us = us;
    this.#monotonicMs = Number(us) / 1_000;
    this.#wallMs = Math.floor(this.#monotonicMs);
  }

  wallMs(): number {
    return this.#wallMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }
}

const NO_LIMITS: LedgerSettings = {
  rpm: 0,
  tpm: 0,
  concurrency: 0,
  modelsRpm: 0,
  creditEnforced: false,
  journalRetentionMs: undefined,
};

const NONE_GIVEN: ReadonlySet<string> = new Set();

type Writable<T> = { -readonly [Name in keyof T]: T[Name] extends readonly (infer Each)[] ? Each[] : never };
/** The answers to an entry, under construction. */
type Collected = Writable<EntryAnswers>;

/** The pending effects of a decided entry. `holds` is lazy, because usually another gateway writes them. */
interface Unwritten extends Omit<Decided, 'holds'> {
  readonly atUs: bigint;
  readonly holds: () => readonly DecidedHold[];
}

export class Replica {
  readonly facts: Facts;
  readonly #clock = new LogClock();
  readonly #decisions: Decisions;
  #tier: Tier = NO_LIMITS;
  /** The version of the admission rules in force. */
  #rules: number;
  #seq: bigint;
  /** The time of the last entry. The log compares it to detect a restored database with a reused sequence number. */
  #entryUs: bigint;
  /** The open requests by gateway. */
  readonly #requests = new Map<number, Set<string>>();
  /** The effects of the last entry of each gateway, until they are written to the tables. */
  readonly #unwritten = new Map<number, Unwritten>();
  /** Malformed entries to report. */
  #nonsense: { readonly seq: bigint; readonly nodeId: number }[] = [];
  /** The decisions on entries, until they are recorded in the log. */
  #unrecorded: { readonly seq: bigint; readonly nodeId: number; readonly decided: string }[] = [];

  /** `facts` must cover all keys in `rebuilt`. */
  constructor(rebuilt: Rebuilt, facts: Facts) {
    this.facts = facts;
    facts.take([], rebuilt.balanceNanos);
    const { seq, atUs, rules, unwritten, ...all } = beginningOf(rebuilt, this.facts);
    this.#decisions = new Decisions(this.facts, NO_LIMITS, this.#clock, { canRollBack: false });
    this.#rules = rules;
    this.#seq = seq;
    this.#entryUs = seq === 0n ? 0n : atUs;
    this.#clock.us = atUs;
    this.#decisions.adopt(handoverOf(all, facts), this.#clock.monotonicMs());
    for (const { nodeId, requestId } of all.holds) this.#requestsOf(nodeId).add(requestId);
    for (const [nodeId, { holds, ...decided }] of unwritten)
      this.#unwritten.set(nodeId, { ...decided, holds: () => holds });
    for (const [entry] of rebuilt.tail) this.follow(entry);
  }

  /** The last applied entry. */
  get place() {
    return { seq: this.#seq, atUs: this.#entryUs };
  }

  leaseOf(requestId: string): Lease | undefined {
    return this.#decisions.leaseOf(requestId);
  }

  /** Whether all gateways still have the facts of a key and its end user this many milliseconds after the last entry. */
  isKnown(keyId: string, user: string | undefined, laterMs: number): boolean {
    return this.#isKnown(keyId, user, NONE_GIVEN, this.#clock.monotonicMs() + laterMs);
  }

  /** `given`: the ids whose facts come with the entry. The facts of a key include its groups. */
  #isKnown(keyId: string, user: string | undefined, given: ReadonlySet<string>, nowMs: number): boolean {
    const isGiven = (levelId: string) => given.has(levelId) || this.#isActive(levelId, nowMs);
    if (!isGiven(keyId)) return false;
    return (
      user === undefined || this.facts.chainOf(keyId, user).every((id) => ownerOf(id) === undefined || isGiven(id))
    );
  }

  #isActive(levelId: string, nowMs: number): boolean {
    return this.facts.has(levelId) && this.#decisions.activityOf(levelId, nowMs) !== undefined;
  }

  /** The hold of an open request as stored in the database. */
  holdOf(requestId: string): DecidedHold {
    return decidedHold(this.leaseOf(requestId) as Lease);
  }

  /** The pending effects of a gateway. */
  unwrittenOf(nodeId: number): Decided | undefined {
    const unwritten = this.#unwritten.get(nodeId);
    return unwritten && { ...unwritten, holds: unwritten.holds() };
  }

  hasUnwritten(nodeId: number): boolean {
    return this.#unwritten.has(nodeId);
  }

  /** The decisions on entries of other gateways as JSON, to be recorded with an entry of this one. */
  recordFor(nodeId: number | undefined): string | null {
    const others = this.#unrecorded.filter((each) => each.nodeId !== nodeId);
    return others.length === 0 ? null : JSON.stringify(others.map(({ seq, decided }) => [Number(seq), decided]));
  }

  /** Drops decisions up to this entry: they are recorded in the log. */
  isRecorded(seq: bigint): void {
    if (this.#unrecorded.length > 0) this.#unrecorded = this.#unrecorded.filter((each) => each.seq > seq);
  }

  /** The open requests of a gateway. */
  requestsOf(nodeId: number): readonly string[] {
    return [...this.#requestsOf(nodeId)];
  }

  /** The pending effects of all gateways except `nodeId`, if their entry is older than `ageUs`. */
  unwritten(nodeId?: number, ageUs = -1n): [nodeId: number, Decided][] {
    const old = [...this.#unwritten].filter(([id, { atUs }]) => id !== nodeId && atUs < this.#clock.us - ageUs);
    return old.map(([id]) => [id, this.unwrittenOf(id) as Decided]);
  }

  /** Drops the pending effects of a gateway, now written to the tables. */
  isWritten(nodeId: number, seq: bigint): void {
    if (this.#unwritten.get(nodeId)?.seq === seq) this.#unwritten.delete(nodeId);
  }

  /** Applies an entry without a waiting client in this process. */
  follow(row: EntryRow): void {
    const [seq, atUs, nodeId, commands, facts, writtenSeq, decided, digest, seenSeq] = row;
    this.#advance(BigInt(seq), BigInt(atUs));
    if (writtenSeq > 0) this.#compare(nodeId, BigInt(writtenSeq), decided, digest);
    this.isRecorded(BigInt(seenSeq));
    if (nodeId === 0) this.#change(commands as Change, facts as FactsRow[] | null);
    else if (commands !== null) this.#decideSound(nodeId, commands, facts as FactsRow[] | null);
  }

  /** Returns the malformed entries since the last call, with their gateways. */
  takeNonsense() {
    const nonsense = this.#nonsense;
    this.#nonsense = [];
    return nonsense;
  }

  /** Applies an entry of this gateway and returns the answers. */
  decide(seq: bigint, atUs: bigint, nodeId: number, commands: EntryCommands, facts: FactsRow[] | null): EntryAnswers {
    this.#advance(seq, atUs);
    const answers: Collected = { ends: [], growths: [], questions: [] };
    this.#decide(nodeId, commands, facts, answers);
    return answers;
  }

  /** Advances past an entry of this gateway without commands. */
  pass(seq: bigint, atUs: bigint): void {
    this.#advance(seq, atUs);
  }

  /** Advances the clock without an entry. */
  tick(atUs: bigint): void {
    this.#clock.us = atUs;
  }

  /** Answers a read-only command by the settings of this gateway. `keyId`: the key of the client; undefined if unknown. */
  answer(command: Command, keyId: string | undefined, settings: Tier): Answer {
    this.#use(settings);
    const isIdentified = command.kind === 'identify' && keyId !== undefined;
    const answer = isIdentified ? this.#decisions.identify(keyId, command.window) : this.#run(command);
    this.#decisions.keep();
    return answer;
  }

  figuresOf(keyId: string, settings: Tier) {
    this.#use(settings);
    return this.#decisions.figuresOf(keyId);
  }

  /** Forgets keys unused for a minute. */
  dropIdle(): void {
    this.facts.keepOnly((levelId) => this.#decisions.activityOf(levelId) !== undefined);
    this.#decisions.dropIdle();
  }

  #advance(seq: bigint, atUs: bigint): void {
    if (seq !== this.#seq + 1n) throw new DifferenceError(`entry ${seq} of the log follows ${this.#seq}`);
    this.#seq = seq;
    this.#entryUs = atUs;
    this.#clock.us = atUs;
  }

  #compare(nodeId: number, seq: bigint, decided: string | null, digest: string | null): void {
    const mine = this.#unwritten.get(nodeId);
    if (mine === undefined || mine.seq !== seq) return;
    this.#unwritten.delete(nodeId);
    const isOther = mine.digest !== digest && mine.digest !== '' && digest !== '';
    if (mine.decided !== decided || isOther) {
      throw new DifferenceError(`entry ${seq} of the log has other effects here than at gateway ${nodeId}`);
    }
  }

  #change({ balance, reaped, clock, late, rules = this.#rules }: Change, facts: FactsRow[] | null): void {
    if (clock === true) {
      this.facts.followClock(this.#clock.wallMs());
      this.#decisions.followClock();
    }
    this.#rules = rules;
    if (late !== undefined) {
      const [keyId, tokens, counted, countedUs, , levels] = late;
      const ids = levelIdsOf({ keyId, levels: levels ?? undefined });
      this.#decisions.recountTokens(ids, (countedUs ?? 0) / 1_000, counted ?? 0, tokens);
    }
    if (reaped !== undefined) {
      for (const requestId of this.#requestsOf(reaped)) this.#run({ kind: 'charge_held', requestId });
      this.#requests.delete(reaped);
      this.#unwritten.delete(reaped);
    }
    this.facts.edit(facts ?? [], BigInt(balance));
    this.#decisions.keep();
  }

  /** Every gateway ignores a malformed entry in the same way. */
  #decideSound(nodeId: number, commands: unknown, facts: FactsRow[] | null): void {
    try {
      this.#decide(nodeId, decode(commands), facts);
    } catch (error) {
      if (!(error instanceof NonsenseError)) throw error;
      this.#nonsense.push({ seq: this.#seq, nodeId });
      const nothing = { decided: ';', digest: '', holds: () => [], grown: [], listings: [] };
      // An earlier entry of this gateway may still have pending effects. They must not be replaced.
      if (!this.#unwritten.has(nodeId)) {
        this.#unwritten.set(nodeId, { seq: this.#seq, atUs: this.#clock.us, ...nothing });
      }
      this.#unrecorded.push({ seq: this.#seq, nodeId, decided: ';' });
    }
  }

  /** Throws a NonsenseError, before any change, if a correct gateway could not have sent this entry. */
  #check(nodeId: number, { growths, questions }: EntryCommands): void {
    const own = this.#requestsOf(nodeId);
    const held = new Map<string, bigint>();
    let heldNanos = this.#decisions.heldNanos;
    for (const { requestId, holdNanos } of growths) {
      const before =
        held.get(requestId) ?? (own.has(requestId) ? this.leaseOf(requestId)?.hold.holdNanos : undefined) ?? 0n;
      if (holdNanos < before) throw new NonsenseError(`the hold of request ${requestId} would shrink`);
      held.set(requestId, holdNanos);
      heldNanos += holdNanos - before;
    }
    const asked = new Set<string>();
    for (const question of questions) {
      if (question.kind === 'listing') continue;
      const { requestId, holdNanos } = question.request;
      heldNanos += holdNanos;
      if (asked.has(requestId) || this.leaseOf(requestId) !== undefined) {
        throw new NonsenseError(`request ${requestId} is asked for twice`);
      }
      asked.add(requestId);
    }
    if (heldNanos > MOST_NANOS) throw new NonsenseError('the account would hold more than the database can write');
  }

  /** Decides an entry. `answers` collects the answers if a client of this process waits. */
  #decide(nodeId: number, commands: EntryCommands, facts: FactsRow[] | null, answers?: Collected): void {
    this.#check(nodeId, commands);
    if (facts !== null) this.facts.take(facts);
    this.#decisions.noticeOtherWriters();
    this.#use(commands.tier);
    const touched = new Set<string>();
    this.#end(nodeId, commands, touched, answers);
    const { growths, questions } = commands;
    if (growths.length + questions.length > 0) {
      const grown = this.#grow(nodeId, growths, touched, answers);
      const given = facts === null ? NONE_GIVEN : new Set(facts.map(({ id }) => id));
      const { signs, ...taken } = this.#take(nodeId, questions, given, touched, answers);
      const [seq, decided] = [this.#seq, `${grown.signs};${signs}`];
      const digest = this.#digest(touched);
      this.#unwritten.set(nodeId, { seq, atUs: this.#clock.us, decided, digest, ...taken, grown: grown.holds });
      this.#unrecorded.push({ seq, nodeId, decided });
    }
    this.#decisions.keep();
  }

  /** Applies settlements, freed slots and released admissions. */
  #end(nodeId: number, { ends, freed, givenBack }: EntryCommands, touched: Set<string>, answers?: Collected): void {
    const own = this.#requestsOf(nodeId);
    for (const end of ends) {
      const isOpen = own.delete(end.requestId);
      if (isOpen) this.#touch(end.requestId, touched);
      if (answers !== undefined) answers.ends.push(isOpen ? this.#decisions.settle(end) : undefined);
      else if (isOpen) this.#decisions.end(end);
    }
    for (const requestId of freed) if (own.has(requestId)) this.#run({ kind: 'free_slot', requestId });
    for (const { requestId } of givenBack) {
      if (!own.delete(requestId)) continue;
      this.#touch(requestId, touched);
      this.#decisions.giveBack(requestId);
    }
  }

  /** Applies growths. Returns the new holds, and their encoding for the log. */
  #grow(nodeId: number, growths: EntryCommands['growths'], touched: Set<string>, answers?: Collected) {
    const own = this.#requestsOf(nodeId);
    const holds: GrownHold[] = [];
    const grants = growths.map((growth) => {
      if (!own.has(growth.requestId)) return undefined;
      this.#touch(growth.requestId, touched);
      return this.#decisions.grow(growth);
    });
    answers?.growths.push(...grants);
    // The state after all growths, because one entry may contain two for the same request.
    const signs = growths.map(({ requestId }, index) => {
      if (grants[index]?.granted !== true) return '-';
      const { outputTokens, reservedTokens, holdNanos } = this.holdOf(requestId);
      holds.push({ requestId, outputTokens, reservedTokens, holdNanos });
      return `${outputTokens}/${reservedTokens}/${holdNanos}`;
    });
    return { signs: signs.join(','), holds };
  }

  /** Decides admissions and listings. Returns one character per question for the log, and the resources taken. */
  #take(
    nodeId: number,
    questions: readonly Question[],
    given: ReadonlySet<string>,
    touched: Set<string>,
    answers?: Collected,
  ) {
    const own = this.#requestsOf(nodeId);
    const leases: Lease[] = [];
    const listed: string[] = [];
    let signs = '';
    for (const question of questions) {
      const { keyId } = question;
      const user = userIn(question);
      if (!this.#isKnown(keyId, user, given, this.#clock.monotonicMs())) {
        answers?.questions.push('void');
        signs += 'v';
        continue;
      }
      for (const id of this.facts.chainOf(keyId, user)) touched.add(id);
      const isTaken = this.#ask(question, answers);
      signs += Number(isTaken);
      if (!isTaken) continue;
      if (question.kind === 'listing') listed.push(keyId);
      else {
        const { requestId } = question.request;
        own.add(requestId);
        leases.push(this.leaseOf(requestId) as Lease);
      }
    }
    // Safe to evaluate later: leases are immutable.
    return { signs, holds: () => leases.map(decidedHold), listings: listedIn(listed, this.#clock.us) };
  }

  /** Decides one question. Returns true if it was admitted. */
  #ask(question: Question, answers?: Collected): boolean {
    if (question.kind === 'admit') {
      if (answers === undefined) return this.#decisions.take(question.keyId, question.request);
      const admission = this.#decisions.admit(question.keyId, question.request);
      answers.questions.push(admission);
      return admission.admitted;
    }
    const listing = this.#decisions.admitListing(question.keyId, question.counts);
    answers?.questions.push(listing);
    return listing.kind === 'admitted';
  }

  /** Adds the levels of an open request to `touched`. */
  #touch(requestId: string, touched: Set<string>): void {
    const { hold } = this.leaseOf(requestId) as Lease;
    if (hold.levels === undefined) touched.add(hold.keyId);
    else for (const id of levelIdsOf(hold)) touched.add(id);
  }

  /**
   * Hashes the state that must be equal at all gateways after an entry: the rules, the account, and the levels named in
   * the entry.
   */
  #digest(levelIds: ReadonlySet<string>): string {
    const digest = new Digest();
    digest.add(this.#rules, this.#decisions.balanceNanos, this.#decisions.heldNanos);
    const nowMs = this.#clock.monotonicMs();
    const month = utcMonth(nowMs);
    for (const levelId of levelIds) {
      const activity = this.#decisions.activityOf(levelId);
      digest.add(this.facts.journal.chargedInMonth(levelId, month));
      if (activity === undefined) continue;
      digest.add(activity.requests.total(nowMs), activity.tokensUsed(nowMs), activity.listed(nowMs));
      digest.add(activity.slots, activity.openRequests);
    }
    return digest.text;
  }

  #run(command: Command): Answer {
    const [answer] = this.#decisions.decideAll([command]);
    return answer;
  }

  #use(tier: Tier): void {
    if ((Object.keys(tier) as (keyof Tier)[]).every((name) => tier[name] === this.#tier[name])) return;
    this.#tier = tier;
    this.#run({ kind: 'configure', settings: { ...NO_LIMITS, ...tier } });
  }

  #requestsOf(nodeId: number): Set<string> {
    const requests = this.#requests.get(nodeId) ?? new Set();
    this.#requests.set(nodeId, requests);
    return requests;
  }
}

function decidedHold({ hold, reservedTokens, hasSlot, admittedMonotonicMs }: Lease): DecidedHold {
  const { requestId, keyId, model, inputTokens, outputTokens, holdNanos, price, levels, user } = hold;
  const admittedUs = BigInt(Math.round(admittedMonotonicMs * 1_000));
  return {
    requestId,
    keyId,
    model,
    admittedUs,
    inputTokens,
    outputTokens,
    reservedTokens,
    holdNanos,
    hasSlot,
    price,
    levels,
    user,
  };
}
