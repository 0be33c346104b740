/**
 * The figures of attacks on money and windows: what the host billed, over what the gateway held,
 * charged or should allow.
 */
import type { TestKey } from '../support/gateway.ts';
import type { KeySettings } from '../support/state.ts';
import type { Target } from './attack.ts';
import type { Conversation } from './conversation.ts';
import { billedNanos, billsOf, COUNT_ERROR, ESTIMATE_ERROR, stepNanos } from './site.ts';
import type { Outcome } from './truthful-site.ts';

/** What is attacked: a gateway, before a host that bills. */
export interface Attacked<Request> {
  readonly host: { onArrival: (conversation: Conversation) => void };
  readonly gateway: { heldNanos(key: TestKey): bigint };
  key(settings?: KeySettings): TestKey;
  send(key: TestKey, request: Request): Promise<Outcome>;
  race(key: TestKey, requests: readonly Request[]): Promise<Outcome[]>;
  settled(keys: readonly TestKey[], outcomes: readonly Outcome[]): Promise<void>;
  charged(key: TestKey): number;
  setBalance(nanos: number): void;
  resetBalance(): void;
}

export const OVER_HELD = { unit: 'times what was held', most: round(ESTIMATE_ERROR) };
export const OVER_CHARGED = { unit: 'times what was charged and one step', most: COUNT_ERROR };

/**
 * The most that a limit may be passed by: by the error of estimates, and by one step for each
 * stream without a maximum.
 */
export function overLimit(passes: Target, limit: number, steps = 0): { passes: Target; unit: string; most: number } {
  return { passes, unit: `times the ${passes}`, most: round(ESTIMATE_ERROR + steps / limit) };
}

function round(figure: number): number {
  return Math.ceil(figure * 1_000) / 1_000;
}

/** What the host billed for a request, over what was held when it arrived there. */
export async function billedOverHeld<Request>(site: Attacked<Request>, request: Request): Promise<number> {
  const key = site.key();
  let heldNanos = 0;
  site.host.onArrival = () => {
    heldNanos = Number(site.gateway.heldNanos(key));
  };
  const outcome = await site.send(key, request);
  await site.settled([key], [outcome]);
  return heldNanos === 0 ? 0 : billedNanos([outcome]) / heldNanos;
}

/** What the host billed, over what was charged and one step. */
export async function billedOverCharged<Request>(
  site: Attacked<Request>,
  ...requests: readonly Request[]
): Promise<number> {
  const key = site.key();
  const outcomes: Outcome[] = [];
  for (const request of requests) outcomes.push(await site.send(key, request));
  await site.settled([key], outcomes);
  return billedNanos(outcomes) / (site.charged(key) + stepNanos());
}

/** What the host billed over the whole balance of the account. */
export async function billedOverBalance<Request>(site: Attacked<Request>, nanos: number, requests: readonly Request[]) {
  const key = site.key();
  site.setBalance(nanos);
  const outcomes = await site.race(key, requests);
  await site.settled([key], outcomes);
  site.resetBalance();
  return billedNanos(outcomes) / nanos;
}

/** What the host billed over the spend limit of the key. */
export async function billedOverSpendLimit<Request>(
  site: Attacked<Request>,
  nanos: number,
  requests: readonly Request[],
) {
  const key = site.key({ spendLimitNanos: BigInt(nanos) });
  const outcomes = await site.race(key, requests);
  await site.settled([key], outcomes);
  return billedNanos(outcomes) / nanos;
}

/** Tokens that the host billed over the tokens per minute of the key. */
export async function billedOverTokenLimit<Request>(
  site: Attacked<Request>,
  tokens: number,
  requests: readonly Request[],
) {
  const key = site.key({ tpm: tokens });
  const outcomes = await site.race(key, requests);
  await site.settled([key], outcomes);
  const billed = billsOf(outcomes).reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
  return billed / tokens;
}

/** How many requests reached the host. */
export async function arrivals<Request>(site: Attacked<Request>, request: Request): Promise<number> {
  const key = site.key();
  const outcome = await site.send(key, request);
  await site.settled([key], [outcome]);
  return outcome.conversation.bills.length;
}

/** `count` steps of a stream with one choice, in nanodollars. */
export function steps(count: number): number {
  return count * stepNanos();
}
