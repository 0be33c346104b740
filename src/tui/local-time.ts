/** Times in the viewer's zone. Pure but for the zone of the process. */
import { dateTime } from '../operator/format.ts';
import { LOCAL } from '../operator/moments.ts';

/** `2026-11-24 16:00:00`. */
export function localTime(wallMs: number): string {
  return dateTime(wallMs + LOCAL(wallMs));
}

/** ` UTC` where the zone has no offset: a reader elsewhere would take a bare time for their own. */
export function zoneLabel(wallMs: number): string {
  return LOCAL(wallMs) === 0 ? ' UTC' : '';
}

/** `16:00:00` today, otherwise `11-23 16:00:00`. */
export function momentOf(wallMs: number, nowMs: number): string {
  const [text, today] = [localTime(wallMs), localTime(nowMs)];
  return text.slice(0, 10) === today.slice(0, 10) ? text.slice(11) : text.slice(5);
}
