/** Decides whether a request is admitted: checks every precondition in a fixed order, at all levels. Pure. */
import type { Limits } from '../../core/limits.ts';
import type { Nanos } from '../../core/money.ts';
import { isGone, type KeyRecord } from '../../state/keys.ts';
import type { LevelName } from '../../state/levels.ts';
import type { AdmissionRequest, AtLevel, Refusal } from '../ledger.ts';
import { type Reached, reachedOf, refusalFor } from '../spending.ts';
import type { Activity } from './activity.ts';
import type { LevelBudgets } from './level-budgets.ts';
import type { Level } from './level-cache.ts';
import { type Leaving, secondsUntil, timeUntilFreed } from './window.ts';

/** The state of one level that a decision depends on. */
export interface LevelFacts {
  readonly level: Omit<Level, 'budgets' | 'month'> & {
    readonly budgets: Pick<LevelBudgets, 'spends' | 'rooms'> | undefined;
  };
  readonly activity: Activity;
}

/** The state that a decision depends on, at one moment. */
export interface AdmissionFacts {
  readonly key: KeyRecord;
  /** Innermost first. */
  readonly levels: readonly LevelFacts[];
  readonly month: string;
  readonly balanceNanos: Nanos;
  /** The sum of the open holds of all keys. */
  readonly heldNanos: Nanos;
  readonly creditEnforced: boolean;
  readonly wallMs: number;
  readonly nowMs: number;
}

const NOTHING: readonly Leaving[] = [];
const NO_BUDGETS: readonly never[] = [];
const OWN: AtLevel = {};
/** `Retry-After` for slots and held money. They are released when a request ends, at an unknown time. */
const SOON_S = 1;

/** The first reason to refuse a request; undefined if it can be admitted. Changes no state. */
export function refusalOf(request: Omit<AdmissionRequest, 'keyHash'>, facts: AdmissionFacts): Refusal | undefined {
  return (
    refusalForState(facts) ??
    refusalForModel(request, facts) ??
    refusalForUser(request, facts) ??
    refusalForMoney(request, facts) ??
    refusalForRate(request, facts)
  );
}

/** Reasons that apply to every request: a disabled or expired key, or a disabled group. */
export function refusalForState(facts: AdmissionFacts): Refusal | undefined {
  const { levels, wallMs } = facts;
  if (levels.some(({ level }) => level.name.kind === 'key' && isGone(level, wallMs))) return { reason: 'unknown_key' };
  return refusalForOff(facts, ({ kind }) => kind !== 'user');
}

function refusalForOff(facts: AdmissionFacts, isAsked: (name: LevelName) => boolean): Refusal | undefined {
  const off = facts.levels.find(({ level: { state, name } }) => state !== 'enabled' && isAsked(name));
  return off && { reason: 'key_disabled', ...at(off, facts) };
}

function refusalForModel({ model }: Pick<AdmissionRequest, 'model'>, facts: AdmissionFacts): Refusal | undefined {
  const without = facts.levels.find(({ level: { allowlist } }) => allowlist !== null && !allowlist.includes(model));
  return without && { reason: 'model_not_allowed', ...at(without, facts) };
}

/**
 * Refuses a blocked end user, or a missing name if a level requires one. Runs after the checks of key and model,
 * because the name may only be in the body.
 */
function refusalForUser({ user }: Pick<AdmissionRequest, 'user'>, facts: AdmissionFacts): Refusal | undefined {
  if (user !== undefined) return refusalForOff(facts, ({ kind }) => kind === 'user');
  const asking = facts.levels.find(({ level }) => level.requiresUser);
  return asking && { reason: 'user_required', ...at(asking, facts) };
}

/** The intersection of the allowlists of all levels; null for every model. */
export function allowlistOf({ levels }: Pick<AdmissionFacts, 'levels'>): readonly string[] | null {
  return levels.reduce<readonly string[] | null>((all, { level: { allowlist } }) => {
    if (all === null || allowlist === null) return all ?? allowlist;
    return all.filter((model) => allowlist.includes(model));
  }, null);
}

/** The money and tokens that a request needs. */
type Need = Pick<AdmissionRequest, 'holdNanos' | 'reservedTokens'>;

/**
 * The reason to refuse every request with at least this hold; undefined if there is no such reason. The tokens needed,
 * and so the time to wait for them, are known only with the body. Changes no state.
 */
export function refusalOfLeast(facts: AdmissionFacts, holdNanos: Nanos): Refusal | undefined {
  const need = { holdNanos, reservedTokens: 0 };
  return refusalForMoney(need, facts) ?? refusalForRate(need, facts);
}

