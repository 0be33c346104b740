/** What the database has decided, as answers to the commands of a batch. Pure. */
import { invariant } from '../../core/invariant.ts';
import type { RateFigures } from '../../core/limits.ts';
import type { Decided, DecidedAsk, DecidedKey, ReachedLimits, Used } from '../../state/postgres/decided.ts';
import { untouchedFigures } from '../figures.ts';
import type {
  AdmissionForecast,
  Identity,
  LedgerSettings,
  ListingAdmission,
  Refusal,
  SpendRefusal,
} from '../ledger.ts';
import type { Answer, Command } from '../protocol.ts';
import { reachedMonth, refusalFor, spendRefusal } from '../spending.ts';
import type { Placed, PlacedBatch } from './batch.ts';

/** The answers to the commands of a batch, in their order. */
export function answersOf({ placed }: PlacedBatch, decided: Decided, settings: LedgerSettings): Answer[] {
  return placed.map((command) => answerOf(command, decided, settings));
}

function answerOf(command: Placed, decided: Decided, settings: LedgerSettings): Answer {
  switch (command.kind) {
    case 'other':
      return undefined;
    case 'unknown_key':
      return answerToUnknown(command.command, settings);
    case 'settle': {
      const key = keyAt(decided, command.key);
      return figuresOf(key.used, key.rpm, key.tpm);
    }
    case 'grow':
      return answerToGrowth(decided, command);
    case 'admit':
      return answerToAdmission(decided, command, settings);
    case 'forecast':
      return answerToForecast(decided, command, settings);
    case 'listing':
      return answerToListing(decided, command, settings);
    case 'identity':
      return answerToIdentity(decided, command, settings);
  }
}

function answerToUnknown(command: Command, settings: LedgerSettings): Answer {
  if (command.kind === 'forecast') return { kind: 'unknown' };
  const isListing = command.kind === 'admit_listing';
  const figures = untouchedFigures(isListing ? 'listings' : 'requests', settings);
  if (command.kind !== 'admit') return { kind: 'unknown', figures };
  return { admitted: false, refusal: { reason: 'unknown_key' }, figures };
}

function answerToGrowth(decided: Decided, { key, position }: Extract<Placed, { kind: 'grow' }>): Answer {
  const growth = decided.growths[position];
  invariant(growth !== undefined, () => `growth ${position} of a batch was not decided`);
  switch (growth.code) {
    case 0:
      return { granted: true, holdNanos: growth.holdNanos as bigint };
    case 4:
      return {
        granted: false,
        refusal: reachedBy(growth.reached, keyAt(decided, key)),
      };
    case 5:
      return { granted: false, refusal: { reason: 'insufficient_credit', balanceNanos: decided.balanceNanos } };
    default:
      return { unavailable: 'this gateway was taken for dead while the request ran, and its hold was charged' };
  }
}

function reachedBy(reached: ReachedLimits | undefined, { spendLimitNanos, chargedNanos }: DecidedKey): SpendRefusal {
  invariant(reached !== undefined, () => 'a growth is refused for a limit, but none is reached');
  const month = { limitNanos: spendLimitNanos, chargedNanos, atMs: reached.admittedAtMs };
  const refusal = refusalFor([...(reached.month ? [reachedMonth(month)] : []), ...reached.budgets]);
  invariant(refusal !== undefined, () => 'a growth is refused for a limit, but none is named');
  return refusal;
}

function answerToAdmission(
  decided: Decided,
  { key: at, ask: position, request }: Extract<Placed, { kind: 'admit' }>,
  settings: LedgerSettings,
): Answer {
  const key = keyAt(decided, at);
  const ask = askAt(decided, position);
  const refusal = refusalOf(ask, key, decided);
  if (refusal?.reason === 'unknown_key')
    return { admitted: false, refusal, figures: untouchedFigures('requests', settings) };
  const figures = figuresOf(ask.used, key.rpm, key.tpm);
  if (refusal !== undefined) return { admitted: false, refusal, figures };
  if (request.fallbacks === undefined) return { admitted: true, figures };
  return { admitted: true, figures, fallbacks: request.fallbacks.filter((id) => key.allowlist?.includes(id) ?? true) };
}

function answerToListing(
  decided: Decided,
  { key: at, ask: position, keyId }: Extract<Placed, { kind: 'listing' }>,
  settings: LedgerSettings,
): ListingAdmission {
  const { modelsRpm } = settings;
  const key = keyAt(decided, at);
  const ask = askAt(decided, position);
  if (ask.code === 1) return { kind: 'unknown', figures: untouchedFigures('listings', settings) };
  const figures = figuresOf(ask.used, modelsRpm, key.tpm);
  if (ask.code === 2) return { kind: 'disabled', keyId, figures };
  if (ask.code !== 0) return { kind: 'limited', keyId, retryAfterS: ask.retryAfterS, limit: modelsRpm, figures };
  const account = {
    name: key.name as string,
    spendLimitNanos: key.spendLimitNanos,
    chargedNanos: key.chargedNanos,
    budgets: key.budgets,
    expiresAtMs: key.expiresAtMs,
    requests: figuresOf(key.used, key.rpm, key.tpm),
    freeSlots: freeSlotsOf(key),
  };
  const { allowlist, concurrency } = key;
  return { kind: 'admitted', keyId, allowlist, concurrency, account, figures };
}

