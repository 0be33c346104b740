/** What admission would say of a request, and the figures that it would decide by. Changes nothing. Pure. */
import { type BudgetSpend, calendarPeriod, periodOf } from '../../core/budgets.ts';
import type { Limits } from '../../core/limits.ts';
import type { Nanos } from '../../core/money.ts';
import { isGone, type KeyRecord, limitsInForce } from '../../state/keys.ts';
import type { Standing } from '../../state/standings.ts';
import type { AdmissionForecast, AdmissionQuestion } from '../ledger.ts';
import { Activity } from './activity.ts';
import { type AdmissionFacts, refusalOf } from './admission.ts';

/** `facts` are undefined where there is no such key. */
export function forecastOf({ requests }: AdmissionQuestion, facts: AdmissionFacts | undefined): AdmissionForecast {
  if (facts === undefined || isGone(facts.key, facts.wallMs)) return { kind: 'unknown' };
  const { key, limits, activity, nowMs } = facts;
  return {
    kind: 'known',
    standing: {
      keyId: key.id,
      name: key.name,
      isDisabled: key.state === 'disabled',
      isLeashed: key.leash !== undefined,
      allowlist: key.allowlist,
      limits: { rpm: limits.rpm, tpm: limits.tpm, concurrency: limits.concurrency },
      requests: activity.requests.total(nowMs),
      tokens: activity.tokensUsed(nowMs),
      slots: activity.slots,
      spendLimitNanos: key.spendLimitNanos,
      chargedNanos: facts.chargedNanos,
      heldOfKeyNanos: activity.heldIn(facts.month),
      budgets: facts.budgets?.spends(facts.wallMs) ?? [],
      balanceNanos: facts.balanceNanos,
      heldNanos: facts.heldNanos,
      creditEnforced: facts.creditEnforced,
    },
    refusals: requests.map((request) => refusalOf(request, facts) ?? null),
  };
}

/** What a gateway would know of a key that it reads from the state now; `nowMs` is any moment of a steady clock. */
export function factsOfStanding(
  key: KeyRecord,
  standing: Standing,
  spends: readonly BudgetSpend[],
  settings: Limits & { readonly creditEnforced: boolean },
  { wallMs, nowMs }: { readonly wallMs: number; readonly nowMs: number },
): AdmissionFacts {
  const activity = new Activity();
  for (const { ageMs, requests, tokens } of standing.entries.toSorted((a, b) => b.ageMs - a.ageMs)) {
    if (requests > 0) activity.requests.add(nowMs - ageMs, requests);
    if (tokens > 0) activity.tokens.add(nowMs - ageMs, tokens);
  }
  for (const { hold, ageMs, month, reservedTokens, hasSlot } of standing.open) {
    activity.open({ hold, reservedTokens, month, admittedMonotonicMs: nowMs - ageMs, hasSlot });
  }
  return {
    key,
    limits: limitsInForce(key, settings),
    activity,
    month: standing.month,
    chargedNanos: standing.chargedNanos,
    balanceNanos: standing.balanceNanos,
    heldNanos: standing.heldNanos,
    creditEnforced: settings.creditEnforced,
    budgets: {
      spends: () => spends,
      rooms: () => spends.map((spend) => ({ ...spend, heldNanos: heldOf(spend, activity, wallMs) })),
    },
    wallMs,
    nowMs,
  };
}

/** A day or a week counts the requests that it admitted, the other periods all that are open. */
function heldOf(spend: BudgetSpend, activity: Activity, wallMs: number): Nanos {
  const { kind } = periodOf(spend);
  if (kind === 'total' || kind === 'sliding') return activity.heldBetween();
  const { fromMs, toMs } = calendarPeriod(kind, wallMs);
  return activity.heldBetween(fromMs, toMs);
}
