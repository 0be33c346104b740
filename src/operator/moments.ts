/** Times to come as people read them: in the viewer's zone, with the time that is left. Pure. */
import { DAY_MS, isoTime, utcDay } from '../core/clock.ts';
import { duration } from './format.ts';

/** Returns the offset of a time zone from UTC at a moment, in milliseconds. */
export type Zone = (wallMs: number) => number;

/** For files and programs. */
export const UTC: Zone = () => 0;

/** The zone of this process, from `TZ` or the system. */
export const LOCAL: Zone = (wallMs) => -new Date(wallMs).getTimezoneOffset() * 60_000;

/**
 * A time to come: `18:20` today or at its end, `11-24 12:00` within a day, otherwise its day, `12-01`. The text ends in
 * `UTC` where the zone has no offset, since a reader elsewhere would take a bare time for their own.
 */
export function clockTime(wallMs: number, nowMs: number, zone: Zone): string {
  const label = zone(wallMs) === 0 ? ' UTC' : '';
  const [atMs, hereMs] = [wallMs + zone(wallMs), nowMs + zone(nowMs)];
  const text = isoTime(atMs);
  const [day, time] = [text.slice(5, 10), text.slice(11, 16)];
  if (wallMs - nowMs > DAY_MS) return `${day}${label}`;
  // At noon, a bare `12:00` of tomorrow would look like a time in the past.
  return `${utcDay(atMs - 1) === utcDay(hereMs) ? time : `${day} ${time}`}${label}`;
}

/** `in 8h53m, 16:00` or `in 29 days, 12-01`: the time that is left, then the time of the clock. */
export function relativeTime(wallMs: number, nowMs: number, zone: Zone): string {
  const leftMs = wallMs - nowMs;
  return `in ${leftMs > DAY_MS ? roundedSpan(leftMs) : duration(leftMs / 1_000)}, ${clockTime(wallMs, nowMs, zone)}`;
}

/** A time or a day in the past or the future: `at 16:15`, `on 11-26`, `on 2027-02-05`. */
export function whenText(wallMs: number, nowMs: number, zone: Zone): string {
  const [day, today] = [utcDay(wallMs + zone(wallMs)), utcDay(nowMs + zone(nowMs))];
  if (day === today) return `at ${clockTime(wallMs, nowMs, zone)}`;
  const label = zone(wallMs) === 0 ? ' UTC' : '';
  return `on ${day.slice(0, 4) === today.slice(0, 4) ? day.slice(5) : day}${label}`;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A span that was estimated, rounded to one unit: `58 min`, `5 h`, `3 days`. */
export function roundedSpan(ms: number): string {
  if (ms < 90 * MINUTE_MS) return `${Math.max(1, Math.round(ms / MINUTE_MS))} min`;
  if (ms < 48 * HOUR_MS) return `${Math.round(ms / HOUR_MS)} h`;
  return `${Math.round(ms / DAY_MS)} days`;
}
