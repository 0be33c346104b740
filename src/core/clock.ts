/** Time as an argument: wall time for what is written down, monotonic time for windows and timers. */

export interface Clock {
  /** Milliseconds since 1970, UTC. May step. */
  wallMs(): number;
  /** Milliseconds since some fixed moment of this thread. Never steps. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

export const DAY_MS = 86_400_000;
// Asked for the same day several times a request; writing a date takes a microsecond.
let lastDay = { number: Number.NaN, text: '' };

/** The calendar day in UTC: `2026-11-21`. */
export function utcDay(wallMs: number): string {
  const number = Math.floor(wallMs / DAY_MS);
  if (number !== lastDay.number) lastDay = { number, text: new Date(wallMs).toISOString().slice(0, 10) };
  return lastDay.text;
}

/** The calendar month in UTC: `2026-11`. */
export function utcMonth(wallMs: number): string {
  return utcDay(wallMs).slice(0, 7);
}

/** ISO 8601 in UTC with milliseconds. */
export function isoTime(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
