/** What `<key>` names on the command line: a key, or with an @ before its name a group. */

import { program } from '../core/program.ts';
import { refuserOf } from '../operator/tree.ts';
import { isGone, type KeyRecord } from '../state/keys.ts';
import { type GroupRecord, isKeyId } from '../state/levels.ts';
import { findGroup, groupJson, namesGroup, wordOf } from './group-view.ts';
import { findKey, keyJson, levelsAround } from './key-view.ts';
import { notice } from './output.ts';
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

/**
 * Says of a key, or of the keys of a group, that it is enabled and refused all the same: its time is over, or something around
 * it refuses all that is in it.
 */
export async function noteRefused(owner: KeyRecord | GroupRecord, state: State): Promise<void> {
  const isOver = (level: KeyRecord | GroupRecord) => isGone({ expiresAtMs: null, ...level }, state.nowMs);
  const levels = await levelsAround([owner], state);
  const refuser = isOver(owner) ? owner : refuserOf(owner, (id) => levels.get(id), state.nowMs);
  if (refuser === undefined) return;
  const subject = isKeyId(owner.id) ? `${owner.name} is` : `all keys in ${wordOf(owner)} are`;
  const word = wordOf(refuser);
  const who = refuser === owner ? 'it' : word;
  const remedy =
    refuser.state === 'disabled'
      ? `${who} is enabled: ${program('keys', 'enable', word)}`
      : `${who} has more time: ${moreTime(word)}`;
  notice(`note: ${subject} refused until ${remedy}`);
}

/** What to type where a key has expired. */
export function moreTime(name: string): string {
  return program('limits', 'set', name, '--expires', '30d');
}
