/** What clients have seen, and what a state must hold for it, without a look at how the ledger works. */
import assert from 'node:assert/strict';
import type { End } from './disk.ts';

const WINDOW_MS = 60_000;

/** A request as its client knows it. */
export interface Seen {
  readonly id: string;
  /** The worker that serves it. */
  readonly worker: number;
  readonly key: number;
  readonly askedAtMs: number;
  /** Whether the client knows that it was admitted, and whether anything of its answer may have reached it. */
  isAdmitted: boolean;
  isSafe: boolean;
  isRefused: boolean;
  /** What it holds at least, and at most if a growth was not answered. */
  leastNanos: bigint;
  mostNanos: bigint;
  /** What it is to cost, once its end was sent, and whether that was answered. */
  cost: bigint | undefined;
  isSettled: boolean;
  hasSlot: boolean;
  /** What it came to, once that can no longer change. */
  final: bigint | undefined;
}

/** A row of the journal, as operators read it. */
export interface Told {
  readonly costNanos: bigint;
  readonly isHeld: boolean;
}

export interface Terms {
  readonly rpm: number;
  readonly concurrency: number;
}

export class Witness {
  readonly #requests: Seen[] = [];
  readonly #terms: Terms;
  creditNanos = 0n;

  constructor(terms: Terms) {
    this.#terms = terms;
  }

  get open(): Seen[] {
    return this.#requests.filter((seen) => seen.isAdmitted && seen.final === undefined && seen.cost === undefined);
  }

  ask(id: string, worker: number, key: number, holdNanos: bigint, nowMs: number): Seen {
    const none = {
      isAdmitted: false,
      isSafe: false,
      isRefused: false,
      isSettled: false,
      cost: undefined,
      final: undefined,
    };
    const seen: Seen = {
      id,
      worker,
      key,
      askedAtMs: nowMs,
      hasSlot: true,
      ...none,
      leastNanos: holdNanos,
      mostNanos: holdNanos,
    };
    this.#requests.push(seen);
    return seen;
  }

  /** An admission is answered: no limit may be passed with it. */
  admitted(seen: Seen, nowMs: number): void {
    seen.isAdmitted = true;
    const ofKey = this.#requests.filter(({ key, isAdmitted }) => isAdmitted && key === seen.key);
    const recent = ofKey.filter(({ askedAtMs }) => askedAtMs > nowMs - WINDOW_MS).length;
    assert.ok(recent <= this.#terms.rpm, `key ${seen.key} has ${recent} requests in a minute`);
    const slots = ofKey.filter(
      ({ hasSlot, cost, final }) => hasSlot && cost === undefined && final === undefined,
    ).length;
    assert.ok(slots <= this.#terms.concurrency, `key ${seen.key} has ${slots} slots`);
    const taken = this.#requests.reduce((sum, each) => sum + leastOf(each), 0n);
    assert.ok(taken <= this.creditNanos, `of ${this.creditNanos} nanos, ${taken} are spent or held`);
  }

  /**
   * A process has ended, and the next one has charged what it left open. `rows` are those of `undecided`; what was asked
   * before `droppedToMs` and whose end was sent may have none.
   */
  recovered(how: End, rows: ReadonlyMap<string, Told>, droppedToMs: number): void {
    for (const seen of this.#requests) {
      if (seen.final !== undefined) continue;
      const told = rows.get(seen.id);
      const isDropped = told === undefined && mustLast(seen, how) && seen.askedAtMs < droppedToMs;
      seen.final = isDropped && seen.cost !== undefined ? seen.cost : finalOf(seen, how, told);
      // What is lost before anybody has seen of it has taken nothing.
      if (told === undefined && !isDropped) seen.isAdmitted = false;
    }
  }

  /** What requests came to, in all. */
  get spentNanos(): bigint {
    return this.#requests.reduce((sum, { final = 0n }) => sum + final, 0n);
  }

  /** The requests whose rows are to be read. */
  get undecided(): string[] {
    return this.#requests.filter(({ final }) => final === undefined).map(({ id }) => id);
  }
}

/** What a request has taken of the balance at least, as its client can know. */
function leastOf({ isAdmitted, final, cost, leastNanos }: Seen): bigint {
  return final ?? (isAdmitted ? (cost ?? leastNanos) : 0n);
}

/** Whether its client has seen so much of it that it must be known after such an end. */
function mustLast({ isSettled, isAdmitted, isSafe }: Seen, how: End): boolean {
  return isSettled || (how === 'kill' ? isAdmitted : isSafe);
}

function finalOf(seen: Seen, how: End, told: Told | undefined): bigint {
  const { id, cost, leastNanos, mostNanos } = seen;
  if (told === undefined) {
    assert.ok(!mustLast(seen, how), `${id} is lost by a ${how}: ${describe(seen)}`);
    return 0n;
  }
  const { costNanos, isHeld } = told;
  const isRight = isHeld ? !seen.isSettled && leastNanos <= costNanos && costNanos <= mostNanos : costNanos === cost;
  assert.ok(isRight && !seen.isRefused, `${id} is charged ${costNanos}${isHeld ? ' as held' : ''}: ${describe(seen)}`);
  return costNanos;
}

function describe({ isRefused, isAdmitted, isSafe, isSettled, cost, leastNanos, mostNanos }: Seen): string {
  const begin = isRefused ? 'refused' : isSafe ? 'begun' : isAdmitted ? 'admitted' : 'asked';
  const end = cost === undefined ? 'its end was not sent' : `its end at ${cost} was ${isSettled ? 'answered' : 'sent'}`;
  return `it was ${begin}, with a hold of ${leastNanos} to ${mostNanos}, and ${end}`;
}
