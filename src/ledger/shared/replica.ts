/**
 * The state of all gateways in the memory of one: every gateway applies every entry of the log, its own and the others',
 * in the log's order and at the log's times, and so all come to the same decisions.
 */
import { type Clock, utcMonth } from '../../core/clock.ts';
import { levelIdsOf, ownerOf } from '../../state/levels.ts';
import type { Decided, DecidedHold, GrownHold, Listed } from '../../state/postgres/batch.ts';
import type { EntryRow, Rebuilt, Unwritten } from '../../state/postgres/log.ts';
import type { EngineHandover, KeyHandover, OpenRequestHandover } from '../handover.ts';
import type { Admission, Grant, LedgerSettings, ListingAdmission } from '../ledger.ts';
import type { Lease } from '../local/activity.ts';
import { Decisions } from '../local/decisions.ts';
import type { WindowEntries } from '../local/window.ts';
import type { Answer, Command } from '../protocol.ts';
import { Digest } from './digest.ts';
import { commandOf, decode, type EntryCommands, type EntryJson, type Question, type Tier, userIn } from './entry.ts';
import { Facts, type FactsRow } from './facts.ts';

/** Another gateway has come to another state, or this one cannot follow. It has to begin anew. */
export class DifferenceError extends Error {}

/** What the database writes into the log of its own. */
interface Change {
  /** In nanos, after it. */
  readonly balance: string;
  /** All requests of this gateway were charged as held. */
  readonly reaped?: number;
  readonly clock?: boolean;
  /** The number of the rules that are in force from here on. */
  readonly rules?: number;
  /** A request of the key was settled after that. */
  readonly late?: readonly [keyId: string, tokens: number, counted: number, countedUs: number, levels: string[] | null];
}

/** The answers to the commands of an entry, in their order. Undefined where there was nothing to decide. */
export interface EntryAnswers {
  readonly ends: readonly Answer[];
  readonly growths: readonly (Grant | undefined)[];
  /** `void` where nobody could decide: the key's facts were missing. */
  readonly questions: readonly (Admission | ListingAdmission | 'void')[];
}

