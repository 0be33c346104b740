/** Budgets of the naive ledger: every charge and every hold is looked at for every question. */
import type { AdmissionRequest, AtLevel, SpendRefusal } from '../../../src/ledger/ledger.ts';

export interface NaiveBudget {
  readonly period: string;
  readonly limitNanos: bigint;
}

/** What a request was charged, by the times of its admission and of its end. */
export interface NaiveCharge {
  readonly month: string;
  readonly atMs: number;
  readonly endedAtMs: number;
  readonly nanos: bigint;
}

interface Spender {
  readonly budgets: readonly NaiveBudget[];
  readonly charges: readonly NaiveCharge[];
}

interface NaiveRoom extends NaiveBudget {
  readonly charged: bigint;
  readonly held: bigint;
  /** The limit less what was charged. */
  readonly left: bigint;
  readonly freesAtMs: number | null;
}

const SECONDS: Readonly<Record<string, number>> = { '7s': 7, '90s': 90, '24h': 86_400, '10d': 864_000 };
const DAY_MS = 86_400_000;

/** From the shortest period to the longest. */
const ORDER: readonly string[] = ['7s', '90s', 'day', '24h', 'week', '10d', 'total'];

/** What is left of each budget for a request that was admitted at `atMs`. */
export function naiveRooms(
  { budgets, charges }: Spender,
  open: readonly { readonly request: AdmissionRequest; readonly atMs: number }[],
  atMs: number,
  nowMs: number,
): NaiveRoom[] {
  const inOrder = budgets.toSorted((a, b) => ORDER.indexOf(a.period) - ORDER.indexOf(b.period));
  return inOrder.map((budget) => {
    const { period, limitNanos } = budget;
    const chargedAt = (timeMs: number) =>
      charges.reduce((sum, charge) => sum + (counts(period, charge, atMs, timeMs) ? charge.nanos : 0n), 0n);
    const charged = chargedAt(nowMs);
    const isFixed = period === 'day' || period === 'week';
    const holding = open.filter((each) => !isFixed || endOf(period, each.atMs) === endOf(period, atMs));
    const held = holding.reduce((sum, { request }) => sum + request.holdNanos, 0n);
    const isReached = charged >= limitNanos;
    const times =
      period === 'day' || period === 'week'
        ? [endOf(period, atMs)]
        : charges.map((charge) => leaves(period, charge.endedAtMs));
    const free = times.filter((timeMs) => isFixed || chargedAt(timeMs) < limitNanos);
    const freesAtMs = limitNanos === 0n || free.length === 0 || period === 'total' ? null : Math.min(...free);
    return {
      ...budget,
      charged,
      held,
      left: limitNanos - charged,
      freesAtMs: isReached ? freesAtMs : Math.floor(nowMs),
    };
  });
}

/** A limit that is reached, and the refusal for it. */
interface NaiveReached {
  readonly frees: number;
  readonly refusal: SpendRefusal;
}

/** The month of a level, if it has a limit that is reached, and the rooms that are. */
export function naiveReached(
  limitNanos: bigint | null,
  charged: bigint,
  monthOfMs: number,
  rooms: readonly NaiveRoom[],
  isReached: (room: NaiveRoom) => boolean,
  at: AtLevel & { readonly keyName: string },
): NaiveReached[] {
  const month = new Date(monthOfMs);
  const nextMonth = Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1);
  const reached: NaiveReached[] = [];
  if (limitNanos !== null && charged >= limitNanos) {
    const frees = limitNanos === 0n ? Number.POSITIVE_INFINITY : nextMonth;
    reached.push({ frees, refusal: { reason: 'spend_limit_reached', limitNanos, ...at } });
  }
  for (const room of rooms.filter(isReached)) {
    const budget = { period: room.period, freesAtMs: room.freesAtMs };
    const refusal: SpendRefusal = { reason: 'spend_limit_reached', limitNanos: room.limitNanos, budget, ...at };
    reached.push({ frees: room.freesAtMs ?? Number.POSITIVE_INFINITY, refusal });
  }
  return reached;
}

/** The refusal for the one that frees last; of equals the first. */
export function naiveSpendRefusal(reached: readonly NaiveReached[]): SpendRefusal | undefined {
  const last = Math.max(...reached.map(({ frees }) => frees));
  return reached.find(({ frees }) => frees === last)?.refusal;
}

/** Whether a charge counts at `timeMs`, for a request that was admitted at `atMs`. */
function counts(period: string, charge: NaiveCharge, atMs: number, timeMs: number): boolean {
  if (period === 'total') return true;
  if (period === 'day' || period === 'week') return endOf(period, charge.atMs) === endOf(period, atMs);
  return leaves(period, charge.endedAtMs) > timeMs;
}

/** A hundredth of the window, or less, after it should. */
function leaves(period: string, endedAtMs: number): number {
  const stepMs = (SECONDS[period] ?? Number.POSITIVE_INFINITY) * 10;
  if (stepMs === Number.POSITIVE_INFINITY) return stepMs;
  return (Math.floor(endedAtMs / stepMs) + 1) * stepMs + 100 * stepMs;
}

function endOf(period: 'day' | 'week', atMs: number): number {
  const midnight = (Math.floor(atMs / DAY_MS) + 1) * DAY_MS;
  if (period === 'day') return midnight;
  // The next Monday.
  let end = midnight;
  while (new Date(end).getUTCDay() !== 1) end += DAY_MS;
  return end;
}
