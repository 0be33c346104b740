/** The record of this dashboard's actions, and the undo of the last change. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { hasLimits, limitsMissing } from '../operator/terms.ts';
import { type KeyRecord, NO_TERMS, type UserLimits } from '../state/keys.ts';
import { NO_LEVEL_TERMS } from '../state/levels.ts';
import { type Action, type Done, type LevelSubject, type Subject, userLimitsOf } from './actions.ts';
import type { Model } from './model.ts';
import { groupsById, keysById } from './select.ts';

/** Maximum recorded actions. */
const MAX_DONE = 200;

export interface Undo {
  readonly done: Done;
  /** The action that restores the earlier state. */
  readonly action: Action;
  /** Whether the changed fields have changed again since. */
  readonly isChangedSince: boolean;
  /** The key, group or end user now. */
  readonly now: Subject;
}

/** Records an action, and marks the action that it undid. */
export function withDone(
  model: Model,
  { undoes, ...done }: Omit<Done, 'number' | 'isUndone' | 'isUndo'> & { readonly undoes: number | undefined },
): Model {
  const isUndone = (number: number) => done.tone !== 'bad' && number === undoes;
  const earlier = model.done.map((each) => (isUndone(each.number) ? { ...each, isUndone: true } : each));
  const number = (model.done.at(-1)?.number ?? 0) + 1;
  const last: Done = { ...done, number, isUndone: false, isUndo: undoes !== undefined };
  return { ...model, done: [...earlier, last].slice(-MAX_DONE) };
}

/**
 * Returns the undo of the last change. If that change cannot be undone, returns the change itself; undefined without a
 * change.
 */
export function lastUndo(model: Model): Undo | { readonly stays: Done | undefined } {
  for (const done of model.done.toReversed()) {
    if (done.tone === 'bad' || done.isUndone || done.isUndo || done.action.kind === 'reload') continue;
    const { before } = done;
    const action = before && reverse(model, done.action, before);
    const now = before && nowOf(model, before);
    // An irreversible last change ends the search: undoing an earlier one would surprise the user.
    if (before === undefined || action === undefined || now === undefined) return { stays: done };
    if (action !== 'nothing') return { done, action, now, isChangedSince: !isAs(done.action, now, before) };
  }
  return { stays: undefined };
}

/** Returns the current subject; undefined if it was deleted. */
function nowOf(model: Model, before: Subject): Subject | undefined {
  if (!('kind' in before)) return keysById(model).get(before.id)?.record;
  if (before.kind === 'group') {
    const record = groupsById(model).get(before.record.id)?.record;
    return record && { kind: 'group', record };
  }
  const { ownerId, name } = before.record;
  const read = model.groups.users.get(ownerId)?.users?.find((user) => user.name === name);
  const nothing = { ...NO_LEVEL_TERMS, ownerId, name, state: 'enabled' } as const;
  return read === undefined ? before : { ...before, record: read.own ?? nothing };
}

/** Returns the reverse action; `nothing` if the action changed no value, undefined if it is irreversible. */
function reverse(model: Model, action: Done['action'], before: Subject): Action | 'nothing' | undefined {
  if (isAs(action, before, before)) return 'nothing';
  if (action.kind === 'set_user_limits')
    return { ...action, limits: userLimitsBefore(action.limits, userLimitsOf(before)) };
  if (action.kind === 'move') {
    const outerId = groupIdOf(before);
    const outer = groupsById(model).get(outerId ?? '')?.record;
    return outerId !== null && outer === undefined ? undefined : { ...action, outer };
  }
  return 'kind' in before ? reverseOfLevel(action, before) : reverseOfKey(action, before);
}

function reverseOfLevel(action: Done['action'], { record }: LevelSubject): Action | undefined {
  if (action.kind === 'set_level_state') {
    return { ...action, state: record.state === 'enabled' ? 'enabled' : 'disabled' };
  }
  if (action.kind === 'set_group_allowlist') {
    return { ...action, models: 'allowlist' in record ? record.allowlist : null };
  }
  if (action.kind !== 'set_level_limits') return undefined;
  const before = { ...NO_TERMS, ...record };
  return { ...action, limits: limitsMissing(before, { ...before, ...action.limits }) };
}

function reverseOfKey(action: Done['action'], before: KeyRecord): Action | undefined {
  switch (action.kind) {
    case 'set_state':
      if (action.state === 'deleted') return undefined;
      return { kind: 'set_state', keyId: before.id, state: before.state };
    case 'set_limits':
      return { kind: 'set_limits', keyId: before.id, limits: limitsMissing(before, { ...before, ...action.limits }) };
    case 'set_allowlist':
      return { kind: 'set_allowlist', keyId: before.id, models: before.allowlist };
    default:
      return undefined;
  }
}

/** Returns the previous values of the limits that a change has altered. */
function userLimitsBefore({ required, ...limits }: Partial<UserLimits>, before: UserLimits): Partial<UserLimits> {
  const terms = { ...NO_TERMS, ...before };
  const duty = required === undefined || required === before.required ? {} : { required: before.required };
  return { ...limitsMissing(terms, { ...terms, ...limits }), ...duty };
}

function groupIdOf(subject: Subject): string | null {
  const record = 'kind' in subject ? subject.record : subject;
  return 'groupId' in record ? record.groupId : null;
}

function termsOf(subject: Subject) {
  return { ...NO_TERMS, ...('kind' in subject ? subject.record : subject) };
}

/** Whether the changed fields still have the values that the action set. */
function isAs(action: Done['action'], now: Subject, before: Subject): boolean {
  const [terms, termsBefore] = [termsOf(now), termsOf(before)];
  switch (action.kind) {
    case 'set_level_state':
    case 'set_state':
      return terms.state === action.state;
    case 'set_level_limits':
    case 'set_limits':
      return hasLimits(terms, limitsMissing(action.limits, termsBefore));
    case 'set_allowlist':
    case 'set_group_allowlist':
      return isDeepStrictEqual(terms.allowlist, action.models);
    case 'set_user_limits': {
      const { required, ...limits } = action.limits;
      const [own, ownBefore] = [userLimitsOf(now), userLimitsOf(before)];
      const isSet = hasLimits({ ...NO_TERMS, ...own }, limitsMissing(limits, { ...NO_TERMS, ...ownBefore }));
      return isSet && (required ?? own.required) === own.required;
    }
    case 'move':
      return groupIdOf(now) === (action.outer?.id ?? null);
    default:
      return false;
  }
}
