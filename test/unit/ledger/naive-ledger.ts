/**
 * The simplest possible ledger, to compare the real one with: plain lists, added up for every
 * question.
 */

import { utcMonth } from '../../../src/core/clock.ts';
import type { RateFigures } from '../../../src/core/limits.ts';
import type { Settlement } from '../../../src/core/settlement.ts';
import type { AdmissionRequest, Grant, Growth, LedgerSettings, Refusal } from '../../../src/ledger/ledger.ts';
import { type NaiveBudget, type NaiveCharge, naiveRooms, naiveSpendRefusal } from './naive-budgets.ts';

const MINUTE_MS = 60_000;

interface OpenRequest {
  /** With what it holds now. */
  request: AdmissionRequest;
  hasSlot: boolean;
  readonly key: NaiveKey;
  readonly atMs: number;
  readonly month: string;
}

export interface NaiveKey {
  state: 'enabled' | 'disabled' | 'deleted';
  allowlist: readonly string[] | null;
  rpm: number;
  tpm: number;
  concurrency: number;
  spendLimitNanos: bigint | null;
  budgets: readonly NaiveBudget[];
  expiresAtMs: number | null;
  /** When its requests were admitted. */
  requestsAtMs: number[];
  tokens: { atMs: number; tokens: number }[];
  charges: NaiveCharge[];
}

export class NaiveLedger {
  readonly options: LedgerSettings;
  balanceNanos = 0n;
  open: OpenRequest[] = [];

  constructor(options: LedgerSettings) {
    this.options = options;
  }

  /** The refusal of a request at that moment, without admitting it. */
  refusalOf(key: NaiveKey, request: AdmissionRequest, nowMs: number): Refusal | undefined {
    if (this.isGone(key, nowMs)) return { reason: 'unknown_key' };
    if (key.state === 'disabled') return { reason: 'key_disabled' };
    if (key.allowlist !== null && !key.allowlist.includes(request.model)) return { reason: 'model_not_allowed' };
    const charged = this.charged(key, utcMonth(nowMs));
    const rooms = naiveRooms(key, [], nowMs, nowMs);
    const spent = naiveSpendRefusal(key.spendLimitNanos, charged, nowMs, rooms, (room) => room.left <= 0n);
    if (spent !== undefined) return spent;
    const paid = this.options.creditEnforced && request.holdNanos > 0n;
    if (paid && this.balanceNanos < request.holdNanos) {
      return { reason: 'insufficient_credit', balanceNanos: this.balanceNanos };
    }
    return this.#rateRefusal(key, request, nowMs, charged, paid);
  }

