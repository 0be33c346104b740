/** How an upstream is doing, as the dashboard says it everywhere. Pure. */
import type { UpstreamHealth } from '../observe/worker-snapshot.ts';
import { short } from '../operator/format.ts';
import { UPSTREAM_STATES } from '../operator/messages.ts';
import type { Tone } from './draw/line.ts';
import { isUnused } from './select.ts';

export type Health = 'good' | 'unknown' | 'warn' | 'bad';

/** States differ by sign, and not by colour alone. */
export const SIGNS: Readonly<Record<Health, string>> = { good: '●', unknown: '○', warn: '▲', bad: '✕' };
export const TONES: Readonly<Record<Health, Tone | undefined>> = {
  good: 'good',
  unknown: undefined,
  warn: 'warn',
  bad: 'bad',
};

const ORDER: readonly Health[] = ['bad', 'warn', 'good', 'unknown'];

export function healthOf({ state, requests, failures, causes, unasked }: UpstreamHealth): Health {
  if (isUnused(state)) return 'bad';
  if (state === 'half_open') return 'warn';
  // Without requests nobody knows whether what failed in the last hour works again.
  if (unasked) return 'unknown';
  if (requests === 0) return causes.length > 0 ? 'warn' : 'good';
  if (failures === 0) return 'good';
  return failures < requests ? 'warn' : 'bad';
}

/** Whether there is something to say about it. */
export function isTroubled(upstream: UpstreamHealth): boolean {
  const health = healthOf(upstream);
  return health === 'warn' || health === 'bad';
}

/** Those in trouble first, otherwise in the order of the config. */
export function byHealth(upstreams: readonly UpstreamHealth[]): readonly UpstreamHealth[] {
  return upstreams.toSorted((a, b) => ORDER.indexOf(healthOf(a)) - ORDER.indexOf(healthOf(b)));
}

/** What its circuit does, or how many of its requests failed in the last minute. */
export function stateText({ state, failures, requests, causes, unasked }: UpstreamHealth): string {
  if (state === 'closed' && unasked) return 'never asked';
  if (state === 'closed' && requests === 0 && causes.length > 0) return 'has failed';
  return state === 'closed' && failures > 0 ? `${short(failures)} failed` : UPSTREAM_STATES[state];
}
