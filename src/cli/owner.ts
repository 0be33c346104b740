/** What `<key>` names on the command line: a key, or with an @ before its name a group. */
import type { KeyRecord } from '../state/keys.ts';
import type { GroupRecord } from '../state/levels.ts';
import { findGroup, groupJson, namesGroup } from './group-view.ts';
import { findKey, keyJson } from './key-view.ts';
import type { State } from './state.ts';

/** Of arguments and options that take either. */
export const KEY_OR_GROUP = 'id or name; @name for a group';

/** Throws a UserError if there is none. */
export async function findOwner(word: string, state: State): Promise<KeyRecord | GroupRecord> {
  return namesGroup(word) ? findGroup(word, state) : findKey(word, state);
}

export async function ownerJson(owner: KeyRecord | GroupRecord, state: State): Promise<object> {
  return 'preview' in owner ? keyJson(owner, state) : groupJson(owner, state);
}

/** The group that an option names; undefined without the option. Throws a UserError if there is none. */
export async function groupOf(word: string | undefined, state: State): Promise<GroupRecord | undefined> {
  return word === undefined ? undefined : findGroup(word, state);
}
