/** Times in the viewer's zone. Pure except for the process's time zone. */
import { dateTime } from '../operator/format.ts';
import { LOCAL } from '../operator/moments.ts';

/** Formats a time as `2026-11-24 16:00:00`. */
export function localTime(wallMs: number): string {
  return dateTime(wallMs + LOCAL(wallMs));
}

/** Returns ` UTC` if the zone's offset is zero: a reader elsewhere would take a bare time for local time. */
export function zoneLabel(wallMs: number): string {
  return LOCAL(wallMs) === 0 ? ' UTC' : '';
}

/** Formats a time of today as `16:00:00`, others as `11-23 16:00:00`. */
export function momentOf(wallMs: number, nowMs: number): string {
  const [text, today] = [localTime(wallMs), localTime(nowMs)];
  return text.slice(0, 10) === today.slice(0, 10) ? text.slice(11) : text.slice(5);
}
