/** Answers `GET /v1/key`: the requesting key's limits and usage. */
import { budgetJson } from '../core/budgets.ts';
import { isoTime } from '../core/clock.ts';
import { formatUsd } from '../core/money.ts';
import type { Exchange } from '../http/exchange.ts';
import type { LevelAccount } from '../ledger/ledger.ts';
import { admitListing, type Refused } from './listing.ts';
import type { PipelineParts } from './parts.ts';

/** Sends the key, or returns the refusal. */
export async function showKey(
  { ledger, catalog }: Pick<PipelineParts, 'ledger' | 'catalog'>,
  exchange: Exchange,
): Promise<Refused | undefined> {
  const access = await admitListing(ledger, exchange);
  if (!access.ok) return access.refused;
  const { account, allowlist, reading } = access;
  const { name, requests, spendLimitNanos, chargedNanos, budgets, expiresAtMs, freeSlots, outer } = account;
  const ofKeys = outer.filter(({ kind }) => kind === 'key').flatMap((key) => key.budgets);
  const shown = {
    name,
    // Disabled keys are refused before this.
    state: 'enabled',
    limits: { rpm: requests.limitRequests, tpm: requests.limitTokens, concurrency: reading.concurrency },
    remaining: { requests: requests.remainingRequests, tokens: requests.remainingTokens, concurrency: freeSlots },
    spend_limit_usd: spendLimitNanos === null ? null : formatUsd(spendLimitNanos),
    budgets: [...budgets, ...ofKeys].map(budgetJson),
    expires_at: expiresAtMs === null ? null : isoTime(expiresAtMs),
    month: { cost_usd: formatUsd(chargedNanos) },
    models: catalog.callable(allowlist).map(({ id }) => id),
    groups: account.outer.filter(({ kind }) => kind === 'group').map(groupJson),
  };
  exchange.sendJson(200, JSON.stringify(shown));
  return undefined;
}

/** The fields of a group that its keys may read: limits and their remainders, without data of other keys. */
function groupJson({ name, requests, concurrency, freeSlots, spendLimitNanos, budgets }: LevelAccount) {
  return {
    name,
    limits: {
      rpm: finite(requests.limitRequests),
      tpm: finite(requests.limitTokens),
      concurrency: finite(concurrency),
    },
    remaining: {
      requests: finite(requests.remainingRequests),
      tokens: finite(requests.remainingTokens),
      concurrency: finite(freeSlots),
    },
    spend_limit_usd: spendLimitNanos === null ? null : formatUsd(spendLimitNanos),
    budgets: budgets.map(budgetJson),
  };
}

/** Null for no limit. */
function finite(figure: number): number | null {
  return Number.isFinite(figure) ? figure : null;
}
