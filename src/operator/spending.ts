/** Budgets of keys, groups and end users: how much is spent, whether requests are refused, and when that changes. Pure. */
import { type BudgetSpend, calendarPeriod, fixedSpend, lastToFree, windowSOf } from '../core/budgets.ts';
import { isoTime } from '../core/clock.ts';
import type { Nanos } from '../core/money.ts';
import { isGone, type KeyRecord } from '../state/keys.ts';
import { type GroupRecord, isKeyId } from '../state/levels.ts';
import { monthStart } from '../state/periods.ts';
import { FAR_MS, type Spending } from './forecast.ts';
import { SIGNS } from './health.ts';
import { clockTime, LOCAL, relativeTime, roundedSpan, whenText, type Zone } from './moments.ts';
import { type Marked, marked } from './table.ts';
import { levelsFrom, refusedHow } from './tree.ts';

/** The period of the monthly spend limit, as one of the budgets. */
export const MONTH = 'month';
/** A pace is measured over an hour at least: a single request after midnight would otherwise forecast a spent day. */
const LEAST_SPAN_MS = 3_600_000;

/**
 * The budgets of a level and its monthly spend limit, the shortest period first. `monthNanos`: its charges of this month.
 * `freesAtMs` is 0 in unspent budgets: otherwise two reads of an unchanged state would differ.
 */
export function spendBounds(
  spendLimitNanos: Nanos | null,
  monthNanos: Nanos,
  budgets: readonly BudgetSpend[],
  nowMs: number,
): readonly BudgetSpend[] {
  const settled = budgets.map((each) => (isSpent(each, nowMs) ? each : { ...each, freesAtMs: 0 }));
  if (spendLimitNanos === null) return settled;
  const limit = { period: MONTH, limitNanos: spendLimitNanos };
  const month = fixedSpend(limit, monthNanos, monthStart(nowMs, 1), nowMs);
  const total = settled.findIndex(({ period }) => period === 'total');
  const shown = isSpent(month, nowMs) ? month : { ...month, freesAtMs: 0 };
  return total < 0 ? [...settled, shown] : settled.toSpliced(total, 0, shown);
}

/** Whether a budget was reached when it was read, and its window has not moved on since. */
export function isSpent({ limitNanos, chargedNanos, freesAtMs }: BudgetSpend, nowMs: number): boolean {
  return chargedNanos >= limitNanos && (freesAtMs === null || freesAtMs > nowMs);
}

/** The spent part of a budget, from 0 to 1, and above 1 where requests in flight have exceeded it. */
export function shareSpent({ limitNanos, chargedNanos }: BudgetSpend): number {
  return limitNanos === 0n ? 1 : Number(chargedNanos) / Number(limitNanos);
}

/** Of the spent budgets the one that frees up last; otherwise the one with the largest spent part. */
export function tightest(bounds: readonly BudgetSpend[], nowMs: number): BudgetSpend | undefined {
  const spent = lastToFree(bounds.filter((each) => isSpent(each, nowMs)));
  return spent ?? bounds.toSorted((a, b) => shareSpent(b) - shareSpent(a))[0];
}

/** A key or a group with its budgets. */
export interface BoundedLevel {
  readonly record: KeyRecord | GroupRecord;
  readonly bounds: readonly BudgetSpend[];
}

/** The level that makes admission refuse the requests of a key or a group. */
export interface Blocker<Level extends BoundedLevel = BoundedLevel> {
  readonly level: Level;
  readonly reason: 'disabled' | 'deleted' | 'expired' | 'spent';
  /** The spent budget that frees up last. Undefined for the other reasons. */
  readonly bound: BudgetSpend | undefined;
}

/**
 * Returns what stops the requests of a key or a group: itself, or an outer level. `levelOf` returns a level by its id.
 * A level that is disabled or expired precedes spent budgets, as in admission; of several spent budgets, the one that frees
 * up last decides when requests are admitted again.
 */
export function blockerOf<Level extends BoundedLevel>(
  owner: Level,
  levelOf: (id: string) => Level | undefined,
  nowMs: number,
): Blocker<Level> | undefined {
  const levels = levelsFrom(owner, levelOf);
  for (const level of levels) {
    const { state } = level.record;
    if (state !== 'enabled') return { level, reason: state, bound: undefined };
    if (isGone({ expiresAtMs: null, ...level.record }, nowMs)) return { level, reason: 'expired', bound: undefined };
  }
  const spent = levels.flatMap((level) =>
    level.bounds.filter((each) => isSpent(each, nowMs)).map((bound) => ({ level, bound, freesAtMs: bound.freesAtMs })),
  );
  const last = lastToFree(spent);
  return last && { level: last.level, reason: 'spent', bound: last.bound };
}

/** Describes whether a key or a group is served, with all outer levels: `✕ spent by @nlp, resets 00:00 UTC`. */
export function standingWithin<Level extends BoundedLevel>(
  owner: Level,
  levelOf: (id: string) => Level | undefined,
  nowMs: number,
  zone: Zone = LOCAL,
): Marked {
  const blocker = blockerOf(owner, levelOf, nowMs);
  if (blocker === undefined) return marked('enabled', 'good');
  const { level, reason, bound } = blocker;
  const by = reason === 'spent' ? 'by' : refusedHow(level.record);
  const outer = level.record.id === owner.record.id ? '' : ` ${by} ${levelWord(level.record)}`;
  const freesAtMs = bound?.freesAtMs ?? null;
  const until = freesAtMs === null ? '' : `, resets ${clockTime(freesAtMs, nowMs, zone)}`;
  const text = `${reason}${outer}${until}`;
  return reason === 'disabled'
    ? marked(text, 'warn')
    : marked(reason === 'deleted' ? text : `${SIGNS.bad} ${text}`, 'bad');
}

