/** Forecasts admission for a request, with the figures that the decision depends on. Changes no state. Pure. */
import { type BudgetSpend, calendarPeriod, periodOf } from '../../core/budgets.ts';
import type { Nanos } from '../../core/money.ts';
import type { KeyRecord } from '../../state/keys.ts';
import type { Standing } from '../../state/standings.ts';
import type { AdmissionForecast, AdmissionQuestion, LevelStanding } from '../ledger.ts';
import { Activity } from './activity.ts';
import { type AdmissionFacts, allowlistOf, type LevelFacts, refusalForState, refusalOf } from './admission.ts';

/** `factsFor`: the facts for a request of the key with this end user; undefined for an unknown key. */
export function forecastOf(
  { requests }: AdmissionQuestion,
  factsFor: (user: string | undefined) => AdmissionFacts | undefined,
): AdmissionForecast {
  const facts = factsFor(requests[0]?.user);
  if (facts === undefined || refusalForState(facts)?.reason === 'unknown_key') return { kind: 'unknown' };
  const { key, levels } = facts;
  const own = levels.find(({ level }) => level.id === key.id) as LevelFacts;
  return {
    kind: 'known',
    standing: {
      keyId: key.id,
      ...standingOf(own, facts),
      isLeashed: key.isLeashed,
      callable: allowlistOf(facts),
      outer: levels.filter((each) => each !== own).map((each) => ({ ...each.level.name, ...standingOf(each, facts) })),
      balanceNanos: facts.balanceNanos,
      heldNanos: facts.heldNanos,
      creditEnforced: facts.creditEnforced,
    },
    refusals: requests.map((request) => refusalOf(request, factsFor(request.user) ?? facts) ?? null),
  };
}

function standingOf({ level, activity }: LevelFacts, { month, wallMs, nowMs }: AdmissionFacts): LevelStanding {
  const { rpm, tpm, concurrency } = level.limits;
  return {
    name: level.name.name,
    isDisabled: level.state !== 'enabled',
    allowlist: level.allowlist,
    limits: { rpm, tpm, concurrency },
    requests: activity.requests.total(nowMs),
    tokens: activity.tokensUsed(nowMs),
    slots: activity.slots,
    spendLimitNanos: level.spendLimitNanos,
    chargedNanos: level.chargedNanos,
    heldOfKeyNanos: activity.heldIn(month),
    budgets: level.budgets?.spends(wallMs) ?? [],
  };
}

/** A level as stored, with its usage. */
export interface StoredLevel {
  readonly level: Omit<AdmissionFacts['levels'][number]['level'], 'chargedNanos' | 'budgets'>;
  readonly standing: Standing;
  readonly spends: readonly BudgetSpend[];
}

/**
 * The facts that a gateway would read from the state now. `stored`: the levels, innermost first; `nowMs`: any moment of
 * a monotonic clock.
 */
export function factsOfStanding(
  key: KeyRecord,
  stored: readonly StoredLevel[],
  creditEnforced: boolean,
  { wallMs, nowMs }: Moment,
): AdmissionFacts {
  const { standing } = stored.find(({ level }) => level.id === key.id) as StoredLevel;
  const { month, balanceNanos, heldNanos } = standing;
  const levels = stored.map((each) => factsOfLevel(each, { wallMs, nowMs }));
  return { key, levels, month, balanceNanos, heldNanos, creditEnforced, wallMs, nowMs };
}

interface Moment {
  readonly wallMs: number;
  readonly nowMs: number;
}

function factsOfLevel({ level, standing, spends }: StoredLevel, { wallMs, nowMs }: Moment): LevelFacts {
  const activity = new Activity();
  for (const { ageMs, requests, tokens } of standing.entries.toSorted((a, b) => b.ageMs - a.ageMs)) {
    if (requests > 0) activity.requests.add(nowMs - ageMs, requests);
    if (tokens > 0) activity.tokens.add(nowMs - ageMs, tokens);
  }
  for (const { hold, ageMs, month, reservedTokens, hasSlot } of standing.open) {
    activity.open({ hold, reservedTokens, month, admittedMonotonicMs: nowMs - ageMs, hasSlot });
  }
  const budgets = {
    spends: () => spends,
    rooms: () => spends.map((spend) => ({ ...spend, heldNanos: heldOf(spend, activity, wallMs) })),
  };
  return { level: { ...level, chargedNanos: standing.chargedNanos, budgets }, activity };
}

/** Day and week budgets count the holds of requests admitted in the period; other budgets count all open holds. */
function heldOf(spend: BudgetSpend, activity: Activity, wallMs: number): Nanos {
  const { kind } = periodOf(spend);
  if (kind === 'total' || kind === 'sliding') return activity.heldBetween();
  const { fromMs, toMs } = calendarPeriod(kind, wallMs);
  return activity.heldBetween(fromMs, toMs);
}
