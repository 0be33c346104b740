/** Past requests, written into a state file with the ledger's own operations. */

import { mintKey } from '../../src/core/api-key.ts';
import { DAY_MS } from '../../src/core/clock.ts';
import type { Outcome } from '../../src/core/settlement.ts';
import type { UsageSource } from '../../src/core/usage.ts';
import { bookOf } from '../../src/state/sqlite/book.ts';
import { immediately, type Sqlite } from '../../src/state/sqlite/database.ts';
import { Journal } from '../../src/state/sqlite/journal.ts';

export const SOURCES: readonly UsageSource[] = ['reported', 'counted', 'held'];
const MODELS = ['mock/a', 'mock/b'];
const OUTCOMES: readonly Outcome[] = ['ok', 'cancelled', 'upstream_error'];

/** A request that has ended. */
export interface PastRequest {
  readonly requestId: string;
  readonly keyId: string;
  readonly model: string;
  readonly admittedAtMs: number;
  readonly source: UsageSource;
  readonly outcome: Outcome;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly costNanos: bigint;
  /** What it is booked to besides its key, from inside out. */
  readonly levels?: readonly string[];
}

/** Requests of these keys over a span of time, with all sources, models and outcomes. */
export function drawPast(keyIds: readonly string[], count: number, fromMs: number, toMs: number): PastRequest[] {
  return Array.from({ length: count }, (_, i) => {
    const source = SOURCES[i % SOURCES.length] as UsageSource;
    return {
      requestId: `req_past_${i}`,
      keyId: keyIds[i % keyIds.length] as string,
      model: MODELS[(i >> 1) % MODELS.length] as string,
      admittedAtMs: fromMs + Math.floor((i * (toMs - fromMs)) / count),
      source,
      outcome: source === 'held' ? 'interrupted' : (OUTCOMES[(i >> 2) % OUTCOMES.length] as Outcome),
      promptTokens: i % 83,
      completionTokens: (i * 3) % 47,
      costNanos: BigInt((i * 17) % 1_009),
    };
  });
}

/** Writes requests in one transaction: journal, sums and balance. */
export function writePast(database: Sqlite, requests: readonly PastRequest[]): void {
  const journal = new Journal(database);
  immediately(database, () => {
    for (const request of requests) settle(journal, request);
    journal.writeCharges();
  });
}

/** Writes requests of a new key, from the last three months except the last two days. */
export function writeOldRows(database: Sqlite, count: number): void {
  const none = { rpm: null, tpm: null, concurrency: null, spendLimitNanos: null, allowlist: null };
  const change = bookOf(database).keys.create(mintKey(), { ...none, name: 'past' }, daysAgo(90));
  if (change.kind !== 'done') throw new Error(`no key: ${change.kind}`);
  writePast(database, drawPast([change.key.id], count, daysAgo(90), daysAgo(2)));
}

function settle(journal: Journal, { requestId, keyId, model, admittedAtMs, levels, ...end }: PastRequest): void {
  const { source, outcome, promptTokens, completionTokens, costNanos } = end;
  const usage = { promptTokens, cachedTokens: 0, completionTokens };
  const tokens = { inputTokens: promptTokens, outputTokens: completionTokens };
  const hold = { requestId, keyId, model, admittedAtMs, levels, ...tokens };
  journal.settle(
    { ...hold, holdNanos: costNanos },
    { source, outcome, usage, costNanos, completionId: undefined, firstByteMs: undefined },
    admittedAtMs + 1_000,
  );
}

/** The time a number of days ago, in milliseconds since 1970. */
export function daysAgo(days: number, nowMs = Date.now()): number {
  return nowMs - days * DAY_MS;
}
