/** The cost of each row of Usage by hour or day, and since when it is high. Completed hours and days are read once. */
import { setImmediate } from 'node:timers/promises';
import { DAY_MS } from '../core/clock.ts';
import { NANOS_PER_USD } from '../core/money.ts';
import { burnOf } from '../operator/cost-history.ts';
import { monthStart } from '../state/periods.ts';
import type { UsageGroup, UsageQuery, UsageReport } from '../state/usage.ts';
import { idOfUsage } from './lists/usage.ts';
import type { ComparedUsage, Range, UsageOf } from './model.ts';

const HOUR_MS = 3_600_000;
const HOURS = 24;
/** Days of history for the range of all time. */
const DAYS = 30;
/** Maximum rows with a history, highest cost first. The history of many keys would take tens of megabytes. */
const MOST_ROWS = 200;
/**
 * Maximum age of the history. Other rows may have become the most expensive, and a late request may belong to a
 * completed hour.
 */
const FRESH_MS = 600_000;

/** The share of an hour or day that must have elapsed before its rate counts. */
const LEAST_ELAPSED = 0.1;
/**
 * The share of the highest cost from which a cost counts as high. A higher bound would take the usual daily and
 * weekly dips for the end of a high cost.
 */
const MUCH = 0.25;
const LITTLE = 0.05;

/** The grouping, range and filter of the rows. */
export interface UsageAsked {
  readonly by: UsageGroup;
  readonly range: Range;
  readonly of: UsageOf;
}

interface Slots {
  readonly firstMs: number;
  readonly stepMs: number;
  readonly count: number;
}

/** Returns hours for a short range, and days for a longer one. */
export function slotsOf(range: Range, nowMs: number): Slots {
  const day = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const days = (count: number) => ({ firstMs: day - (count - 1) * DAY_MS, stepMs: DAY_MS, count });
  switch (range) {
    case 'today':
      return { firstMs: day, stepMs: HOUR_MS, count: HOURS };
    case '24h':
      return { firstMs: (Math.floor(nowMs / HOUR_MS) - HOURS + 1) * HOUR_MS, stepMs: HOUR_MS, count: HOURS };
    case '7d':
      return days(7);
    case 'this month': {
      const firstMs = monthStart(nowMs, 0);
      return { firstMs, stepMs: DAY_MS, count: (monthStart(nowMs, 1) - firstMs) / DAY_MS };
    }
    case '30d':
    case 'all':
      return days(DAYS);
  }
}

/** A span of high cost: at least a quarter of the highest hour or day, without a pause. */
export interface HighCost {
  readonly sinceMs: number;
  /** Undefined while the cost is still high. */
  readonly untilMs: number | undefined;
}

/** Returns the span of high cost; undefined if the cost was high from the first slot on, or is usually high. */
function highCostOf(costs: readonly number[], slots: Slots, nowMs: number): HighCost | undefined {
  const sinceMs = ongoingSinceMs(costs, slots, nowMs);
  if (sinceMs !== undefined) return { sinceMs, untilMs: undefined };
  const past = costs.slice(0, Math.floor((nowMs - slots.firstMs) / slots.stepMs) + 1);
  const burn = burnOf(past.map((usd) => BigInt(Math.round(usd * Number(NANOS_PER_USD)))));
  if (burn === undefined || burn.to === past.length) return undefined;
  const at = (slot: number) => slots.firstMs + slot * slots.stepMs;
  return { sinceMs: at(burn.from), untilMs: at(burn.to) };
}

/** Returns the start of the first hour or day of an ongoing high cost. */
function ongoingSinceMs(costs: readonly number[], { firstMs, stepMs }: Slots, nowMs: number): number | undefined {
  const present = Math.floor((nowMs - firstMs) / stepMs);
  const elapsed = (nowMs - firstMs) / stepMs - present;
  // The current slot is skipped until enough of it has elapsed.
  const last = elapsed < LEAST_ELAPSED ? present - 1 : present;
  const rates = costs.slice(0, last + 1).map((cost, i) => (i === present ? cost / elapsed : cost));
  const most = Math.max(...rates);
  const before = rates.findLastIndex((rate) => rate < most * MUCH);
  if (before < 0 || before === last) return undefined;
  // A rise late in an hour adds little to that hour, but more than the hour before had.
  const begun = rates[before] as number;
  const earlier = rates[before - 1] ?? begun;
  const hasBegun = begun >= most * LITTLE && begun > 2 * earlier;
  return firstMs + (hasBegun ? before : before + 1) * stepMs;
}