/** The clock of the log. */
class LogClock implements Clock {
  us = 0n;
  wallMs(): number {
    return Number(this.us) / 1_000;
  }
  monotonicMs(): number {
    return Number(this.us) / 1_000;
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

export class Replica {
  readonly facts: Facts;
  readonly #clock = new LogClock();
  readonly #decisions: Decisions;
  #tier: Tier = NO_LIMITS;
  /** The number of the rules that the next entry is decided by. */
  #rules: number;
  #seq: bigint;
  /** The time of the last entry, by which the log tells it from another of its number. */
  #entryUs: bigint;
  /** The requests in flight of each gateway. */
  readonly #requests = new Map<number, Set<string>>();
  /** What was decided on the last entry of each gateway, until that is written. */
  readonly #unwritten = new Map<number, Decided & { readonly atUs: bigint }>();

  constructor({ seq, atUs, balanceNanos, rules, facts, holds, recent, listings }: Rebuilt) {
    this.facts = new Facts(balanceNanos);
    this.facts.take((facts ?? []) as FactsRow[]);
    this.#decisions = new Decisions(this.facts, NO_LIMITS, this.#clock);
    this.#rules = rules;
    this.#seq = seq;
    this.#entryUs = seq === 0n ? 0n : atUs;
    this.#clock.us = atUs;
    this.#decisions.adopt(handoverOf({ holds, recent, listings }), this.#clock.monotonicMs());
    for (const { nodeId, requestId } of holds) this.#requestsOf(nodeId).add(requestId);
  }

  /** The last entry that was followed. */
  get place() {
    return { seq: this.#seq, atUs: this.#entryUs };
  }

  leaseOf(requestId: string): Lease | undefined {
    return this.#decisions.leaseOf(requestId);
  }

  /** Whether all gateways know the facts of a key and its end user so many milliseconds after the last entry. */
  isKnown(keyId: string, user: string | undefined, laterMs: number): boolean {
    return this.#isKnown(keyId, user, (levelId) => this.#isActive(levelId, laterMs));
  }

  /** What is around a key comes with it. */
  #isKnown(keyId: string, user: string | undefined, isGiven: (levelId: string) => boolean): boolean {
    if (!isGiven(keyId)) return false;
    return (
      user === undefined || this.facts.chainOf(keyId, user).every((id) => ownerOf(id) === undefined || isGiven(id))
    );
  }

  #isActive(levelId: string, laterMs = 0): boolean {
    const nowMs = this.#clock.monotonicMs() + laterMs;
    return this.facts.has(levelId) && this.#decisions.activityOf(levelId, nowMs) !== undefined;
  }

  /** What is decided and not written of a gateway. */
  unwrittenOf(nodeId: number): Decided | undefined {
    return this.#unwritten.get(nodeId);
  }

  /** Something of the kind from before this began to follow. */
  owe(nodeId: number, decided: Decided): void {
    this.#unwritten.set(nodeId, { ...decided, atUs: this.#clock.us });
  }

  /** The same of all others, where the entry is older than that. */
  abandoned(nodeId: number | undefined, ageUs: bigint): [nodeId: number, Decided][] {
    return [...this.#unwritten].filter(([id, { atUs }]) => id !== nodeId && atUs < this.#clock.us - ageUs);
  }

  /** What was decided on the last entry of a gateway is in the tables. */
  isWritten(nodeId: number, seq: bigint): void {
    if (this.#unwritten.get(nodeId)?.seq === seq) this.#unwritten.delete(nodeId);
  }

  /** Applies an entry that has no waiting command. */
  follow(row: EntryRow): void {
    const [seq, atUs, nodeId, commands, facts, writtenSeq, decided, digest] = row;
    this.#advance(BigInt(seq), BigInt(atUs));
    if (writtenSeq > 0) this.#compare(nodeId, BigInt(writtenSeq), decided, digest);
    if (nodeId === 0) this.#change(commands as Change, facts as FactsRow[] | null);
    else if (commands !== null) this.#decide(nodeId, decode(commands as EntryJson), facts as FactsRow[] | null);
  }

  /** Applies an entry of this gateway. */
  decide(seq: bigint, atUs: bigint, nodeId: number, commands: EntryCommands, facts: FactsRow[] | null): EntryAnswers {
    this.#advance(seq, atUs);
    return this.#decide(nodeId, commands, facts);
  }

  /** An entry of this gateway without commands. */
  pass(seq: bigint, atUs: bigint): void {
    this.#advance(seq, atUs);
  }

  /** It is so late, although nothing was added. */
  tick(atUs: bigint): void {
    this.#clock.us = atUs;
  }

  /** Answers a question that takes nothing, by the settings of this gateway. */
  answer(command: Command, settings: Tier): Answer {
    this.#use(settings);
    const [answer] = this.#decisions.decideAll([command]);
    this.#decisions.keep();
    return answer;
  }

  /** The rate-limit figures of a key. */
  figuresOf(keyId: string, settings: Tier) {
    this.#use(settings);
    return this.#decisions.figuresOf(keyId);
  }

  /** Decides an entry that was not written by a gateway that is gone. */
  complete(nodeId: number, seq: bigint, commands: EntryCommands): Decided {
    // Its settlements are in the tables.
    this.#decideRest(nodeId, seq, { ...commands, ends: [], freed: [], givenBack: [] }, () => true);
    return { ...(this.#unwritten.get(nodeId) as Decided), seq };
  }

  /** Forgets keys that nobody has used for a minute. */
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
    if (mine.decided !== decided || (digest !== '' && mine.digest !== digest)) {
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
      const [keyId, tokens, counted, countedUs, levels] = late;
      const ids = levelIdsOf({ keyId, levels: levels ?? undefined });
      this.#decisions.recountTokens(ids, (countedUs ?? 0) / 1_000, counted ?? 0, tokens);
    }
    if (reaped !== undefined) {
      for (const requestId of this.#requestsOf(reaped)) this.#run({ kind: 'charge_held', requestId });
      this.#requests.delete(reaped);
      this.#unwritten.delete(reaped);
    }
    this.facts.edit(facts ?? [], BigInt(balance));
  }

  #decide(nodeId: number, commands: EntryCommands, facts: FactsRow[] | null): EntryAnswers {
    const given = new Set((facts ?? []).map(({ id }) => id));
    if (facts !== null) this.facts.take(facts);
    return this.#decideRest(nodeId, this.#seq, commands, (id) => given.has(id) || this.#isActive(id));
  }

  #decideRest(
    nodeId: number,
    seq: bigint,
    { tier, ends, freed, givenBack, growths, questions }: EntryCommands,
    isGiven: (levelId: string) => boolean,
  ): EntryAnswers {
    this.#use(tier);
    const own = this.#requestsOf(nodeId);
    const touched = new Set<string>();
    const touch = (requestId: string) => {
      const hold = this.leaseOf(requestId)?.hold;
      for (const id of hold === undefined ? [] : levelIdsOf(hold)) touched.add(id);
    };
    const endAnswers = ends.map((end) => {
      if (!own.has(end.requestId)) return undefined;
      touch(end.requestId);
      own.delete(end.requestId);
      return this.#run({ kind: 'settle', settlement: { ...END_OF_OTHERS, ...end } });
    });
    for (const requestId of freed) if (own.has(requestId)) this.#run({ kind: 'free_slot', requestId });
    for (const requestId of givenBack.filter((id) => own.delete(id))) {
      touch(requestId);
      this.#decisions.giveBack(requestId);
    }
    const grants = growths.map((growth) => {
      if (!own.has(growth.requestId)) return undefined;
      touch(growth.requestId);
      return this.#run({ kind: 'grow', growth }) as Grant;
    });
    const answers = questions.map((question) => {
      const { keyId } = question;
      const user = userIn(question);
      if (!this.#isKnown(keyId, user, isGiven)) return 'void' as const;
      for (const id of this.facts.chainOf(keyId, user)) touched.add(id);
      return this.#ask(question, own);
    });
    if (growths.length + questions.length > 0) {
      const changes = this.#changes(growths, grants, questions, answers);
      const decided = decidedSigns(grants, growths, answers, (id) => this.leaseOf(id));
      this.#unwritten.set(nodeId, { seq, atUs: this.#clock.us, decided, digest: this.#digest(touched), ...changes });
    }
    return { ends: endAnswers, growths: grants, questions: answers };
  }

  #ask(question: Question, own: Set<string>): Admission | ListingAdmission {
    const hash = this.facts.hashOf(question.keyId) ?? '';
    if (question.kind === 'listing') {
      const admission = this.#decisions.admitListing(hash, question.counts);
      this.#decisions.keep();
      return admission;
    }
    const admission = this.#run(commandOf(question, hash)) as Admission;
    if (admission.admitted) own.add(question.request.requestId);
    return admission;
  }

  /** The rows that a decision changes. */
  #changes(
    growths: EntryCommands['growths'],
    grants: EntryAnswers['growths'],
    questions: readonly Question[],
    answers: EntryAnswers['questions'],
  ): Pick<Decided, 'holds' | 'grown' | 'listings'> {
    const holds: DecidedHold[] = [];
    const listings = new Map<string, number>();
    for (const [index, question] of questions.entries()) {
      const answer = answers[index];
      if (answer === undefined || !isTaken(answer)) continue;
      if (question.kind === 'listing') listings.set(question.keyId, (listings.get(question.keyId) ?? 0) + 1);
      else holds.push(this.#holdOf(question.request.requestId));
    }
    const grown = growths.flatMap(({ requestId }, index): GrownHold[] => {
      return grants[index]?.granted === true ? [this.#holdOf(requestId)] : [];
    });
    const listed: Listed[] = [...listings].map(([keyId, count]) => ({ keyId, atUs: this.#clock.us, listings: count }));
    return { holds, grown, listings: listed };
  }

  #holdOf(requestId: string): DecidedHold {
    const { hold, reservedTokens, hasSlot, admittedMonotonicMs } = this.leaseOf(requestId) as Lease;
    const { keyId, model, inputTokens, outputTokens, holdNanos, price, levels } = hold;
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
    };
  }

  /** What all gateways must agree on after an entry: the rules, the account, and the levels that the entry names. */
  #digest(levelIds: ReadonlySet<string>): string {
    const digest = new Digest();
    digest.add(this.#rules, this.#decisions.balanceNanos, this.#decisions.heldNanos);
    for (const levelId of levelIds) {
      const activity = this.#decisions.activityOf(levelId);
      const nowMs = this.#clock.monotonicMs();
      digest.add(this.facts.journal.chargedInMonth(levelId, utcMonth(nowMs)));
      if (activity === undefined) continue;
      digest.add(activity.requests.total(nowMs), activity.tokensUsed(nowMs), activity.listings.total(nowMs));
      digest.add(activity.slots, activity.openRequests);
    }
    return digest.text;
  }

  #run(command: Command): Answer {
    const [answer] = this.#decisions.decideAll([command]);
    this.#decisions.keep();
    return answer;
  }

  #use(tier: Tier): void {
    const { rpm, tpm, concurrency, modelsRpm, creditEnforced } = this.#tier;
    if (
      rpm === tier.rpm &&
      tpm === tier.tpm &&
      concurrency === tier.concurrency &&
      modelsRpm === tier.modelsRpm &&
      creditEnforced === tier.creditEnforced
    ) {
      return;
    }
    this.#tier = tier;
    this.#run({ kind: 'configure', settings: { ...NO_LIMITS, ...tier } });
  }

  #requestsOf(nodeId: number): Set<string> {
    const requests = this.#requests.get(nodeId) ?? new Set();
    this.#requests.set(nodeId, requests);
    return requests;
  }
}

/** What decisions do not depend on. */
const END_OF_OTHERS = {
  outcome: 'ok',
  source: 'reported',
  completionId: undefined,
  firstByteMs: undefined,
} as const;

function isTaken(answer: Admission | ListingAdmission | 'void'): boolean {
  return answer !== 'void' && ('admitted' in answer ? answer.admitted : answer.kind === 'admitted');
}

/** The growths with what each came to, and one sign for each question. */
function decidedSigns(
  grants: EntryAnswers['growths'],
  growths: EntryCommands['growths'],
  answers: EntryAnswers['questions'],
  leaseOf: (requestId: string) => Lease | undefined,
): string {
  const grown = growths.map(({ requestId }, index) => {
    const lease = grants[index]?.granted === true ? leaseOf(requestId) : undefined;
    return lease === undefined ? '-' : `${lease.hold.outputTokens}/${lease.reservedTokens}/${lease.hold.holdNanos}`;
  });
  return `${grown.join(',')};${answers.map((each) => (each === 'void' ? 'v' : Number(isTaken(each)))).join('')}`;
}

/** What is read of the tables, with what was decided on an entry whose decisions are not in them. */
export function withDecided(rebuilt: Rebuilt, { nodeId, atUs, commands }: Unwritten, decided: string): Rebuilt {
  const { growths, questions } = decode(commands as EntryJson);
  const [grown = '', signs = ''] = decided.split(';');
  const grownTo = new Map(grown.split(',').map((each, index) => [growths[index]?.requestId, each]));
  const holds = rebuilt.holds.map((hold) => {
    const to = grownTo.get(hold.requestId);
    if (to === undefined || to === '-' || hold.nodeId !== nodeId) return hold;
    const [output, reserved, nanos] = to.split('/') as [string, string, string];
    return { ...hold, outputTokens: Number(output), reservedTokens: Number(reserved), holdNanos: BigInt(nanos) };
  });
  const taken = questions.filter((_, index) => signs[index] === '1');
  const facts = new Facts(rebuilt.balanceNanos);
  facts.take((rebuilt.facts ?? []) as FactsRow[]);
  const admitted = taken.flatMap((question) => {
    if (question.kind === 'listing') return [];
    const { keyId, request } = question;
    const outer = facts.chainOf(keyId, request.user).filter((id) => id !== keyId);
    const hold = { ...request, keyId, price: request.price, levels: outer.length === 0 ? undefined : outer };
    return [{ ...hold, nodeId, admittedUs: BigInt(atUs), countedUs: BigInt(atUs), hasSlot: true }];
  });
  const listed = taken.filter(({ kind }) => kind === 'listing');
  const listings = listed.map(({ keyId }): Listed => ({ keyId, atUs: BigInt(atUs), listings: 1 }));
  return { ...rebuilt, holds: [...holds, ...admitted], listings: [...rebuilt.listings, ...listings] };
}

/** The windows and the open requests as a process hands them over to the next, by the clock of the log. */
function handoverOf({ holds, recent, listings }: Pick<Rebuilt, 'holds' | 'recent' | 'listings'>): EngineHandover {
  const windows = new Map<string, Record<'requests' | 'tokens' | 'listings', [atMs: number, weight: number][]>>();
  const of = (keyId: string) => {
    const window = windows.get(keyId) ?? { requests: [], tokens: [], listings: [] };
    windows.set(keyId, window);
    return window;
  };
  for (const { admittedUs, settledUs, tokens, ...booked } of recent) {
    for (const id of levelIdsOf(booked)) {
      if (admittedUs !== null) of(id).requests.push([admittedUs / 1_000, 1]);
      if (tokens > 0) of(id).tokens.push([settledUs / 1_000, tokens]);
    }
  }
  for (const hold of holds) {
    for (const id of levelIdsOf(hold)) of(id).requests.push([Number(hold.countedUs) / 1_000, 1]);
  }
  for (const { keyId, atUs, listings: count } of listings) of(keyId).listings.push([Number(atUs) / 1_000, count]);
  const keys = [...windows].map(([keyId, { requests, tokens, listings }]): KeyHandover => {
    return { keyId, requests: entriesOf(requests), tokens: entriesOf(tokens), listings: entriesOf(listings) };
  });
  return { keys, open: holds.map(openOf) };
}

function entriesOf(entries: readonly (readonly [number, number])[]): WindowEntries {
  const sorted = entries.toSorted(([a], [b]) => a - b);
  return {
    times: Float64Array.from(sorted, ([time]) => time),
    weights: Float64Array.from(sorted, ([, weight]) => weight),
  };
}

function openOf({ admittedUs, reservedTokens, hasSlot, ...hold }: DecidedHold): OpenRequestHandover {
  const admittedAtMs = Number(admittedUs) / 1_000;
  const { requestId, keyId, model, inputTokens, outputTokens, holdNanos, price, levels } = hold;
  return {
    hold: { requestId, keyId, model, admittedAtMs, inputTokens, outputTokens, holdNanos, price, levels },
    reservedTokens,
    month: utcMonth(admittedAtMs),
    admittedAtMs,
    hasSlot,
  };
}
