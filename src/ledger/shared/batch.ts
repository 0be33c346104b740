/** Commands as a batch for the database, and its decisions as answers. Pure. */

import { invariant } from '../../core/invariant.ts';
import type { RateFigures } from '../../core/limits.ts';
import type { Settlement } from '../../core/settlement.ts';
import { cacheWritesOf } from '../../core/usage.ts';
import {
  type Batch,
  type Decided,
  type DecidedAsk,
  type DecidedKey,
  emptyBatch,
  type SettlementColumns,
  type Used,
} from '../../state/postgres/batch.ts';
import { untouchedFigures } from '../figures.ts';
import type { AdmissionRequest, Growth, Identity, LedgerSettings, ListingAdmission, Refusal } from '../ledger.ts';
import type { Answer, Command } from '../protocol.ts';

/** A command whose key is known, and where its parts stand in the batch. */
type Placed =
  | { readonly kind: 'settle'; readonly key: number }
  | { readonly kind: 'grow'; readonly key: number; readonly position: number }
  | { readonly kind: 'admit'; readonly key: number; readonly ask: number; readonly request: AdmissionRequest }
  | { readonly kind: 'listing' | 'identity'; readonly key: number; readonly ask: number; readonly keyId: string }
  | { readonly kind: 'unknown_key'; readonly command: Command }
  | { readonly kind: 'other' };

/** Who a command acts for: the key of its open request, or that with its hash. */
export interface KeyLookup {
  ofHash(keyHash: string): string | undefined;
  /** Undefined if the request is not open. */
  ofRequest(requestId: string): string | undefined;
}

export interface PlacedBatch {
  readonly batch: Batch;
  readonly placed: readonly Placed[];
}

/** The key of a command; undefined if it has none, or none is known. */
function keyOfCommand(command: Command, lookup: KeyLookup): string | undefined {
  switch (command.kind) {
    case 'admit':
      return lookup.ofHash(command.request.keyHash);
    case 'identify':
    case 'admit_listing':
      return lookup.ofHash(command.keyHash);
    case 'settle':
      return lookup.ofRequest(command.settlement.requestId);
    case 'grow':
      return lookup.ofRequest(command.growth.requestId);
    case 'free_slot':
      return lookup.ofRequest(command.requestId);
    default:
      return undefined;
  }
}

/** Sorts commands into the columns of a batch. */
export function place(commands: readonly Command[], lookup: KeyLookup): PlacedBatch {
  const keyIds = commands.map((command) => keyOfCommand(command, lookup));
  const keys = [...new Set(keyIds.filter((id) => id !== undefined))].sort();
  const position = new Map(keys.map((id, index) => [id, index + 1]));
  const batch = emptyBatch(keys, commands.some(wantsDetails));
  const placed = commands.map((command, index): Placed => {
    const keyId = keyIds[index];
    const key = keyId === undefined ? undefined : (position.get(keyId) as number);
    return placeOne(command, key, keyId, batch);
  });
  return { batch, placed };
}

function wantsDetails(command: Command): boolean {
  return (
    command.kind === 'identify' ||
    command.kind === 'admit_listing' ||
    (command.kind === 'admit' && command.request.fallbacks !== undefined)
  );
}

function placeOne(command: Command, key: number | undefined, keyId: string | undefined, batch: Batch): Placed {
  if (key === undefined || keyId === undefined) {
    invariant(
      command.kind !== 'settle' && command.kind !== 'grow',
      () => `a command to ${command.kind} names a request that is not open: it was settled twice or never admitted`,
    );
    const asks = command.kind === 'admit' || command.kind === 'identify' || command.kind === 'admit_listing';
    return asks ? { kind: 'unknown_key', command } : { kind: 'other' };
  }
  switch (command.kind) {
    case 'settle':
      addSettlement(batch.settlements, command.settlement);
      return { kind: 'settle', key };
    case 'grow':
      return { kind: 'grow', key, position: addGrowth(batch, command.growth, key) };
    case 'admit':
      return { kind: 'admit', key, ask: addAdmission(batch, command.request, key), request: command.request };
    case 'admit_listing':
      return { kind: 'listing', key, ask: addQuestion(batch, 1, key, 0n), keyId };
    case 'identify': {
      // The same twice: for a request that costs something, and for a free one.
      const ask = addQuestion(batch, 2, key, 1n);
      addQuestion(batch, 2, key, 0n);
      return { kind: 'identity', key, ask, keyId };
    }
    case 'free_slot':
      batch.freed.push(command.requestId);
      return { kind: 'other' };
    default:
      return { kind: 'other' };
  }
}

