/** Reads the data of a receipt after the command has ended. */
import { setTimeout } from 'node:timers/promises';
import { utcMonth } from '../../core/clock.ts';
import type { KeyRecord } from '../../state/keys.ts';
import type { RefusalRow, UsageRow } from '../../state/usage.ts';
import type { State } from '../state.ts';
import type { Ending } from './child.ts';
import type { LeashGateway } from './gateway.ts';
import type { Facts } from './receipt.ts';

/** An ended command, whose key is disabled. */
export interface Ended {
  readonly gateway: LeashGateway;
  readonly key: KeyRecord;
  readonly command: string;
  readonly ending: Ending;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
}

/** The time between two checks whether refusals are in the journal, in milliseconds. */
const CHECK_MS = 50;
/** The time within which refusals counted by another gateway must be in the journal, in milliseconds. */
const REFUSALS_MS = 2_000;
/** The same if their number is unknown: a few times the delay with which a gateway writes them. */
const UNKNOWN_REFUSALS_MS = 300;
/** The number of failed requests and of truncated responses to read for each key. */
const MOST_FAILED = 1_000;

export async function readFacts(ended: Ended, state: State): Promise<Facts> {
  const { gateway, key, command, ending, startedAtMs, endedAtMs } = ended;
  const refusals = await refusalsOf(ended, state);
  const ids = await idsOnLeash(key, state);
  // An operator may have changed the terms while the command ran.
  const { budgets, expiresAtMs } = (await state.keys.findWithDeleted(key.id)) ?? key;
  const outer = gateway.outerId === undefined ? undefined : await state.keys.findWithDeleted(gateway.outerId);
  const { inFlight } = await gateway.activityOf(ids);
  const query = { by: 'model', model: undefined, sinceMs: undefined, untilMs: undefined } as const;
  const reports = await Promise.all(ids.map((keyId) => state.usage.report({ ...query, keyId })));
  const rows = reports.flatMap((report) => report.rows);
  const failures = { sinceMs: undefined, errors: true, limit: MOST_FAILED };
  const failed = await Promise.all(ids.map((keyId) => state.requests.list({ ...failures, keyId })));
  const cuts = { sinceMs: undefined, errors: false, reason: 'leash_maximum', limit: MOST_FAILED } as const;
  const cut = await Promise.all(ids.map((keyId) => state.requests.list({ ...cuts, keyId })));
  return {
    key,
    outer,
    inner: ids.length - 1,
    command,
    ending,
    startedAtMs,
    endedAtMs,
    budgetNanos: budgets.find(({ period }) => period === 'total')?.limitNanos ?? null,
    expiresAtMs,
    statePath: gateway.config.statePath,
    total: sumOf(rows, undefined),
    models: byModel(rows),
    failed: failed.flat(),
    cutAnswers: cut.flat().length,
    refusals,
    inFlight,
    errors: gateway.errors,
  };
}

/** The key, and the keys of inner runs. */
export async function idsOnLeash({ id }: KeyRecord, { keys }: State): Promise<readonly string[]> {
  return [id, ...(await keys.innerIds(id))];
}

/** The most expensive models first. */
function byModel(rows: readonly UsageRow[]): UsageRow[] {
  const sums = [...Map.groupBy(rows, ({ model }) => model)].map(([model, some]) => sumOf(some, model));
  return sums.sort((a, b) => Number(b.costNanos - a.costNanos) || b.requests - a.requests);
}

function sumOf(rows: readonly UsageRow[], model: string | undefined): UsageRow {
  const sum = (figure: (row: UsageRow) => number) => rows.reduce((total, row) => total + figure(row), 0);
  return {
    ...{ key: undefined, keyId: undefined, model, day: undefined, month: undefined, source: undefined },
    requests: sum((row) => row.requests),
    errors: sum((row) => row.errors),
    promptTokens: sum((row) => row.promptTokens),
    cachedTokens: sum((row) => row.cachedTokens),
    cacheWriteTokens: sum((row) => row.cacheWriteTokens),
    completionTokens: sum((row) => row.completionTokens),
    costNanos: rows.reduce((total, row) => total + row.costNanos, 0n),
  };
}

/** The refusals of the key in all months of the command. A gateway writes them with a delay. */
async function refusalsOf({ gateway, key, startedAtMs }: Ended, { usage }: State): Promise<readonly RefusalRow[]> {
  const beganMs = performance.now();
  const months = new Set([utcMonth(startedAtMs), utcMonth(Date.now())]);
  while (true) {
    const { refused = Number.POSITIVE_INFINITY } = await gateway.activityOf([key.id]);
    const rows = (await Promise.all([...months].map((month) => usage.refusalsOf(key.id, month)))).flat();
    const written = rows.reduce((sum, { requests }) => sum + requests, 0);
    const mostMs = Number.isFinite(refused) ? REFUSALS_MS : UNKNOWN_REFUSALS_MS;
    if (written >= refused || performance.now() - beganMs >= mostMs) return rows;
    await setTimeout(CHECK_MS);
  }
}
