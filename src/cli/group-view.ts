/** Groups as JSON, as fields, and as a tree. */
import type { Command } from 'commander';
import { isoTime } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import { count } from '../operator/format.ts';
import { SIGNS } from '../operator/health.ts';
import { type Reader, readKeyName } from '../operator/input.ts';
import { monthJson } from '../operator/key-json.ts';
import {
  type GroupFigures,
  groupFigures,
  NO_FIGURES,
  type SpendingLevel,
  spendingLevels,
} from '../operator/level-figures.ts';
import { allowlistText, explainGroupChange } from '../operator/messages.ts';
import { type BoundedLevel, blockerJson, blockerOf, standingWithin } from '../operator/spending.ts';
import { type Field, type Look, type Marked, marked, type Table, zoneOf } from '../operator/table.ts';
import { levelJson, userLimitsJson } from '../operator/terms.ts';
import { inTreeOrder } from '../operator/tree.ts';
import type { GroupChange, GroupRecord } from '../state/levels.ts';
import {
  LEVEL_COLUMNS,
  levelCells,
  levelFields,
  monthField,
  mostAlike,
  STATE_COLUMN,
  userLimitFields,
} from './level-view.ts';
import { look, printFields, printJson, printNote, printTable } from './output.ts';
import { globalOptions, type State } from './state.ts';

/** The prefix of a group's name where a key's name could stand as well. */
export const GROUP_SIGN = '@';

export function namesGroup(word: string): boolean {
  return word.startsWith(GROUP_SIGN);
}

/** Groups with their figures of this month, and their spent budgets by id. */
export interface GroupsRead extends GroupFigures {
  readonly levels: ReadonlyMap<string, SpendingLevel>;
}

export async function readGroups(state: State): Promise<GroupsRead> {
  const figures = await groupFigures(state);
  return { ...figures, levels: await spendingLevels(figures.groups, state) };
}

function jsonOf(group: GroupRecord, { groups, months, spends, keys, levels }: GroupsRead, nowMs: number) {
  const level = levels.get(group.id);
  return {
    id: group.id,
    name: group.name,
    group: groups.find(({ id }) => id === group.groupId)?.name ?? null,
    state: group.state,
    ...levelJson(group, spends.get(group.id) ?? []),
    allowlist: group.allowlist,
    user_limits: userLimitsJson(group.userLimits),
    keys: keys.get(group.id) ?? 0,
    created_at: isoTime(group.createdAtMs),
    month: monthJson(months.get(group.id) ?? NO_FIGURES),
    blocked_by: level === undefined ? null : blockedJson(level, levels, nowMs),
  };
}

export async function groupJson(group: GroupRecord, state: State) {
  return jsonOf(group, await readGroups(state), state.nowMs);
}

export function groupsJson(read: GroupsRead, nowMs: number) {
  return read.groups.map((group) => jsonOf(group, read, nowMs));
}

/** Prints a group, as JSON if the command asks for it. */
export async function printGroup(group: GroupRecord, command: Command, state: State): Promise<void> {
  const read = await readGroups(state);
  if (globalOptions(command).json) printJson(jsonOf(group, read, state.nowMs));
  else printFields(fieldsOf(group, read, state.nowMs));
}

function fieldsOf(group: GroupRecord, read: GroupsRead, nowMs: number): Field[] {
  const { groups, months, spends, keys, levels } = read;
  const month = months.get(group.id) ?? NO_FIGURES;
  const outer = groups.find(({ id }) => id === group.groupId);
  return [
    ['name', group.name],
    ['id', group.id],
    ...(outer === undefined ? [] : [['in', `${GROUP_SIGN}${outer.name}`] as const]),
    ['state', stateCell(group.id, levels, look(), nowMs)],
    ['created', isoTime(group.createdAtMs)],
    ['keys', count(keys.get(group.id) ?? 0)],
    ...levelFields(group, spends.get(group.id) ?? [], nowMs, look()),
    ...userLimitFields(group.userLimits),
    ['models', allowlistText(group.allowlist)],
    monthField(month),
  ];
}

/** The state of a key or a group, with all outer levels. The table adds the sign. */
export function stateCell(id: string, levels: ReadonlyMap<string, BoundedLevel>, look: Look, nowMs: number): Marked {
  const owner = levels.get(id);
  if (owner === undefined) return marked('unknown', 'warn');
  const { text, tone } = standingWithin(owner, (outer) => levels.get(outer), nowMs, zoneOf(look));
  return marked(text.replace(`${SIGNS.bad} `, ''), tone);
}

/** The JSON of the level that stops the requests of a key or a group; null if they are admitted. */
export function blockedJson(owner: BoundedLevel, levels: ReadonlyMap<string, BoundedLevel>, nowMs: number) {
  const blocker = blockerOf(owner, (id) => levels.get(id), nowMs);
  return blocker === undefined ? null : blockerJson(blocker, owner.record.id);
}

export function printGroups(read: GroupsRead, nowMs: number): void {
  printTable(groupsTable(read, look(), nowMs));
  printNote('Requests, tokens and cost are for this month (UTC), with those of the groups inside.');
}

/** The table of groups. On a terminal, each group is indented below its parent. */
export function groupsTable({ groups, months, spends, keys, levels }: GroupsRead, look: Look, nowMs: number): Table {
  const isTree = look.room !== undefined;
  const rows = inTreeOrder(groups);
  const byId = new Map(groups.map((group) => [group.id, group]));
  return {
    columns: [
      { head: 'NAME', least: 12 },
      ...(isTree ? [] : [{ head: 'IN' }]),
      STATE_COLUMN,
      { head: 'KEYS', number: true, rank: 5 },
      ...LEVEL_COLUMNS,
      { head: 'MODELS', least: 12, rank: 6 },
    ],
    rows: rows.map(({ group, depth }) => {
      const month = months.get(group.id) ?? NO_FIGURES;
      const spent = spends.get(group.id) ?? [];
      const { allowlist } = group;
      return [
        isTree ? `${'  '.repeat(depth)}${group.name}` : group.name,
        ...(isTree ? [] : [byId.get(group.groupId ?? '')?.name ?? '-']),
        stateCell(group.id, levels, look, nowMs),
        count(keys.get(group.id) ?? 0),
        ...levelCells(group, spent, month, look),
        allowlist === null || allowlist.length === 1 ? allowlistText(allowlist) : `${allowlist.length} models`,
      ];
    }),
  };
}

/** Reads the name of a new group, with or without `@`. */
export const readGroupName: Reader<string> = (text) => readKeyName(nameIn(text));

/** Finds a group by `@name` or id. Throws a UserError without one. */
export async function findGroup(word: string, { groups }: Pick<State, 'groups'>): Promise<GroupRecord> {
  const group = await groups.find(nameIn(word));
  return group !== undefined && group.state !== 'deleted'
    ? group
    : changedGroup({ kind: 'no_such_group' }, word, { groups });
}

/** The word without its `@`. */
export function nameIn(word: string): string {
  return namesGroup(word) ? word.slice(GROUP_SIGN.length) : word;
}

/** The group after a change. Throws a UserError if the change was impossible. */
export async function changedGroup(
  change: GroupChange,
  word: string,
  { groups }: Pick<State, 'groups'>,
): Promise<GroupRecord> {
  if (change.kind === 'done') return change.group;
  const name = nameIn(word);
  const names = change.kind === 'no_such_group' ? (await groups.list()).map((each) => each.name) : [];
  throw new UserError(explainGroupChange(change, name, mostAlike(name, names)));
}
