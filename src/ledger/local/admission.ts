/** Decides whether a request is admitted: every precondition, in a fixed order. Pure. */
import type { Limits } from '../../core/limits.ts';
import type { Nanos } from '../../core/money.ts';
import { isGone, type KeyRecord } from '../../state/keys.ts';
import type { AdmissionRequest, Refusal } from '../ledger.ts';
import { spendRefusal } from '../spending.ts';
import type { Activity } from './activity.ts';
import type { KeyBudgets } from './key-budgets.ts';
import { type Leaving, secondsUntil, timeUntilFreed } from './window.ts';

/** Everything a decision depends on, at one moment. */
export interface AdmissionFacts {
  readonly key: KeyRecord;
  readonly limits: Limits;
  readonly activity: Activity;
  /** The current month, and what the key was charged in it. */
  readonly month: string;
  readonly chargedNanos: Nanos;
  /** Undefined for a key that has none. */
  readonly budgets: Pick<KeyBudgets, 'spends' | 'rooms'> | undefined;
  readonly balanceNanos: Nanos;
  /** The sum of all open holds, of all keys. */
  readonly heldNanos: Nanos;
  readonly creditEnforced: boolean;
  readonly wallMs: number;
  readonly nowMs: number;
}

const NOTHING: readonly Leaving[] = [];
const NO_BUDGETS: readonly never[] = [];
/**
 * `Retry-After` for slots and held money: they are released when a request ends, and nobody knows
 * when.
 */
const SOON_S = 1;

/** The first reason to refuse a request, or undefined. Changes nothing. */
export function refusalOf(request: AdmissionRequest, facts: AdmissionFacts): Refusal | undefined {
  const { key } = facts;
  if (isGone(key, facts.wallMs)) return { reason: 'unknown_key' };
  if (key.state === 'disabled') return { reason: 'key_disabled' };
  if (key.allowlist !== null && !key.allowlist.includes(request.model)) return { reason: 'model_not_allowed' };
  return refusalForMoney(request, facts) ?? refusalForRate(request, facts);
}

/** What a request takes from money and windows. */
type Need = Pick<AdmissionRequest, 'holdNanos' | 'reservedTokens'>;

/**
 * Why any request with at least this hold is refused, or undefined. It needs tokens as well, but how
 * many, and so for how long to wait for them, only its body says. Changes nothing.
 */
export function refusalOfLeast(facts: AdmissionFacts, holdNanos: Nanos): Refusal | undefined {
  const need = { holdNanos, reservedTokens: 0 };
  return refusalForMoney(need, facts) ?? refusalForRate(need, facts);
}

function refusalForMoney(request: Need, facts: AdmissionFacts): Refusal | undefined {
  const { key, chargedNanos, budgets, wallMs } = facts;
  const month = { limitNanos: key.spendLimitNanos, chargedNanos, atMs: wallMs };
  const refusal = spendRefusal(month, budgets?.spends(wallMs) ?? NO_BUDGETS);
  if (refusal !== undefined) return refusal;
  if (needsCredit(request, facts) && facts.balanceNanos < request.holdNanos) {
    return { reason: 'insufficient_credit', balanceNanos: facts.balanceNanos };
  }
  return undefined;
}

function needsCredit(request: Need, facts: AdmissionFacts): boolean {
  return facts.creditEnforced && request.holdNanos > 0n;
}

/** If several limits are exceeded, the reason is the first of them and the wait the longest. */
function refusalForRate(request: Need, facts: AdmissionFacts): Refusal | undefined {
  const { limits } = facts;
  if (request.reservedTokens > limits.tpm) return { reason: 'larger_than_token_limit', limit: limits.tpm };
  const refusals: Extract<Refusal, { retryAfterS: number }>[] = [];
  const requestsWait = waitForRequests(facts);
  if (requestsWait > 0) refusals.push({ reason: 'requests_per_minute', limit: limits.rpm, retryAfterS: requestsWait });
  const tokensWait = waitForTokens(request, facts);
  if (tokensWait > 0) refusals.push({ reason: 'tokens_per_minute', limit: limits.tpm, retryAfterS: tokensWait });
  if (facts.activity.slots >= limits.concurrency) {
    refusals.push({ reason: 'concurrency', limit: limits.concurrency, retryAfterS: SOON_S });
  }
  if (isMoneySpokenFor(request, facts)) refusals.push({ reason: 'money_spoken_for', retryAfterS: SOON_S });
  const [first] = refusals;
  return first && { ...first, retryAfterS: Math.max(...refusals.map((refusal) => refusal.retryAfterS)) };
}

/** Seconds until one more request fits, or 0 if it fits now. */
function waitForRequests({ activity, limits, nowMs }: AdmissionFacts): number {
  const need = activity.requests.total(nowMs) + 1 - limits.rpm;
  return need <= 0 ? 0 : secondsUntil(timeUntilFreed(need, activity.requests.leaving(), NOTHING), nowMs);
}

function waitForTokens(request: Need, { activity, limits, nowMs }: AdmissionFacts): number {
  const need = activity.tokensUsed(nowMs) + request.reservedTokens - limits.tpm;
  if (need <= 0) return 0;
  return secondsUntil(timeUntilFreed(need, activity.tokens.leaving(), activity.leavingReservations()), nowMs);
}

/** True if the money is there, but open holds may still use it. */
function isMoneySpokenFor(request: Need, facts: AdmissionFacts): boolean {
  const { spendLimitNanos } = facts.key;
  if (spendLimitNanos !== null) {
    const held = facts.activity.heldIn(facts.month);
    if (held > 0n && facts.chargedNanos + held >= spendLimitNanos) return true;
  }
  const rooms = facts.budgets?.rooms(facts.activity, facts.wallMs) ?? NO_BUDGETS;
  const isSpokenFor = rooms.some(
    ({ limitNanos, chargedNanos, heldNanos }) => heldNanos > 0n && chargedNanos + heldNanos >= limitNanos,
  );
  if (isSpokenFor) return true;
  return needsCredit(request, facts) && facts.balanceNanos - facts.heldNanos < request.holdNanos;
}

/** Seconds until the key may list models again, or 0 if it may now. */
export function waitForListing({
  activity,
  limits,
  nowMs,
}: Pick<AdmissionFacts, 'activity' | 'limits' | 'nowMs'>): number {
  const need = activity.listings.total(nowMs) + 1 - limits.modelsRpm;
  return need <= 0 ? 0 : secondsUntil(timeUntilFreed(need, activity.listings.leaving(), NOTHING), nowMs);
}