/** If several spend limits are reached, at any levels, reports the one that frees last. */
function refusalForMoney(request: Need, facts: AdmissionFacts): Refusal | undefined {
  let reached: readonly (Reached & AtLevel)[] = NO_BUDGETS;
  for (const each of facts.levels) {
    const { spendLimitNanos, chargedNanos, budgets } = each.level;
    if (spendLimitNanos === null && budgets === undefined) continue;
    const month = { limitNanos: spendLimitNanos, chargedNanos, atMs: facts.wallMs };
    const own = reachedOf(month, budgets?.spends(facts.wallMs) ?? NO_BUDGETS);
    if (own.length > 0) reached = [...reached, ...own.map((limit) => ({ ...limit, ...at(each, facts) }))];
  }
  if (reached.length > 0) return refusalFor(reached, facts.key.name);
  if (needsCredit(request, facts) && facts.balanceNanos < request.holdNanos) {
    return { reason: 'insufficient_credit', keyName: facts.key.name, balanceNanos: facts.balanceNanos };
  }
  return undefined;
}

function needsCredit(request: Need, facts: AdmissionFacts): boolean {
  return facts.creditEnforced && request.holdNanos > 0n;
}

type Waiting = Extract<Refusal, { retryAfterS: number }>;

/** The rate checks in order of precedence: each runs at all levels before the next one. */
const RATE_CHECKS: readonly ((need: Need, of: LevelFacts, facts: AdmissionFacts) => Waiting | undefined)[] = [
  (_, of, { nowMs }) => {
    const limit = of.level.limits.rpm;
    const retryAfterS = waitForRequests(of, nowMs);
    return retryAfterS > 0 ? { reason: 'requests_per_minute', limit, retryAfterS } : undefined;
  },
  (need, of, { nowMs }) => {
    const limit = of.level.limits.tpm;
    const retryAfterS = waitForTokens(need, of, nowMs);
    return retryAfterS > 0 ? { reason: 'tokens_per_minute', limit, retryAfterS } : undefined;
  },
  (_, { level, activity }) => {
    const limit = level.limits.concurrency;
    return activity.slots >= limit ? { reason: 'concurrency', limit, retryAfterS: SOON_S } : undefined;
  },
  (_, of, facts) => (isMoneySpokenFor(of, facts) ? { reason: 'money_spoken_for', retryAfterS: SOON_S } : undefined),
];

/** If several limits are exceeded, reports the first reason and the longest wait. */
function refusalForRate(request: Need, facts: AdmissionFacts): Refusal | undefined {
  const { levels } = facts;
  const tooSmall = levels.find(({ level }) => request.reservedTokens > level.limits.tpm);
  if (tooSmall !== undefined) {
    return { reason: 'larger_than_token_limit', limit: tooSmall.level.limits.tpm, ...at(tooSmall, facts) };
  }
  let first: Waiting | undefined;
  let retryAfterS = 0;
  const refuse = (refusal: Waiting, where: AtLevel) => {
    first ??= { ...refusal, ...where };
    retryAfterS = Math.max(retryAfterS, refusal.retryAfterS);
  };
  for (const check of RATE_CHECKS) {
    for (const of of levels) {
      const refusal = check(request, of, facts);
      if (refusal !== undefined) refuse(refusal, at(of, facts));
    }
  }
  const { balanceNanos, heldNanos } = facts;
  if (needsCredit(request, facts) && balanceNanos - heldNanos < request.holdNanos) {
    refuse({ reason: 'money_spoken_for', retryAfterS: SOON_S }, OWN);
  }
  return first && { ...first, retryAfterS };
}

/** Seconds until one more request fits; 0 if it fits now. */
function waitForRequests({ level, activity }: LevelFacts, nowMs: number): number {
  const need = activity.requests.total(nowMs) + 1 - level.limits.rpm;
  return need <= 0 ? 0 : secondsUntil(timeUntilFreed(need, activity.requests.leaving(), NOTHING), nowMs);
}

function waitForTokens(request: Need, { level, activity }: LevelFacts, nowMs: number): number {
  const need = activity.tokensUsed(nowMs) + request.reservedTokens - level.limits.tpm;
  if (need <= 0) return 0;
  return secondsUntil(timeUntilFreed(need, activity.tokens.leaving(), activity.leavingReservations()), nowMs);
}

/** Whether charges leave money below a limit, but open holds may still use it. */
function isMoneySpokenFor({ level, activity }: LevelFacts, { month, wallMs }: AdmissionFacts): boolean {
  const { spendLimitNanos, chargedNanos, budgets } = level;
  if (spendLimitNanos !== null) {
    const held = activity.heldIn(month);
    if (held > 0n && chargedNanos + held >= spendLimitNanos) return true;
  }
  const rooms = budgets?.rooms(activity, wallMs) ?? NO_BUDGETS;
  return rooms.some((room) => room.heldNanos > 0n && room.chargedNanos + room.heldNanos >= room.limitNanos);
}

/** The level in a refusal; empty for the request's own key. */
export function at({ level }: LevelFacts, { key }: { readonly key: Pick<KeyRecord, 'id'> }): AtLevel {
  return level.id === key.id ? OWN : { level: level.name };
}

/** Seconds until the key may list models again; 0 if it may now. */
export function waitForListing(activity: Activity, limits: Limits, nowMs: number): number {
  const need = activity.listings.total(nowMs) + 1 - limits.modelsRpm;
  return need <= 0 ? 0 : secondsUntil(timeUntilFreed(need, activity.listings.leaving(), NOTHING), nowMs);
}
