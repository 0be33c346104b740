/**
 * The traffic of the last minutes by second, and of the last day by minute. Each worker counts its own, and a snapshot adds
 * them.
 */
import type { Nanos } from '../core/money.ts';
import { emptyHistogram, record } from './histogram.ts';
import { addSums, emptySums, Minutes, type Sums } from './minutes.ts';

/** The number of kept seconds. */
export const REMEMBERED_S = 300;

/** The counts of one second. */
export interface Second extends Sums {
  /** Attempts by upstream. */
  readonly attempts: Map<string, AttemptCounts>;
}

/** Attempts at one upstream. */
export interface AttemptCounts {
  requests: number;
  failures: number;
}

/** An ended request. */
export interface Ended {
  readonly tokens: number;
  readonly costNanos: Nanos;
  readonly firstByteMs: number | undefined;
}

export class Traffic {
  readonly #seconds: Second[] = [];
  /** Without the latest second. */
  readonly #minutes = new Minutes();
  readonly #nowS: () => number;

  constructor(nowS = () => Math.floor(Date.now() / 1000)) {
    this.#nowS = nowS;
  }

  countEnded({ tokens, costNanos, firstByteMs }: Ended): void {
    const second = this.#current();
    second.requests++;
    second.tokens += tokens;
    second.costNanos += costNanos;
    if (firstByteMs !== undefined) record(second.firstByteMs, firstByteMs);
  }

  countAttempt(upstream: string, result: 'ok' | 'failed'): void {
    addAttempts(this.#current().attempts, upstream, { requests: 1, failures: result === 'failed' ? 1 : 0 });
  }

  countError(code: string): void {
    const { errors } = this.#current();
    errors.set(code, (errors.get(code) ?? 0) + 1);
  }

  /** The seconds with traffic from `atS` on, the oldest first. */
  since(atS: number): Second[] {
    return this.#seconds.filter((second) => second.atS >= atS);
  }

  /** The minutes with traffic from the minute of `atS` on, the oldest first. */
  minutesSince(atS: number): Sums[] {
    return this.#minutes.since(atS, this.#seconds.at(-1));
  }

  /** The attempts from `atS` on, by upstream. */
  attemptsSince(atS: number): Map<string, AttemptCounts> {
    const sum = new Map<string, AttemptCounts>();
    for (const { attempts } of this.since(atS)) {
      for (const [upstream, counts] of attempts) addAttempts(sum, upstream, counts);
    }
    return sum;
  }

  #current(): Second {
    const atS = this.#nowS();
    const last = this.#seconds.at(-1);
    // After the clock is set back, the latest second counts until the clock has caught up.
    if (last !== undefined && last.atS >= atS) return last;
    if (last !== undefined) this.#minutes.add(last);
    const second = emptySecond(atS);
    this.#seconds.push(second);
    while ((this.#seconds[0] as Second).atS <= atS - REMEMBERED_S) this.#seconds.shift();
    return second;
  }
}

export function emptySecond(atS: number): Second {
  return { ...emptySums(atS), firstByteMs: emptyHistogram(), attempts: new Map() };
}

/** Adds the seconds of several workers. */
export function merged(parts: readonly (readonly Second[])[]): Second[] {
  return addedUp(parts, emptySecond, addSecond);
}

/** Adds the minutes of several workers. */
export function mergedMinutes(parts: readonly (readonly Sums[])[]): Sums[] {
  return addedUp(parts, emptySums, addSums);
}

function addedUp<Span extends Sums>(
  parts: readonly (readonly Span[])[],
  empty: (atS: number) => Span,
  add: (to: Span, from: Span) => void,
): Span[] {
  const [only, ...others] = parts;
  if (only !== undefined && others.length === 0) return [...only];
  const spans = new Map<number, Span>();
  for (const span of parts.flat()) {
    const sum = spans.get(span.atS) ?? empty(span.atS);
    spans.set(span.atS, sum);
    add(sum, span);
  }
  return [...spans.values()].toSorted((a, b) => a.atS - b.atS);
}

/** Adds the counts of one second to another. */
function addSecond(to: Second, from: Second): void {
  addSums(to, from);
  for (const [upstream, counts] of from.attempts) addAttempts(to.attempts, upstream, counts);
}

function addAttempts(to: Map<string, AttemptCounts>, upstream: string, { requests, failures }: AttemptCounts): void {
  const sum = to.get(upstream) ?? { requests: 0, failures: 0 };
  to.set(upstream, { requests: sum.requests + requests, failures: sum.failures + failures });
}
