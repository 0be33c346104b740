/** Finds the key or group that `<key>` names on the command line; `@name` names a group. */

import { program } from '../core/program.ts';
import { spendingLevels } from '../operator/level-figures.ts';
import { clockTime, LOCAL } from '../operator/moments.ts';
import { type Blocker, blockerOf, levelWord } from '../operator/spending.ts';
import type { KeyRecord } from '../state/keys.ts';
import { type GroupRecord, isKeyId } from '../state/levels.ts';
import { findGroup, groupJson, namesGroup } from './group-view.ts';
import { findKey, keyJson } from './key-view.ts';
import { notice } from './output.ts';
import type { State } from './state.ts';

/** The description of arguments and options that accept both. */
export const KEY_OR_GROUP = 'id or name; @name for a group';

/** Throws a UserError without a match. */
export async function findOwner(word: string, state: State): Promise<KeyRecord | GroupRecord> {
  return namesGroup(word) ? findGroup(word, state) : findKey(word, state);
}

export async function ownerJson(owner: KeyRecord | GroupRecord, state: State): Promise<object> {
  return 'preview' in owner ? keyJson(owner, state) : groupJson(owner, state);
}

/** Finds the group of an option; undefined without the option. Throws a UserError without a match. */
export async function groupOf(word: string | undefined, state: State): Promise<GroupRecord | undefined> {
  return word === undefined ? undefined : findGroup(word, state);
}

/** Prints a note if a key, or all keys of a group, are refused although it is enabled, with the remedy. */
export async function noteRefused(owner: KeyRecord | GroupRecord, state: State): Promise<void> {
  const levels = await spendingLevels([owner], state);
  const own = levels.get(owner.id);
  const blocker = own && blockerOf(own, (id) => levels.get(id), state.nowMs);
  if (blocker === undefined || (blocker.level === own && blocker.reason === 'disabled')) return;
  const subject = isKeyId(owner.id) ? `${owner.name} is` : `all keys in ${levelWord(owner)} are`;
  notice(`note: ${subject} refused until ${remedyFor(blocker, blocker.level === own, state.nowMs)}`);
}

function remedyFor({ level, reason, bound }: Blocker, isOwn: boolean, nowMs: number): string {
  const word = levelWord(level.record);
  const name = isOwn ? 'it' : word;
  switch (reason) {
    case 'disabled':
      return `${name} is enabled: ${program('keys', 'enable', word)}`;
    case 'deleted':
    case 'expired':
      return `${name} has more time: ${moreTime(word)}`;
    case 'spent': {
      const freesAtMs = bound?.freesAtMs ?? null;
      const raised = `${name} may spend more: ${program('limits', 'show', word)}`;
      if (freesAtMs === null) return raised;
      return `${clockTime(freesAtMs, nowMs, LOCAL)}, when its ${bound?.period} budget resets, or until ${raised}`;
    }
  }
}

/** The command that extends the expiry of a key. */
export function moreTime(name: string): string {
  return program('limits', 'set', name, '--expires', '30d');
}
