/** Tokens that prove who sends a request: each is kept, and the next one asked for before it expires. */
import { setTimeout } from 'node:timers/promises';
import { type Clock, DAY_MS, systemClock } from '../core/clock.ts';

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

/** Finds a proof. `isRefused`: a host has not taken the last one. */
type Find = (isRefused: boolean) => Promise<Proof>;

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
interface Asked {
  readonly sinceMs: number;
  readonly proof: Promise<Kept>;
}

interface Kept {
  readonly headers: Record<string, string>;
  /** How long it is good: neither a clock that is set back makes that longer, nor a machine that sleeps. */
  leftMs(): number;
  isRefused: boolean;
}

/** Requests that come at once ask for one token together. */
export function keptProof(find: Find, clock: Clock = systemClock): Proofs {
  let last: Kept | undefined;
  let asked: Asked | undefined;
  let answeredMs = Number.NEGATIVE_INFINITY;
  let refusedMs = Number.NEGATIVE_INFINITY;
  const findNext = async () => {
    last = kept(await find(last?.isRefused === true), clock);
    return last;
  };
  const ask = (nowMs: number) => {
    if (asked !== undefined && nowMs - asked.sinceMs <= GIVEN_UP_MS) return asked;
    const mine = { sinceMs: nowMs, proof: findNext() };
    const end = () => {
      answeredMs = clock.monotonicMs();
      if (asked === mine) asked = undefined;
    };
    mine.proof.then(end, end);
    asked = mine;
    return mine;
  };
  const isDue = ({ isRefused, leftMs }: Kept, nowMs: number) =>
    (isRefused || leftMs() <= AHEAD_MS) && (asked !== undefined || nowMs - answeredMs >= PAUSE_MS);
  return {
    async headers() {
      const nowMs = clock.monotonicMs();
      if (last === undefined || last.leftMs() <= 0) return (await ask(nowMs).proof).headers;
      const { headers } = last;
      if (!isDue(last, nowMs)) return headers;
      const { sinceMs, proof } = ask(nowMs);
      const patience = setTimeout(Math.max(0, sinceMs + PATIENCE_MS - nowMs), headers, { ref: false });
      return Promise.race([proof.then((next) => next.headers).catch(() => headers), patience]);
    },
    refused(headers) {
      const nowMs = clock.monotonicMs();
      if (last?.headers !== headers || nowMs - refusedMs < REFUSED_PAUSE_MS) return;
      refusedMs = nowMs;
      last.isRefused = true;
    },
  };
}

function kept({ headers, expiresMs }: Proof, clock: Clock): Kept {
  const goodUntilMs = clock.monotonicMs() + Math.min(expiresMs - clock.wallMs(), LONGEST_MS);
  const leftMs = () => Math.min(expiresMs - clock.wallMs(), goodUntilMs - clock.monotonicMs());
  return { headers, leftMs, isRefused: false };
}