  #rateRefusal(
    key: NaiveKey,
    request: AdmissionRequest,
    nowMs: number,
    charged: bigint,
    paid: boolean,
  ): Refusal | undefined {
    if (request.reservedTokens > key.tpm) return { reason: 'larger_than_token_limit', limit: key.tpm };
    const mine = this.open.filter((open) => open.key === key);
    const requestsFit = (atMs: number) => this.#requests(key, atMs) + 1 <= key.rpm;
    const tokensFit = (used: number) => used + request.reservedTokens <= key.tpm;
    const refusals: { reason: Refusal['reason']; limit?: number; retryAfterS: number }[] = [];
    if (!requestsFit(nowMs)) {
      const retryAfterS = leastSeconds((seconds) => requestsFit(nowMs + seconds * 1_000));
      refusals.push({ reason: 'requests_per_minute', limit: key.rpm, retryAfterS });
    }
    if (!tokensFit(this.#tokens(key, nowMs) + sum(mine.map((open) => open.request.reservedTokens)))) {
      const retryAfterS = leastSeconds((seconds) => {
        const atMs = nowMs + seconds * 1_000;
        const reserved = mine.filter((open) => open.atMs + MINUTE_MS > atMs);
        return tokensFit(this.#tokens(key, atMs) + sum(reserved.map((open) => open.request.reservedTokens)));
      });
      refusals.push({ reason: 'tokens_per_minute', limit: key.tpm, retryAfterS });
    }
    if (mine.filter(({ hasSlot }) => hasSlot).length >= key.concurrency) {
      refusals.push({ reason: 'concurrency', limit: key.concurrency, retryAfterS: 1 });
    }
    const heldByKey = holds(mine.filter((open) => open.month === utcMonth(nowMs)));
    const limitIsSpokenFor =
      key.spendLimitNanos !== null && heldByKey > 0n && charged + heldByKey >= key.spendLimitNanos;
    const budgetIsSpokenFor = naiveRooms(key, mine, nowMs, nowMs).some(({ held, left }) => held > 0n && left <= held);
    if (limitIsSpokenFor || budgetIsSpokenFor || (paid && this.balanceNanos - holds(this.open) < request.holdNanos)) {
      refusals.push({ reason: 'money_spoken_for', retryAfterS: 1 });
    }
    const [first] = refusals;
    const longest = Math.max(...refusals.map(({ retryAfterS }) => retryAfterS));
    return first && ({ ...first, retryAfterS: longest } as Refusal);
  }

  admit(key: NaiveKey, request: AdmissionRequest, nowMs: number): Refusal | undefined {
    const refusal = this.refusalOf(key, request, nowMs);
    if (refusal !== undefined) return refusal;
    this.open.push({ request, hasSlot: true, key, atMs: nowMs, month: utcMonth(nowMs) });
    key.requestsAtMs.push(nowMs);
    return undefined;
  }

  grow({ requestId, outputTokens, holdNanos }: Growth, nowMs: number): Grant {
    const open = this.#find(requestId);
    const { key, month, request } = open;
    const ofMonth = this.open.filter((other) => other.key === key && other.month === month);
    const left = [holdNanos - request.holdNanos];
    const ofLimit =
      key.spendLimitNanos === null ? undefined : key.spendLimitNanos - this.charged(key, month) - holds(ofMonth);
    if (ofLimit !== undefined) left.push(ofLimit);
    const rooms = naiveRooms(
      key,
      this.open.filter((other) => other.key === key),
      open.atMs,
      nowMs,
    );
    left.push(...rooms.map((room) => room.left - room.held));
    if (this.options.creditEnforced) left.push(this.balanceNanos - holds(this.open));
    const wanted = left[0] as bigint;
    const granted = wanted === 0n ? 0n : left.reduce((a, b) => (a < b ? a : b));
    if (wanted > 0n && granted <= 0n) {
      const limit = ofLimit !== undefined && ofLimit <= 0n ? key.spendLimitNanos : null;
      const spent = naiveSpendRefusal(limit, limit ?? 0n, open.atMs, rooms, (room) => room.left <= room.held);
      return { granted: false, refusal: spent ?? { reason: 'insufficient_credit', balanceNanos: this.balanceNanos } };
    }
    const moreTokens = Math.max(0, outputTokens - request.outputTokens);
    const tokens = wanted === 0n ? moreTokens : Number((BigInt(moreTokens) * granted) / wanted);
    const holdNow = request.holdNanos + granted;
    const reservedTokens = request.reservedTokens + (request.reservedTokens > request.inputTokens ? tokens : 0);
    open.request = { ...request, reservedTokens, outputTokens: request.outputTokens + tokens, holdNanos: holdNow };
    return { granted: true, holdNanos: holdNow };
  }

  freeSlot(requestId: string): void {
    this.#find(requestId).hasSlot = false;
  }

  #find(requestId: string): OpenRequest {
    return this.open.find((open) => open.request.requestId === requestId) as OpenRequest;
  }

  settle(settlement: Pick<Settlement, 'requestId' | 'usage' | 'costNanos'>, nowMs: number): void {
    const ended = this.#find(settlement.requestId);
    this.open = this.open.filter((open) => open !== ended);
    const tokens = settlement.usage.promptTokens + settlement.usage.completionTokens;
    ended.key.tokens.push({ atMs: nowMs, tokens });
    ended.key.charges.push({ month: ended.month, atMs: ended.atMs, endedAtMs: nowMs, nanos: settlement.costNanos });
    this.balanceNanos -= settlement.costNanos;
  }

  /** What a restart does with the requests that a crash left open. */
  recover(nowMs: number): void {
    for (const { request } of this.open) {
      const { requestId, inputTokens, outputTokens, holdNanos } = request;
      const usage = { promptTokens: inputTokens, cachedTokens: 0, completionTokens: outputTokens };
      this.settle({ requestId, usage, costNanos: holdNanos }, nowMs);
    }
  }

  isGone({ state, expiresAtMs }: NaiveKey, nowMs: number): boolean {
    return state === 'deleted' || (expiresAtMs !== null && expiresAtMs <= nowMs);
  }

  charged(key: NaiveKey, month: string): bigint {
    return key.charges.reduce((total, charge) => total + (charge.month === month ? charge.nanos : 0n), 0n);
  }

  figures(key: NaiveKey, nowMs: number): RateFigures {
    const mine = this.open.filter((open) => open.key === key);
    const requests = this.#requests(key, nowMs);
    const tokens = this.#tokens(key, nowMs) + sum(mine.map((open) => open.request.reservedTokens));
    const openEnd = mine.map((open) => open.atMs + MINUTE_MS);
    const tokenEnd = key.tokens.filter((entry) => entry.tokens > 0).map((entry) => entry.atMs + MINUTE_MS);
    const reset = (used: number, ends: number[]) =>
      used === 0 ? 0 : Math.max(1, Math.ceil((Math.max(...ends) - nowMs) / 1_000));
    return {
      limitRequests: key.rpm,
      remainingRequests: Math.max(0, key.rpm - requests),
      resetRequestsS: reset(
        requests,
        key.requestsAtMs.map((atMs) => atMs + MINUTE_MS),
      ),
      limitTokens: key.tpm,
      remainingTokens: Math.max(0, key.tpm - tokens),
      resetTokensS: reset(tokens, [...openEnd, ...tokenEnd]),
    };
  }

  #requests(key: NaiveKey, nowMs: number): number {
    return key.requestsAtMs.filter((atMs) => atMs + MINUTE_MS > nowMs).length;
  }

  #tokens(key: NaiveKey, nowMs: number): number {
    return sum(key.tokens.filter(({ atMs }) => atMs + MINUTE_MS > nowMs).map(({ tokens }) => tokens));
  }
}

function leastSeconds(fits: (seconds: number) => boolean): number {
  for (let seconds = 1; seconds <= 60; seconds++) if (fits(seconds)) return seconds;
  throw new Error('a minute is not enough');
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function holds(open: readonly OpenRequest[]): bigint {
  return open.reduce((total, { request }) => total + request.holdNanos, 0n);
}
