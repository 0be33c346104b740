/** Actions in the tree of groups: unfolding rows, paging end users, changing groups and end users. Pure. */
import { cleanName } from '../../core/spent-by.ts';
import { countOf, usd } from '../../operator/format.ts';
import type { Owner } from '../../state/keys.ts';
import { isKeyId, NO_LEVEL_TERMS, NO_USER_LIMITS } from '../../state/levels.ts';
import type { LevelRef } from '../actions.ts';
import { currentRow, type GroupRow, shownRows } from '../lists/groups.ts';
import { exactWord } from '../lists/words.ts';
import type { Model, StoredGroup, UserPage } from '../model.ts';
import { hasPane, ownerById } from '../select.ts';
import { createForm, createGroupForm, levelForm, moveForm, usersForm } from './forms.ts';
import { confirm, groupName, isTypable, onKeyAction } from './key-actions.ts';
import { withList } from './lists.ts';
import { pickerOptions } from './picker.ts';
import { type Step, step } from './step.ts';
import { intoRequests } from './trail.ts';

const FIRST_PAGE: UserPage = { starts: [''], users: undefined, hasMore: false };

export function onGroupsKey(model: Model, key: string): Step {
  const row = currentRow(model);
  if (key === 'n') return step({ ...model, dialog: createGroupForm(groupAround(model, row)) });
  if (key === 'N') return step({ ...model, dialog: createForm(groupHere(model, row)) });
  if (key === '*') return step(withAllFolded(model));
  if (row === undefined) return step(model);
  switch (key) {
    case 'enter':
      return onEnter(model, row);
    case 'right':
      return row.isUnfolded === false ? unfold(model, row) : step(model);
    case 'left':
      return row.isUnfolded === true ? fold(model, row) : step(outOf(model, row));
    default:
      return onRowAction(model, row, key);
  }
}

/** Unfolds the row; on the next press shows its details; then folds it or opens its requests. */
function onEnter(model: Model, row: GroupRow): Step {
  if (row.kind === 'page') return turnPage(model, row);
  if (row.isUnfolded === false) return unfold(model, row);
  if (row.kind === 'rest') return fold(model, row);
  if (!model.groups.isOpen && !hasPane(model)) return step({ ...model, groups: { ...model.groups, isOpen: true } });
  switch (row.kind) {
    case 'group':
      return row.isUnfolded === true ? fold(model, row) : step(model);
    case 'key': {
      const { name } = row.level.record;
      return intoRequests(model, name, exactWord('key', name));
    }
    case 'user': {
      const { name, owner } = row.level;
      const ofKey = isKeyId(owner.id) ? [exactWord('key', owner.name)] : [];
      return intoRequests(model, name, exactWord('user', cleanName(name)), ...ofKey);
    }
  }
}

/** Unfolds a row and reads its first end users, if they have limits. */
function unfold(model: Model, { id }: GroupRow): Step {
  const { groups } = model;
  const unfolded = new Set([...groups.unfolded, id]);
  const hasUsers = (ownerById(model, id)?.userLimits ?? null) !== null;
  if (!hasUsers) return step({ ...model, groups: { ...groups, unfolded } });
  const users = new Map([...groups.users, [id, FIRST_PAGE] as const]);
  return step({ ...model, groups: { ...groups, unfolded, users } }, { kind: 'load_users' });
}

function fold(model: Model, { id }: GroupRow): Step {
  const { groups } = model;
  const unfolded = new Set([...groups.unfolded].filter((each) => each !== id));
  const users = new Map([...groups.users].filter(([ownerId]) => ownerId !== id));
  return step({ ...model, groups: { ...groups, unfolded, users } });
}

/** Unfolds all groups, or folds them if all are unfolded. End users stay folded, since there may be millions. */
function withAllFolded(model: Model): Model {
  const { groups, stored } = model;
  const all = stored.groups.map(({ record }) => record.id);
  const isAll = all.every((id) => groups.unfolded.has(id));
  const unfolded = isAll ? new Set<string>() : new Set([...groups.unfolded, ...all]);
  const users = isAll ? new Map<string, UserPage>() : groups.users;
  return withList({ ...model, groups: { ...groups, unfolded, users } }, { cursor: 0 }, 'groups');
}

/** Moves the cursor to the parent row. */
function outOf(model: Model, { depth }: GroupRow): Model {
  const { cursor } = model.lists.groups;
  const at = shownRows(model).findLastIndex((row, index) => index < cursor && row.depth < depth);
  return at < 0 ? model : withList(model, { cursor: at }, 'groups');
}

function turnPage(model: Model, { ownerId, to }: Extract<GroupRow, { kind: 'page' }>): Step {
  const page = model.groups.users.get(ownerId);
  const last = page?.users?.at(-1)?.name;
  if (page === undefined || to === undefined || last === undefined) return step(model);
  const starts = to === 'later' ? [...page.starts, last] : page.starts.slice(0, -1);
  const users = new Map([...model.groups.users, [ownerId, { starts, users: undefined, hasMore: false }] as const]);
  const turned = { ...model, groups: { ...model.groups, users } };
  // Moves the cursor to the top of the new page.
  const top = shownRows(turned).findIndex((row) => row.kind === 'page' && row.ownerId === ownerId);
  return step(withList(turned, { cursor: Math.max(0, top) }, 'groups'), { kind: 'load_users' });
}

