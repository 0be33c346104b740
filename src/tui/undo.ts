/** What was done in this dashboard, and how the last of it can be undone. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { hasLimits, limitsMissing } from '../operator/terms.ts';
import type { KeyRecord } from '../state/keys.ts';
import type { Action, Done } from './deeds.ts';
import type { Model } from './model.ts';
import { keysById } from './select.ts';

/** The changes that are remembered. */
const MAX_DONE = 200;

export interface Undo {
  readonly done: Done;
  /** What brings back what was there before. */
  readonly action: Action;
  /** Whether the key is no longer as the change has left it, in what it changed. */
  readonly isChangedSince: boolean;
  /** The key as it is now. */
  readonly key: KeyRecord;
}

/** Remembers what was done, and what of it has been undone by that. */
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

/** How the last change can be undone; else that change, which nothing undoes, and undefined if there is none. */
export function lastUndo(model: Model): Undo | { readonly stays: Done | undefined } {
  for (const done of model.done.toReversed()) {
    if (done.tone === 'bad' || done.isUndone || done.isUndo || done.deed.kind === 'reload') continue;
    const { before } = done;
    const action = before && reverse(done.deed, before);
    const key = before && keysById(model).get(before.id)?.record;
    // What was done before it is not what anybody means by the last change.
    if (before === undefined || action === undefined || key === undefined) return { stays: done };
    if (action !== 'nothing') return { done, action, key, isChangedSince: !isAs(done.deed, key, before) };
  }
  return { stays: undefined };
}

/** What brings the key back; `nothing` if it was so already, and undefined if nothing can. */
function reverse(deed: Done['deed'], before: KeyRecord): Action | 'nothing' | undefined {
  if (isAs(deed, before, before)) return 'nothing';
  switch (deed.kind) {
    case 'set_state':
      if (deed.state === 'deleted') return undefined;
      return { kind: 'set_state', keyId: before.id, state: before.state };
    case 'set_limits':
      return { kind: 'set_limits', keyId: before.id, limits: limitsMissing(before, { ...before, ...deed.limits }) };
    case 'set_allowlist':
      return { kind: 'set_allowlist', keyId: before.id, models: before.allowlist };
    case 'create':
    case 'rotate':
    case 'add_credit':
    case 'stop_request':
    case 'stop_elsewhere':
    case 'reload':
      return undefined;
  }
}

/** Whether a key is as this has left it, in what it changed of the key before. */
function isAs(deed: Done['deed'], key: KeyRecord, before: KeyRecord): boolean {
  switch (deed.kind) {
    case 'set_state':
      return key.state === deed.state;
    case 'set_limits':
      return hasLimits(key, limitsMissing(deed.limits, before));
    case 'set_allowlist':
      return isDeepStrictEqual(key.allowlist, deed.models);
    case 'create':
    case 'rotate':
    case 'add_credit':
    case 'stop_request':
    case 'stop_elsewhere':
    case 'reload':
      return false;
  }
}
