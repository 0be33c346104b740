/** What the commands and the dashboard both say, in the same words. Pure. */
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
/** Requests are refused while the balance is below zero, so an entry that leads there is probably a slip. */
export function debtChange(
  balanceNanos: Nanos,
  amountNanos: Nanos,
  show: (nanos: Nanos) => string,
): string | undefined {
  const afterNanos = balanceNanos + amountNanos;
  return afterNanos >= 0n || amountNanos >= 0n ? undefined : `from ${show(balanceNanos)} to ${show(afterNanos)} USD`;
}

/** What to say of a model in an allowlist that no provider has; it may come later. */
export function unknownModel(id: string): string {
  return `${id} is not in the config; list models with \`${program()} models\``;
}

export const NO_USAGE = 'No usage recorded.';
/** Stands for the requests that name no user, tag or app. */
export const NO_NAME = '(none)';

/** What the state of an upstream means for requests. */
export const UPSTREAM_STATES: Readonly<Record<UpstreamState, string>> = {
  closed: 'in use',
  open: 'circuit open',
  half_open: 'half-open',
  backing_off: 'backing off',
};

/** Why a key could not be created or changed, and what to do next. `alike`: the name of a key that may be meant. */
export function explainKeyChange(
  change: Exclude<KeyChange, { kind: 'done' }>,
  idOrName: string,
  alike?: string,
): string {
  // Somebody may have given the whole key.
  const name = JSON.stringify(redactKeys(idOrName));
  switch (change.kind) {
    case 'no_such_key':
      if (alike !== undefined) return `no such key: ${name}; did you mean ${JSON.stringify(alike)}?`;
      return `no such key: ${name}; list keys with \`${program()} keys list\``;
    case 'no_such_group':
      return `the group that ${name} was to be in is gone; list groups with \`${program()} groups list\``;
    case 'is_child':
      return `key ${name} was made by another key, and is where that is; move that one`;
    case 'deleted':
      return `key ${name} was deleted permanently; create another with \`${program()} keys create\``;
    case 'name_taken':
      return `a key named ${name} already exists; choose another name, or delete that key first`;
    case 'too_many_today':
      return `the key above ${name} has created ${count(MOST_CREATED_A_DAY)} keys today, the most in a day (UTC); use another one, or wait until tomorrow`;
  }
}

/** What goes with a key that is deleted, as a sentence with a blank after it: the keys that it has made. */
export function goesWith(made: number): string {
  return made === 0 ? '' : `${countOf(made, 'key')} that it has made ${made === 1 ? 'goes' : 'go'} with it. `;
}

/** Why a group was not made or changed. `alike`: a group that may be meant. */
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
      return `the group ${name} cannot be in itself, nor in a group that is in it`;
    case 'too_deep':
      return `a key is in ${MOST_GROUPS} groups at most, one in the other; for ${name} there would be more`;
    case 'not_empty':
      return `the group ${name} is not empty: move out what is in it with \`${program()} keys move\`, or use --yes to move all of it to the group above`;
  }
}

export function allowlistText(allowlist: readonly string[] | null): string {
  if (allowlist === null) return 'all';
  return allowlist.length === 0 ? 'none' : allowlist.join(', ');
}

/** Why admission refused a request; undefined if the code already says it. */
export function refusalReason({ code, reason }: Pick<RefusalRow, 'code' | 'reason'>): string | undefined {
  return reason === code ? undefined : reason.replaceAll('_', ' ');
}

/** Why a request failed or was refused, and what to do about it; empty if neither. */
export function whyOf({ failure, refusal }: Pick<RequestRow, 'failure' | 'refusal'>): string {
  return failure?.message ?? refusal ?? '';
}

/** The model that served a request, and the one asked for if it served as its fallback. */
export function servedModel(model: string, requested: string = model): string {
  return model === requested ? model : `${model} (fallback for ${requested})`;
}

/** The upstream that served a request, and how many attempts it took. */
export function servedBy(upstream: string, attempts = 1): string {
  return attempts === 1 ? upstream : `${upstream}, after ${countOf(attempts, 'attempt')}`;
}

/** Whether a gateway is alive, and since when it is or is not. */
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
