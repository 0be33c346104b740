/** Caches the tokens that authenticate requests, and requests the next token before one expires. */

import { type Clock, DAY_MS, systemClock } from '../core/clock.ts';
import { within } from '../core/within.ts';

/** Cached authentication headers. */
export interface Proofs {
  /** The headers of the next request. Rejects without credentials. */
  headers(): Promise<Record<string, string>>;
  /** Reports that a host refused these headers, so that they are replaced early. */
  refused(headers: Record<string, string>): void;
}

export interface Proof {
  readonly headers: Record<string, string>;
  readonly expiresMs: number;
}

/** A value that is cached until shortly before it expires. */
export interface KeptValue<Value> {
  /** Rejects if no value is found. */
  current(): Promise<Value>;
  /** Reports that a host refused this value, so that it is replaced early. */
  refused(value: Value): void;
}

interface Expiring<Value> {
  readonly value: Value;
  readonly expiresMs: number;
}

/** `isRefused`: a host refused the last value. */
type Find<Found> = (isRefused: boolean) => Promise<Found>;

/** The next token is requested this long before the last one expires, as in the packages of Google and Microsoft. */
const AHEAD_MS = 5 * 60_000;
/** Maximum wait for the next token while the last one is valid. */
const PATIENCE_MS = 1_000;
/** Maximum time of a token request before another one is started. */
const GIVEN_UP_MS = 10_000;
/** Minimum interval between token requests while the last token is valid. */
const PAUSE_MS = 1_000;
/**
 * Minimum interval between early replacements, because the host may refuse the identity and not the token. Two tokens are
 * retained as secrets, so a host that refuses each new token cannot soon send an old one back in a long answer.
 */
const REFUSED_PAUSE_MS = 5 * 60_000;
/** Maximum lifetime. Tokens of managed identities last this long; others are shorter. */
const LONGEST_MS = DAY_MS;

/** A pending token request. */
interface Asked<Value> {
  readonly sinceMs: number;
  readonly next: Promise<Kept<Value>>;
}

interface Kept<Value> {
  readonly value: Value;
  /** The remaining lifetime. Neither a clock that is set back nor a suspended machine extends it. */
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
