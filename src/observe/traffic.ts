/** What went through in the last minutes, second by second: kept by each worker, and added up over all of them. */
import type { Nanos } from '../core/money.ts';
import { addHistogram, emptyHistogram, type Histogram, record } from './histogram.ts';

/** How long the past is remembered. */
export const REMEMBERED_S = 300;

/** All that ended or was refused within one second. */
export interface Second {
  /** Seconds since 1970. */
  readonly atS: number;
  /** Admitted requests that ended. */
  requests: number;
  tokens: number;
  costNanos: Nanos;
  /** Answers with an error, by code: refusals too. */
  readonly errors: Map<string, number>;
  /** Time to the first byte of an answer. */
  readonly firstByteMs: Histogram;
  /** How often each upstream was asked. */
  readonly visits: Map<string, Visits>;
}

export interface Visits {
  requests: number;
  failures: number;
}

/** An admitted request that has ended. */
export interface Ended {
  readonly tokens: number;
  readonly costNanos: Nanos;
  readonly firstByteMs: number | undefined;
}

export class Traffic {
  readonly #seconds: Second[] = [];
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

  countVisit(upstream: string, failed: boolean): void {
    addVisits(this.#current().visits, upstream, { requests: 1, failures: failed ? 1 : 0 });
  }

  countError(code: string): void {
    const { errors } = this.#current();
    errors.set(code, (errors.get(code) ?? 0) + 1);
  }

  /** The seconds from `atS` on in which something happened, the oldest first. */
  since(atS: number): Second[] {
    return this.#seconds.filter((second) => second.atS >= atS);
  }

  /** How often each upstream was asked from `atS` on. */
  visitsSince(atS: number): Map<string, Visits> {
    const sum = new Map<string, Visits>();
    for (const { visits } of this.since(atS)) for (const [provider, each] of visits) addVisits(sum, provider, each);
    return sum;
  }

  #current(): Second {
    const atS = this.#nowS();
    const last = this.#seconds.at(-1);
    // A clock that was set back goes on counting into the second that it had reached.
    if (last !== undefined && last.atS >= atS) return last;
    const second = emptySecond(atS);
    this.#seconds.push(second);
    while ((this.#seconds[0] as Second).atS <= atS - REMEMBERED_S) this.#seconds.shift();
    return second;
  }
}

export function emptySecond(atS: number): Second {
  return {
    atS,
    requests: 0,
    tokens: 0,
    costNanos: 0n,
    errors: new Map(),
    firstByteMs: emptyHistogram(),
    visits: new Map(),
  };
}

/** What several workers have counted, second by second. */
export function merged(parts: readonly (readonly Second[])[]): Second[] {
  const seconds = new Map<number, Second>();
  for (const second of parts.flat()) {
    const sum = seconds.get(second.atS) ?? emptySecond(second.atS);
    seconds.set(second.atS, sum);
    addSecond(sum, second);
  }
  return [...seconds.values()].toSorted((a, b) => a.atS - b.atS);
}

/** Adds what another second counted. */
export function addSecond(to: Second, from: Second): void {
  to.requests += from.requests;
  to.tokens += from.tokens;
  to.costNanos += from.costNanos;
  for (const [code, count] of from.errors) to.errors.set(code, (to.errors.get(code) ?? 0) + count);
  addHistogram(to.firstByteMs, from.firstByteMs);
  for (const [provider, visits] of from.visits) addVisits(to.visits, provider, visits);
}

function addVisits(to: Map<string, Visits>, provider: string, { requests, failures }: Visits): void {
  const sum = to.get(provider) ?? { requests: 0, failures: 0 };
  to.set(provider, { requests: sum.requests + requests, failures: sum.failures + failures });
}