/** Whether a grouping and range have a history: groupings by time and fixed periods do not. */
export function hasHistory({ by, of }: UsageAsked): boolean {
  return by !== 'day' && by !== 'month' && by !== 'hour' && of.period === undefined;
}

interface Known {
  readonly what: string;
  readonly atMs: number;
  readonly ids: ReadonlySet<string>;
  /** Cost in USD by row, for each hour or day by its start. */
  readonly slots: Map<number, ReadonlyMap<string, number>>;
}

export class CostHistory {
  readonly #report: (query: UsageQuery) => Promise<UsageReport>;
  #known: Known | undefined;

  constructor(report: (query: UsageQuery) => Promise<UsageReport>) {
    this.#report = report;
  }

  /** Returns the rows with the part of their history that is loaded. */
  shown(rows: readonly ComparedUsage[], asked: UsageAsked, nowMs: number): readonly ComparedUsage[] {
    const { what, ids, slots } = this.#known ?? {};
    if (ids === undefined || slots === undefined || what !== whatOf(asked)) return rows;
    const range = slotsOf(asked.range, nowMs);
    const { firstMs, stepMs, count } = range;
    return rows.map((row) => {
      const id = idOfUsage(row);
      if (!ids.has(id)) return row;
      const costs = Array.from({ length: count }, (_, i) => slots.get(firstMs + i * stepMs)?.get(id) ?? 0);
      const high = highCostOf(costs, range, nowMs);
      return { ...row, costs, ...(high !== undefined && { high }) };
    });
  }

  /** Reads missing slots and recent ones while `isWanted` returns true. */
  async read(rows: readonly ComparedUsage[], asked: UsageAsked, nowMs: number, isWanted: () => boolean): Promise<void> {
    const { by, range, of } = asked;
    const { slots } = this.#begun(rows, whatOf(asked), nowMs);
    const { firstMs, stepMs, count } = slotsOf(range, nowMs);
    for (let i = count - 1; i >= 0 && isWanted(); i--) {
      const sinceMs = firstMs + i * stepMs;
      // Requests of the previous slot can still be in flight.
      const isOver = sinceMs + 2 * stepMs <= nowMs;
      if (sinceMs > nowMs || (isOver && slots.has(sinceMs))) continue;
      const query = { by, keyId: of.key?.id, model: of.model, sinceMs, untilMs: sinceMs + stepMs };
      slots.set(sinceMs, this.#costs(await this.#report(query)));
      // SQLite reads are synchronous: key presses are handled only here.
      await setImmediate();
    }
  }

  #begun(rows: readonly ComparedUsage[], what: string, nowMs: number): Known {
    const known = this.#known;
    if (known !== undefined && known.what === what && Math.abs(nowMs - known.atMs) < FRESH_MS) return known;
    const dearest = rows.toSorted((a, b) => Number(b.costNanos - a.costNanos)).slice(0, MOST_ROWS);
    this.#known = { what, atMs: nowMs, ids: new Set(dearest.map(idOfUsage)), slots: new Map() };
    return this.#known;
  }

  #costs({ rows }: UsageReport): ReadonlyMap<string, number> {
    const wanted = rows.filter((row) => row.costNanos > 0n && this.#known?.ids.has(idOfUsage(row)));
    return new Map(wanted.map((row) => [idOfUsage(row), Number(row.costNanos) / Number(NANOS_PER_USD)]));
  }
}

function whatOf({ by, range, of: { key, model } }: UsageAsked): string {
  return JSON.stringify([by, range, key?.id, model]);
}
