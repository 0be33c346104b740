/** Time as a dependency: wall time for what is stored, monotonic time for windows and timers. */

export interface Clock {
  /** Milliseconds since 1970, UTC. Jumps when the clock is set. */
  wallMs(): number;
  /** Milliseconds since some fixed moment of this thread. Never jumps. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/** Returns monotonic milliseconds of the clock that all processes and threads of a machine share. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** A larger jump of the wall clock counts as a clock step. Network delay, rounding and slewing stay below it. */
export const CLOCK_STEP_MS = 1_000;

export const DAY_MS = 86_400_000;

// Every request looks up several days, such as the last day of a budget, and formatting a date takes a microsecond.
const days = new Map<number, CalendarDay>();
const MOST_DAYS = 100;

interface CalendarDay {
  readonly day: string;
  readonly month: string;
}

function calendarDay(wallMs: number): CalendarDay {
  const number = Math.floor(wallMs / DAY_MS);
  let found = days.get(number);
  if (found === undefined) {
    const day = new Date(wallMs).toISOString().slice(0, 10);
    found = { day, month: day.slice(0, 7) };
    if (days.size >= MOST_DAYS) days.clear();
    days.set(number, found);
  }
  return found;
}

/** The calendar day in UTC: `2026-11-21`. */
export function utcDay(wallMs: number): string {
  return calendarDay(wallMs).day;
}

/** The calendar month in UTC: `2026-11`. */
export function utcMonth(wallMs: number): string {
  return calendarDay(wallMs).month;
}

/** ISO 8601 in UTC with milliseconds. */
export function isoTime(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
