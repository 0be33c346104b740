/** How things are doing, upstreams above all, in the same signs and words in the commands and in the dashboard. Pure. */
import type { UpstreamHealth, UpstreamState } from '../observe/worker-snapshot.ts';
import type { NodeState } from '../state/nodes.ts';
import { short } from './format.ts';
import { UPSTREAM_STATES } from './messages.ts';

/** What a state means for whoever reads it. */
export type Tone = 'good' | 'warn' | 'bad';
export type Health = Tone | 'unknown';

/** States differ by sign, and not by colour alone. */
export const SIGNS: Readonly<Record<Health, string>> = { good: '●', unknown: '○', warn: '▲', bad: '✕' };

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

/** A gateway that was stopped is missed by nobody; one that is silent may be. */
export const NODE_HEALTH: Readonly<Record<NodeState, Health>> = { alive: 'good', silent: 'bad', stopped: 'unknown' };

/** Whether an upstream in this state gets no requests. */
export function isUnused(state: UpstreamState): boolean {
  return state === 'open' || state === 'backing_off';
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
