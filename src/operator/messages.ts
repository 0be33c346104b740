/** Messages that commands and dashboard share. Pure. */
import { redactKeys } from '../core/api-key.ts';
import type { Nanos } from '../core/money.ts';
import { program } from '../core/program.ts';
import type { RequestRow, UpstreamState } from '../observe/worker-snapshot.ts';
import { type KeyChange, MOST_CREATED_A_DAY } from '../state/keys.ts';
import { type GroupChange, MOST_GROUPS } from '../state/levels.ts';
import type { NodeRecord } from '../state/nodes.ts';
import type { RefusalRow } from '../state/usage.ts';
import { ago, count, countOf, duration } from './format.ts';

export const CONFIG_RELOADED = 'The gateway reloaded its config.';
export const BALANCE_TOO_LARGE = 'the balance would exceed 1,000,000,000 USD; nothing was changed';
/**
 * Describes a change of the balance to below zero, or undefined. Below zero, all paid requests are refused, so such an entry
 * is probably a mistake.
 */
export function debtChange(
  balanceNanos: Nanos,
  amountNanos: Nanos,
  show: (nanos: Nanos) => string,
): string | undefined {
  const afterNanos = balanceNanos + amountNanos;
  return afterNanos >= 0n || amountNanos >= 0n ? undefined : `from ${show(balanceNanos)} to ${show(afterNanos)} USD`;
}

/** A warning about a model that is allowed but not in the config. It may be added later. */
export function unknownModel(id: string): string {
  return `${id} is not in the config; list models with \`${program()} models\``;
}

export const NO_USAGE = 'No usage recorded.';
/** The row of requests without a user, tag or app. */
export const NO_NAME = '(none)';

/** The meaning of an upstream's state for requests. */
export const UPSTREAM_STATES: Readonly<Record<UpstreamState, string>> = {
  closed: 'in use',
  open: 'circuit open',
  half_open: 'half-open',
  backing_off: 'backing off',
};

/** Explains why a key was not created or changed, with the next step. `alike`: a key with a similar name. */
export function explainKeyChange(
  change: Exclude<KeyChange, { kind: 'done' }>,
  idOrName: string,
  alike?: string,
): string {
  // The argument may be a whole key.
  const name = JSON.stringify(redactKeys(idOrName));
  switch (change.kind) {
    case 'no_such_key':
      if (alike !== undefined) return `no such key: ${name}; did you mean ${JSON.stringify(alike)}?`;
      return `no such key: ${name}; list keys with \`${program()} keys list\``;
    case 'no_such_group':
      return `the group for ${name} no longer exists; list groups with \`${program()} groups list\``;
    case 'is_child':
      return `key ${name} is a child key and belongs to the group of its parent; move the parent`;
    case 'deleted':
      return `key ${name} was deleted permanently; create another with \`${program()} keys create\``;
    case 'name_taken':
      return `a key named ${name} already exists; choose another name, or delete that key first`;
    case 'too_many_today':
      return `the key above ${name} has created ${count(MOST_CREATED_A_DAY)} keys today, the most in a day (UTC); use another one, or wait until tomorrow`;
  }
}

/** A sentence about the child keys to delete with a key, followed by a blank; empty without children. */
export function deletedWith(made: number): string {
  return made === 0 ? '' : `Its ${countOf(made, 'child key')} ${made === 1 ? 'is' : 'are'} deleted, too. `;
}

/** Explains why a group was not created or changed. `alike`: a group with a similar name. */
export function explainGroupChange(
  change: Exclude<GroupChange, { kind: 'done' }>,
  idOrName: string,
  alike?: string,
): string {
  const name = JSON.stringify(idOrName);
  switch (change.kind) {
    case 'no_such_group':
      if (alike !== undefined) return `no such group: ${name}; did you mean ${JSON.stringify(alike)}?`;
      return `no such group: ${name}; list groups with \`${program()} groups list\``;
    case 'name_taken':
      return `a group named ${name} already exists; choose another name, or delete that group first`;
    case 'in_itself':
      return `the group ${name} cannot contain itself, directly or through another group`;
    case 'too_deep':
      return `at most ${MOST_GROUPS} nested groups may contain a key, and ${name} would be nested deeper`;
    case 'not_empty':
      return `the group ${name} is not empty: move its keys and groups with \`${program()} keys move\`, or use --yes to move them to the group above`;
  }
}

export function allowlistText(allowlist: readonly string[] | null): string {
  if (allowlist === null) return 'all';
  return allowlist.length === 0 ? 'none' : allowlist.join(', ');
}

/** The reason of a refusal; undefined if the code already states it. */
export function refusalReason({ code, reason }: Pick<RefusalRow, 'code' | 'reason'>): string | undefined {
  return reason === code ? undefined : reason.replaceAll('_', ' ');
}

/** Why a request failed or was refused, with the next step; empty if neither. */
export function whyOf({ failure, refusal }: Pick<RequestRow, 'failure' | 'refusal'>): string {
  return failure?.message ?? refusal ?? '';
}

/** The model that served a request, with the requested one if it served as a fallback. */
export function servedModel(model: string, requested: string = model): string {
  return model === requested ? model : `${model} (fallback for ${requested})`;
}

/** The upstream that served a request, and the number of attempts. */
export function servedBy(upstream: string, attempts = 1): string {
  return attempts === 1 ? upstream : `${upstream}, after ${countOf(attempts, 'attempt')}`;
}

/** The state of a gateway, and how long it has lasted. */
export function nodeState({ state, startedAtMs, seenAtMs }: NodeRecord, nowMs: number): string {
  switch (state) {
    case 'alive':
      return `alive, up ${duration((nowMs - startedAtMs) / 1_000)}`;
    case 'silent':
      return `silent for ${duration((nowMs - seenAtMs) / 1_000)}`;
    case 'stopped':
      return `stopped ${ago((nowMs - seenAtMs) / 1_000)}`;
  }
}
