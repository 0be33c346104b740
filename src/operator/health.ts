/** Signs, tones and texts for the health of upstreams and gateways, for commands and dashboard. Pure. */
import type { UpstreamHealth, UpstreamState } from '../observe/worker-snapshot.ts';
import type { NodeState } from '../state/nodes.ts';
import { short } from './format.ts';
import { UPSTREAM_STATES } from './messages.ts';

/** How good or bad a state is for the operator. */
export type Tone = 'good' | 'warn' | 'bad';
export type Health = Tone | 'unknown';

/** Each state has a sign of its own, since colours may be invisible. */
export const SIGNS: Readonly<Record<Health, string>> = { good: '●', unknown: '○', warn: '▲', bad: '✕' };

const ORDER: readonly Health[] = ['bad', 'warn', 'good', 'unknown'];

export function healthOf({ state, requests, failures, causes, unasked }: UpstreamHealth): Health {
  if (isUnused(state)) return 'bad';
  if (state === 'half_open') return 'warn';
  // Without requests it is unknown whether the failures of the last hour continue.
  if (unasked) return 'unknown';
  if (requests === 0) return causes.length > 0 ? 'warn' : 'good';
  if (failures === 0) return 'good';
  return failures < requests ? 'warn' : 'bad';
}

/** An operator has stopped a `stopped` gateway; a `silent` one has disappeared. */
export const NODE_HEALTH: Readonly<Record<NodeState, Health>> = { alive: 'good', silent: 'bad', stopped: 'unknown' };

/** Whether requests skip an upstream in this state. */
export function isUnused(state: UpstreamState): boolean {
  return state === 'open' || state === 'backing_off';
}

/** Whether an upstream needs attention. */
export function isTroubled(upstream: UpstreamHealth): boolean {
  const health = healthOf(upstream);
  return health === 'warn' || health === 'bad';
}

/** Failing upstreams first, otherwise in the order of the config. */
export function byHealth(upstreams: readonly UpstreamHealth[]): readonly UpstreamHealth[] {
  return upstreams.toSorted((a, b) => ORDER.indexOf(healthOf(a)) - ORDER.indexOf(healthOf(b)));
}

/** The state of an upstream's circuit, or how many of its requests failed in the last minute. */
export function stateText({ state, failures, requests, causes, unasked }: UpstreamHealth): string {
  if (state === 'closed' && unasked) return 'never asked';
  if (state === 'closed' && requests === 0 && causes.length > 0) return 'has failed';
  return state === 'closed' && failures > 0 ? `${short(failures)} failed` : UPSTREAM_STATES[state];
}