function answerToIdentity(
  decided: Decided,
  { key: at, ask: position, known: { id: keyId, isLeashed } }: Extract<Placed, { kind: 'identity' }>,
  settings: LedgerSettings,
): Identity {
  const key = keyAt(decided, at);
  const ask = askAt(decided, position);
  if (ask.code === 1) return { kind: 'unknown', figures: untouchedFigures('requests', settings) };
  const figures = figuresOf(ask.used, key.rpm, key.tpm);
  if (ask.code === 2) return { kind: 'disabled', keyId, figures };
  const { allowlist, concurrency } = key;
  const freeSlots = freeSlotsOf(key);
  const refusal = refusalOf(ask, key, decided);
  const refusalIfFree = refusal && refusalOf(askAt(decided, position + 1), key, decided);
  return { kind: 'enabled', keyId, allowlist, concurrency, isLeashed, freeSlots, refusal, refusalIfFree, figures };
}

function freeSlotsOf({ concurrency, slots }: DecidedKey): number {
  return Math.max(0, concurrency - slots);
}

/** What is held, `decide` does not say: the engine adds it. */
function answerToForecast(
  decided: Decided,
  { key: at, asks, known }: Extract<Placed, { kind: 'forecast' }>,
  { creditEnforced }: LedgerSettings,
): AdmissionForecast {
  const { name, state, allowlist, rpm, tpm, concurrency, slots, spendLimitNanos, chargedNanos, budgets, used } = keyAt(
    decided,
    at,
  );
  if (state === 'deleted') return { kind: 'unknown' };
  return {
    kind: 'known',
    standing: {
      keyId: known.id,
      name: name as string,
      isDisabled: state === 'disabled',
      isLeashed: known.isLeashed,
      allowlist,
      limits: { rpm, tpm, concurrency },
      requests: used.requests,
      tokens: used.tokens,
      slots,
      spendLimitNanos,
      chargedNanos,
      heldOfKeyNanos: 0n,
      budgets,
      balanceNanos: decided.balanceNanos,
      heldNanos: 0n,
      creditEnforced,
    },
    refusals: asks.map((ask) => refusalOf(askAt(decided, ask), keyAt(decided, at), decided) ?? null),
  };
}

/** The refusal behind a code of `decide_batch`; undefined for 0. */
function refusalOf({ code, retryAfterS }: DecidedAsk, key: DecidedKey, decided: Decided): Refusal | undefined {
  switch (code) {
    case 0:
      return undefined;
    case 1:
      return { reason: 'unknown_key' };
    case 2:
      return { reason: 'key_disabled' };
    case 3:
      return { reason: 'model_not_allowed' };
    case 4:
      return spentBy(key, decided);
    case 5:
      return { reason: 'insufficient_credit', balanceNanos: decided.balanceNanos };
    case 6:
      return { reason: 'larger_than_token_limit', limit: key.tpm };
    case 7:
      return { reason: 'requests_per_minute', limit: key.rpm, retryAfterS };
    case 8:
      return { reason: 'tokens_per_minute', limit: key.tpm, retryAfterS };
    case 9:
      return { reason: 'concurrency', limit: key.concurrency, retryAfterS };
    default:
      return { reason: 'money_spoken_for', retryAfterS };
  }
}

/** Asks of a batch change nothing of what is charged: what is reached after them was reached before. */
function spentBy({ spendLimitNanos, chargedNanos, budgets }: DecidedKey, { atUs }: Decided): SpendRefusal {
  const refusal = spendRefusal({ limitNanos: spendLimitNanos, chargedNanos, atMs: Number(atUs / 1_000n) }, budgets);
  invariant(refusal !== undefined, () => 'an ask is refused for a limit, but none is reached');
  return refusal;
}

function figuresOf(used: Used, limitRequests: number, limitTokens: number): RateFigures {
  return {
    limitRequests,
    remainingRequests: Math.max(0, limitRequests - used.requests),
    resetRequestsS: used.resetRequestsS,
    limitTokens,
    remainingTokens: Math.max(0, limitTokens - used.tokens),
    resetTokensS: used.resetTokensS,
  };
}

function keyAt({ keys }: Decided, position: number): DecidedKey {
  const key = keys[position - 1];
  invariant(key !== undefined, () => `key ${position} of a batch was not decided`);
  return key;
}

function askAt({ asks }: Decided, position: number): DecidedAsk {
  const ask = asks[position];
  invariant(ask !== undefined, () => `ask ${position} of a batch was not decided`);
  return ask;
}
