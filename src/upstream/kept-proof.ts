/** Tokens that prove who sends a request: each is kept, and the next one asked for before it expires. */

import { type Clock, DAY_MS, systemClock } from '../core/clock.ts';
import { within } from '../core/within.ts';

/** What proves who sends requests, as it is kept. */
export interface Proofs {
  /** The headers of the next request. Rejects where there are no credentials. */
  headers(): Promise<Record<string, string>>;
  /** A host has not taken these headers: others are asked for before their time. */
  refused(headers: Record<string, string>): void;
}

export interface Proof {
  readonly headers: Record<string, string>;
  readonly expiresMs: number;
}

/** A value that is kept until shortly before it expires. */
export interface KeptValue<Value> {
  /** Rejects if no value is found. */
  current(): Promise<Value>;
  /** A host has refused this value: the next one is requested before its time. */
  refused(value: Value): void;
}

interface Expiring<Value> {
  readonly value: Value;
  readonly expiresMs: number;
}

/** `isRefused`: a host has refused the last one. */
type Find<Found> = (isRefused: boolean) => Promise<Found>;

/** From when on the next token is asked for, before the last one expires: as the packages of Google and Microsoft have it. */
const AHEAD_MS = 5 * 60_000;
/** How long requests wait for the next token while the last one is good. */
const PATIENCE_MS = 1_000;
/** How long a request for a token may stay without an answer before there is another one. */
const GIVEN_UP_MS = 10_000;
/** How long nobody asks again after an answer, or its failure, while the last token is good. */
const PAUSE_MS = 1_000;
/**
 * How long a host that takes none makes nobody ask again: it may want another identity, and not another token. Two tokens
 * are kept as secrets, so a host that refuses one after the other cannot soon send one of them back in a long answer.
 */
const REFUSED_PAUSE_MS = 5 * 60_000;
/** Tokens of machines live as long, and no others longer. */
const LONGEST_MS = DAY_MS;

/** A request for a token that is on its way. */
interface Asked<Value> {
  readonly sinceMs: number;
  readonly next: Promise<Kept<Value>>;
}

interface Kept<Value> {
  readonly value: Value;
  /** How long it is good: neither a clock that is set back makes that longer, nor a machine that sleeps. */
  leftMs(): number;
  isRefused: boolean;
}

/** Concurrent requests share one token. */
export function keptProof(find: Find<Proof>, clock: Clock = systemClock): Proofs {
  const kept = keptValue(async (isRefused) => {
    const { headers, expiresMs } = await find(isRefused);
    return { value: headers, expiresMs };
  }, clock);
  return { headers: () => kept.current(), refused: (headers) => kept.refused(headers) };
}

/** Concurrent callers share one search. */
export function keptValue<Value>(find: Find<Expiring<Value>>, clock: Clock = systemClock): KeptValue<Value> {
  let last: Kept<Value> | undefined;
  let asked: Asked<Value> | undefined;
  let answeredMs = Number.NEGATIVE_INFINITY;
  let refusedMs = Number.NEGATIVE_INFINITY;
  const findNext = async () => {
    last = kept(await find(last?.isRefused === true), clock);
    return last;
  };
  const ask = (nowMs: number) => {
    if (asked !== undefined && nowMs - asked.sinceMs <= GIVEN_UP_MS) return asked;
    const mine = { sinceMs: nowMs, next: findNext() };
    const end = () => {
      answeredMs = clock.monotonicMs();
      if (asked === mine) asked = undefined;
    };
    mine.next.then(end, end);
    asked = mine;
    return mine;
  };
  const isDue = ({ isRefused, leftMs }: Kept<Value>, nowMs: number) =>
    (isRefused || leftMs() <= AHEAD_MS) && (asked !== undefined || nowMs - answeredMs >= PAUSE_MS);
  return {
    async current() {
      const nowMs = clock.monotonicMs();
      if (last === undefined || last.leftMs() <= 0) return (await ask(nowMs).next).value;
      const { value } = last;
      if (!isDue(last, nowMs)) return value;
      const { sinceMs, next } = ask(nowMs);
      const found = next.then((each) => each.value).catch(() => value);
      return within(sinceMs + PATIENCE_MS - nowMs, found, () => value);
    },
    refused(value) {
      const nowMs = clock.monotonicMs();
      if (last?.value !== value || nowMs - refusedMs < REFUSED_PAUSE_MS) return;
      refusedMs = nowMs;
      last.isRefused = true;
    },
  };
}

function kept<Value>({ value, expiresMs }: Expiring<Value>, clock: Clock): Kept<Value> {
  const goodUntilMs = clock.monotonicMs() + Math.min(expiresMs - clock.wallMs(), LONGEST_MS);
  const leftMs = () => Math.min(expiresMs - clock.wallMs(), goodUntilMs - clock.monotonicMs());
  return { value, leftMs, isRefused: false };
}