/** A key, group or parent that stops requests, in JSON: `level` as commands name it; null for the key or group itself. */
export function blockerJson(blocker: Blocker, ownId: string) {
  const { level, reason, bound } = blocker;
  const freesAtMs = bound?.freesAtMs ?? null;
  return {
    level: level.record.id === ownId ? null : levelWord(level.record),
    reason,
    period: bound?.period ?? null,
    resets_at: freesAtMs === null ? null : isoTime(freesAtMs),
  };
}

/** A level as commands name it: the name of a key, `@name` of a group. */
export function levelWord({ id, name }: { readonly id: string; readonly name: string }): string {
  return isKeyId(id) ? name : `@${name}`;
}

/** As `standingWithin`, of a level alone. */
export function standingOf(
  { state, expiresAtMs }: Pick<KeyRecord, 'state' | 'expiresAtMs'>,
  bounds: readonly BudgetSpend[],
  nowMs: number,
  zone: Zone = LOCAL,
): Marked {
  const record = { id: '', groupId: null, state, expiresAtMs } as KeyRecord;
  return standingWithin({ record, bounds }, () => undefined, nowMs, zone);
}

/**
 * Describes what happens to a budget next: when it frees up, when it will be spent at its pace, or when it resets. The pace
 * of a calendar period is its average so far. Sliding windows and totals have the pace of the level's last seven days, if
 * `week` is given.
 */
export function outlookOf(bound: BudgetSpend, nowMs: number, week?: Spending, zone: Zone = LOCAL): Marked | undefined {
  const { freesAtMs, resetsAtMs } = bound;
  if (isSpent(bound, nowMs)) {
    return marked(freesAtMs === null ? 'never resets' : `resets ${relativeTime(freesAtMs, nowMs, zone)}`, 'bad');
  }
  const atMs = spentAtMs(bound, nowMs, week);
  if (atMs !== undefined) return marked(spentAtText(atMs, nowMs, zone), 'warn');
  return resetsAtMs === null ? undefined : marked(`resets ${relativeTime(resetsAtMs, nowMs, zone)}`, 'good');
}

/** `spent at 16:15 (58 min)`: when a budget will be spent. */
export function spentAtText(atMs: number, nowMs: number, zone: Zone = LOCAL): string {
  return `spent ${whenText(atMs, nowMs, zone)} (${roundedSpan(atMs - nowMs)})`;
}

/** When a budget will be spent at its pace. Undefined if it resets before, or if its pace is unknown. */
export function spentAtMs(bound: BudgetSpend, nowMs: number, week?: Spending): number | undefined {
  const { resetsAtMs, chargedNanos } = bound;
  const left = Number(bound.limitNanos - chargedNanos);
  const fromMs = beginOf(bound, nowMs);
  if (fromMs !== undefined) {
    const atMs = nowMs + (left / Number(chargedNanos)) * Math.max(LEAST_SPAN_MS, nowMs - fromMs);
    return resetsAtMs !== null && atMs < resetsAtMs ? atMs : undefined;
  }
  if (week === undefined) return undefined;
  // Charges never leave a total. They leave a sliding window about evenly, all within its length.
  const windowMs = (windowSOf(bound) ?? Number.POSITIVE_INFINITY) * 1_000;
  const gainedPerMs = Number(week.costNanos) / week.spanMs - Number(chargedNanos) / windowMs;
  const inMs = gainedPerMs > 0 ? left / gainedPerMs : Number.POSITIVE_INFINITY;
  return inMs <= Math.min(windowMs, FAR_MS) ? nowMs + inMs : undefined;
}

/** A budget that is not spent, and when it will be. */
export interface NextSpent<Level extends BoundedLevel = BoundedLevel> {
  readonly level: Level;
  readonly bound: BudgetSpend;
  /** Undefined if it resets before it is spent, or if its pace is unknown. */
  readonly spentAtMs: number | undefined;
}

/**
 * Returns the budgets of all levels that will be spent first, at most `most` of them: those with a forecast in its order,
 * then the others by their spent part. Refused levels and budgets without a charge are left out.
 */
export function nextSpent<Level extends BoundedLevel>(
  levels: readonly Level[],
  nowMs: number,
  most: number,
): readonly NextSpent<Level>[] {
  const open = levels.flatMap((level) => {
    const { record, bounds } = level;
    if (record.state !== 'enabled' || isGone({ expiresAtMs: null, ...record }, nowMs)) return [];
    if (bounds.some((bound) => isSpent(bound, nowMs))) return [];
    const used = bounds.filter(({ chargedNanos }) => chargedNanos > 0n);
    return used.map((bound) => ({ level, bound, spentAtMs: spentAtMs(bound, nowMs) }));
  });
  const rank = ({ spentAtMs }: NextSpent) => spentAtMs ?? Number.MAX_SAFE_INTEGER;
  return open.sort((a, b) => rank(a) - rank(b) || shareSpent(b.bound) - shareSpent(a.bound)).slice(0, most);
}

/** When the current period of the calendar began; undefined for sliding windows and totals. */
function beginOf({ period }: BudgetSpend, nowMs: number): number | undefined {
  if (period === MONTH) return monthStart(nowMs, 0);
  return period === 'day' || period === 'week' ? calendarPeriod(period, nowMs).fromMs : undefined;
}
