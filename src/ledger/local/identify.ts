/** Decides commands other than completions: identifying a client, listing models, and counting tokens. */
import type { Limits, RateFigures } from '../../core/limits.ts';
import { type RequestWindow, untouchedFigures } from '../figures.ts';
import type { AtLevel, Identity, KeyAccount, LevelAccount, ListingAdmission } from '../ledger.ts';
import {
  type AdmissionFacts,
  allowlistOf,
  type LevelFacts,
  refusalForState,
  refusalOfLeast,
  waitForListing,
} from './admission.ts';

/** `facts`: undefined for an unknown client, which gets figures from the limits `defaults`. */
export function identify(
  facts: AdmissionFacts | undefined,
  defaults: Limits,
  window: RequestWindow = 'requests',
): Identity {
  const off = facts && refusalForState(facts);
  if (facts === undefined || off?.reason === 'unknown_key') {
    return { kind: 'unknown', figures: untouchedFigures(window, defaults) };
  }
  const { key, levels } = facts;
  const figures = window === 'requests' ? figuresOf(window, facts) : figuresOfListings(facts);
  if (off?.reason === 'key_disabled') return { kind: 'disabled', keyId: key.id, figures, ...levelOf(off) };
  const refusal = refusalOfLeast(facts, 1n);
  return {
    kind: 'enabled',
    keyId: key.id,
    allowlist: allowlistOf(facts),
    concurrency: own(facts).level.limits.concurrency,
    isLeashed: key.isLeashed,
    requiresUser: levels.some(({ level }) => level.requiresUser),
    freeSlots: freeSlotsOf(facts),
    refusal,
    refusalIfFree: refusal && refusalOfLeast(facts, 0n),
    figures,
  };
}

/**
 * Admits a listing and adds it to the window of listings, or refuses it. `facts`: undefined for an unknown client.
 * `counts`: for a token count, which needs a slot, the counts in flight missing from its activity.
 */
export function admitListing(
  facts: AdmissionFacts | undefined,
  defaults: Limits,
  counts: number | undefined,
): ListingAdmission {
  const off = facts && refusalForState(facts);
  if (facts === undefined || off?.reason === 'unknown_key') {
    return { kind: 'unknown', figures: untouchedFigures('listings', defaults) };
  }
  const { key, nowMs } = facts;
  const { level, activity } = own(facts);
  const { limits } = level;
  const figures = () => figuresOfListings(facts);
  if (off?.reason === 'key_disabled') return { kind: 'disabled', keyId: key.id, figures: figures(), ...levelOf(off) };
  const retryAfterS = waitForListing(activity, limits, nowMs);
  if (retryAfterS > 0)
    return { kind: 'limited', keyId: key.id, retryAfterS, limit: limits.modelsRpm, figures: figures() };
  const account = accountOf(facts);
  if (counts !== undefined && limits.concurrency - activity.slots <= counts)
    return { kind: 'busy', keyId: key.id, limit: limits.concurrency, figures: account.requests };
  activity.listings.add(nowMs, 1);
  const terms = { allowlist: allowlistOf(facts), concurrency: limits.concurrency };
  return { kind: 'admitted', keyId: key.id, ...terms, account, figures: figures() };
}

/** The figures of the level with the least left, separately for requests and for tokens; of equal levels the innermost. */
export function figuresOf(
  name: RequestWindow,
  { levels, nowMs }: Pick<AdmissionFacts, 'levels' | 'nowMs'>,
): RateFigures {
  const [first, ...outer] = levels as [LevelFacts, ...LevelFacts[]];
  let figures = first.activity.figures(name, first.level.limits, nowMs);
  for (const { level, activity } of outer) {
    const { rpm, tpm } = level.limits;
    // Zero cannot be undercut. A lowered limit leaves a negative amount, which also counts as zero.
    const { remainingRequests, remainingTokens } = figures;
    if (remainingRequests > 0 && rpm - activity[name].total(nowMs) < remainingRequests) {
      figures = { ...figures, ...activity.requestFigures(name, level.limits, nowMs) };
    }
    if (remainingTokens > 0 && tpm - activity.tokensUsed(nowMs) < remainingTokens) {
      figures = { ...figures, ...activity.tokenFigures(level.limits, nowMs) };
    }
  }
  return figures;
}

/** Only the key itself limits listings. */
function figuresOfListings(facts: AdmissionFacts): RateFigures {
  const { level, activity } = own(facts);
  return activity.figures('listings', level.limits, facts.nowMs);
}

function accountOf(facts: AdmissionFacts): KeyAccount {
  const { key, levels, wallMs } = facts;
  const { level } = own(facts);
  return {
    name: key.name,
    spendLimitNanos: level.spendLimitNanos,
    chargedNanos: level.chargedNanos,
    budgets: level.budgets?.spends(wallMs) ?? [],
    expiresAtMs: key.expiresAtMs,
    requests: own(facts).activity.figures('requests', level.limits, facts.nowMs),
    freeSlots: freeSlotsOf(facts),
    outer: levels.filter(({ level: { id } }) => id !== key.id).map((each) => outerAccountOf(each, facts)),
  };
}

function outerAccountOf({ level, activity }: LevelFacts, { wallMs, nowMs }: AdmissionFacts): LevelAccount {
  return {
    ...level.name,
    spendLimitNanos: level.spendLimitNanos,
    chargedNanos: level.chargedNanos,
    budgets: level.budgets?.spends(wallMs) ?? [],
    requests: activity.figures('requests', level.limits, nowMs),
    concurrency: level.limits.concurrency,
    freeSlots: Math.max(0, level.limits.concurrency - activity.slots),
  };
}

function levelOf({ level }: AtLevel): AtLevel {
  return level === undefined ? {} : { level };
}

/** The level of the key itself. */
function own({ key, levels }: AdmissionFacts): LevelFacts {
  return levels.find(({ level }) => level.id === key.id) as LevelFacts;
}

function freeSlotsOf({ levels }: AdmissionFacts): number {
  return Math.max(0, Math.min(...levels.map(({ level, activity }) => level.limits.concurrency - activity.slots)));
}