/**
 * Turns unfolded rows to the page of end users whose names begin with the filter's last word, since a user may be one
 * of a million.
 */
export function seekUsers(model: Model): Step {
  const { groups, lists } = model;
  const [whole = '', quoted] = /"([^"]*)"?$|[^\s:="]+$/.exec(lists.groups.filter.text.trimEnd()) ?? [];
  const word = quoted ?? whole;
  if (word === '' || groups.users.size === 0) return step(model);
  const page = { starts: ['', justBefore(word)], users: undefined, hasMore: false };
  const users = new Map([...groups.users.keys()].map((ownerId) => [ownerId, page] as const));
  return step({ ...model, groups: { ...groups, users } }, { kind: 'load_users' });
}

/** Returns a text just before this one, with no name between the two in byte order. */
function justBefore(text: string): string {
  const characters = [...text];
  const last = (characters.pop()?.codePointAt(0) ?? 0) - 1;
  const isSurrogate = last >= 0xd800 && last <= 0xdfff;
  return last < 0
    ? characters.join('')
    : `${characters.join('')}${String.fromCodePoint(isSurrogate ? 0xd7ff : last)}\u{10ffff}`;
}

/** Returns the group of the row, or around it: a new group gets the same outer group. */
function groupAround(model: Model, row: GroupRow | undefined): string {
  if (row === undefined || row.kind === 'page' || row.kind === 'rest') return '';
  return groupName(model, row.kind === 'user' ? row.level.owner.groupId : row.level.record.groupId);
}

/** Returns the group for a new key: the one under the cursor, or around it. */
function groupHere(model: Model, row: GroupRow | undefined): string {
  return row?.kind === 'group' ? row.level.record.name : groupAround(model, row);
}

function onRowAction(model: Model, row: GroupRow, key: string): Step {
  switch (row.kind) {
    case 'key':
      return onKeyAction(model, row.level, key);
    case 'group':
      return onGroupAction(model, row.level, key);
    case 'user': {
      const { name, owner, own } = row.level;
      const level = { kind: 'user', ownerId: owner.id, name } as const;
      if (key === 'l') return step({ ...model, dialog: levelForm(name, level, own ?? NO_LEVEL_TERMS) });
      return switchLevel(model, level, key, `Block ${name}?`, 'Their requests are refused');
    }
    case 'rest':
    case 'page':
      return step(model);
  }
}

function onGroupAction(model: Model, group: StoredGroup, key: string): Step {
  const { id: groupId, name, groupId: outer, userLimits, allowlist: chosen } = group.record;
  const level = { kind: 'group', groupId } as const;
  switch (key) {
    case 'l':
      return step({ ...model, dialog: levelForm(`@${name}`, level, group.record) });
    case 'U':
      return step({ ...model, dialog: usersForm(`@${name}`, { level }, userLimits ?? NO_USER_LIMITS) });
    case 'm': {
      const options = pickerOptions(model, chosen);
      const saves = { kind: 'group', level } as const;
      return step({ ...model, dialog: { kind: 'picker', saves, name: `@${name}`, options, chosen, cursor: 0 } });
    }
    case 'M':
      return step({ ...model, dialog: moveForm(`@${name}`, { level }, groupName(model, outer)) });
    case 'D':
      return askToDelete(model, group);
    default:
      return switchLevel(model, level, key, `Disable @${name}?`, 'The requests of all its keys are refused');
  }
}

/** Asks for a confirmation that states where the group's members move. */
function askToDelete(model: Model, { record, month }: StoredGroup): Step {
  const { id: groupId, name, groupId: outer } = record;
  const { groups, keys } = model.stored;
  const inside = (all: readonly { readonly record: Owner }[]) => all.filter((each) => each.record.groupId === groupId);
  const [inner, own] = [inside(groups).length, inside(keys).length];
  const isEmptied = inner + own > 0;
  const what = [own > 0 && countOf(own, 'key'), inner > 0 && countOf(inner, 'group')].filter((each) => each !== false);
  const above = groupName(model, outer);
  const isOne = inner + own === 1;
  const where = above === '' ? `${isOne ? 'is' : 'are'} then in no group` : `${isOne ? 'moves' : 'move'} to @${above}`;
  const moves = isEmptied ? `${what.join(' and ')} in it ${where}. ` : '';
  return confirm(
    model,
    `Delete @${name} permanently?`,
    `${moves}Its limits end, and this cannot be undone. What it has spent is kept.`,
    { kind: 'delete_group', level: { kind: 'group', groupId }, isEmptied },
    {
      word: isTypable(name) ? name : groupId,
      facts: [['this month', `${countOf(month.requests, 'request')}, ${usd(month.costNanos)} USD`]],
    },
  );
}

/** The keys `e` and `d`. */
function switchLevel(model: Model, level: LevelRef, key: string, title: string, text: string): Step {
  const action = (state: 'enabled' | 'disabled') => ({ kind: 'set_level_state', level, state }) as const;
  if (key === 'e') return step(model, { kind: 'act', action: action('enabled') });
  if (key !== 'd') return step(model);
  const until = level.kind === 'group' ? 'it is enabled again' : 'they are unblocked';
  return confirm(model, title, `${text} until ${until}.`, action('disabled'));
}