function addSettlement(columns: SettlementColumns, settlement: Settlement): void {
  const { usage, served, failure } = settlement;
  columns.id.push(settlement.requestId);
  columns.outcome.push(settlement.outcome);
  columns.source.push(settlement.source);
  columns.model.push(served?.model ?? null);
  columns.promptTokens.push(usage.promptTokens);
  columns.cachedTokens.push(usage.cachedTokens);
  columns.cacheWriteTokens.push(cacheWritesOf(usage));
  columns.completionTokens.push(usage.completionTokens);
  columns.costNanos.push(settlement.costNanos);
  columns.completionId.push(settlement.completionId ?? null);
  columns.firstByteMs.push(settlement.firstByteMs ?? null);
  columns.upstream.push(served?.upstream ?? null);
  columns.attempts.push(served?.attempts ?? null);
  columns.failureReason.push(failure?.reason ?? null);
  columns.failureStatus.push(failure?.status ?? null);
  columns.failureMessage.push(failure?.message ?? null);
}

function addGrowth({ growths }: Batch, { requestId, outputTokens, holdNanos }: Growth, key: number): number {
  growths.id.push(requestId);
  growths.key.push(key);
  growths.outputTokens.push(outputTokens);
  growths.holdNanos.push(holdNanos);
  return growths.id.length - 1;
}

function addAdmission({ asks }: Batch, request: AdmissionRequest, key: number): number {
  asks.kind.push(0);
  asks.id.push(request.requestId);
  asks.key.push(key);
  asks.model.push(request.model);
  asks.reservedTokens.push(request.reservedTokens);
  asks.inputTokens.push(request.inputTokens);
  asks.outputTokens.push(request.outputTokens);
  asks.holdNanos.push(request.holdNanos);
  return asks.kind.length - 1;
}

function addQuestion({ asks }: Batch, kind: 1 | 2, key: number, holdNanos: bigint): number {
  asks.kind.push(kind);
  asks.id.push('');
  asks.key.push(key);
  asks.model.push(null);
  asks.reservedTokens.push(0);
  asks.inputTokens.push(0);
  asks.outputTokens.push(0);
  asks.holdNanos.push(holdNanos);
  return asks.kind.length - 1;
}

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
    case 'listing':
      return answerToListing(decided, command, settings);
    case 'identity':
      return answerToIdentity(decided, command, settings);
  }
}

function answerToUnknown(command: Command, settings: LedgerSettings): Answer {
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
        refusal: { reason: 'spend_limit_reached', limitNanos: keyAt(decided, key).spendLimitNanos as bigint },
      };
    case 5:
      return { granted: false, refusal: { reason: 'insufficient_credit', balanceNanos: decided.balanceNanos } };
    default:
      return { unavailable: 'this gateway was taken for dead while the request ran, and its hold was charged' };
  }
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
  { key: at, ask: position, keyId }: Extract<Placed, { keyId: string }>,
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
    requests: figuresOf(key.used, key.rpm, key.tpm),
    freeSlots: Math.max(0, key.concurrency - key.slots),
  };
  const { allowlist, concurrency } = key;
  return { kind: 'admitted', keyId, allowlist, concurrency, account, figures };
}

function answerToIdentity(
  decided: Decided,
  { key: at, ask: position, keyId }: Extract<Placed, { keyId: string }>,
  settings: LedgerSettings,
): Identity {
  const key = keyAt(decided, at);
  const ask = askAt(decided, position);
  if (ask.code === 1) return { kind: 'unknown', figures: untouchedFigures('requests', settings) };
  const figures = figuresOf(ask.used, key.rpm, key.tpm);
  if (ask.code === 2) return { kind: 'disabled', keyId, figures };
  const { allowlist, concurrency } = key;
  const refusal = refusalOf(ask, key, decided);
  const refusalIfFree = refusal && refusalOf(askAt(decided, position + 1), key, decided);
  return { kind: 'enabled', keyId, allowlist, concurrency, refusal, refusalIfFree, figures };
}

/** The refusal behind a code of `decide`; undefined for 0. */
function refusalOf({ code, retryAfterS }: DecidedAsk, key: DecidedKey, { balanceNanos }: Decided): Refusal | undefined {
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
      return { reason: 'spend_limit_reached', limitNanos: key.spendLimitNanos as bigint };
    case 5:
      return { reason: 'insufficient_credit', balanceNanos };
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
