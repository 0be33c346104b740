/** Groups as the commands show them: as JSON, as fields, and as a tree. */
import type { Command } from 'commander';
import type { BudgetSpend } from '../core/budgets.ts';
import { isoTime } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import { count } from '../operator/format.ts';
import { type Reader, readKeyName } from '../operator/input.ts';
import { monthJson } from '../operator/key-json.ts';
import { type GroupFigures, groupFigures, NO_FIGURES } from '../operator/level-figures.ts';
import { allowlistText, explainGroupChange } from '../operator/messages.ts';
import { spendBounds, standingOf } from '../operator/spending.ts';
import { type Field, type Look, type Marked, marked, type Table } from '../operator/table.ts';
import { levelJson, userLimitsJson } from '../operator/terms.ts';
import { inTreeOrder, refusedHow, refuserOf } from '../operator/tree.ts';
import type { KeyRecord, Owner } from '../state/keys.ts';
import { type GroupChange, type GroupRecord, isKeyId } from '../state/levels.ts';
import type { MonthFigures } from '../state/usage.ts';
import { LEVEL_COLUMNS, levelCells, levelFields, monthField, mostAlike, userLimitFields } from './level-view.ts';
import { look, printFields, printJson, printNote, printTable } from './output.ts';
import { globalOptions, type State } from './state.ts';

/** What stands before the name of a group where a key could stand as well. */
export const GROUP_SIGN = '@';

/** As commands take it: the name of a key, `@name` of a group. */
export function wordOf({ id, name }: Pick<Owner, 'id' | 'name'>): string {
  return isKeyId(id) ? name : `${GROUP_SIGN}${name}`;
}

export function namesGroup(word: string): boolean {
  return word.startsWith(GROUP_SIGN);
}

function jsonOf(group: GroupRecord, { groups, months, spends, keys }: GroupFigures) {
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
  };
}

export async function groupJson(group: GroupRecord, state: State) {
  return jsonOf(group, await groupFigures(state));
}

export function groupsJson(figures: GroupFigures) {
  return figures.groups.map((group) => jsonOf(group, figures));
}

/** Prints a group, as JSON if the command asks for it. */
export async function printGroup(group: GroupRecord, command: Command, state: State): Promise<void> {
  const figures = await groupFigures(state);
  if (globalOptions(command).json) printJson(jsonOf(group, figures));
  else printFields(fieldsOf(group, figures, state.nowMs));
}

function fieldsOf(group: GroupRecord, figures: GroupFigures, nowMs: number): Field[] {
  const { groups, months, spends, keys } = figures;
  const month = months.get(group.id) ?? NO_FIGURES;
  const outer = groups.find(({ id }) => id === group.groupId);
  return [
    ['name', group.name],
    ['id', group.id],
    ...(outer === undefined ? [] : [['in', `${GROUP_SIGN}${outer.name}`] as const]),
    [
      'state',
      stateCell(group, month, spends.get(group.id) ?? [], (id) => groups.find((each) => each.id === id), nowMs),
    ],
    ['created', isoTime(group.createdAtMs)],
    ['keys', count(keys.get(group.id) ?? 0)],
    ...levelFields(group, spends.get(group.id) ?? []),
    ...userLimitFields(group.userLimits),
    ['models', allowlistText(group.allowlist)],
    monthField(month),
  ];
}

/** What a key or a group does at present, as the dashboard says it. The table puts the sign before it. */
export function stateCell(
  owner: KeyRecord | GroupRecord,
  month: MonthFigures,
  spends: readonly BudgetSpend[],
  levelOf: (id: string) => KeyRecord | GroupRecord | undefined,
  nowMs: number,
): Marked {
  const refuser = refuserOf(owner, levelOf, nowMs);
  const bounds = refuser === undefined ? spendBounds(owner.spendLimitNanos, month.costNanos, spends, nowMs) : [];
  const { text, tone } = standingOf({ expiresAtMs: null, ...(refuser ?? owner) }, bounds, nowMs);
  const from = refuser === undefined ? '' : ` ${refusedHow(refuser)} ${wordOf(refuser)}`;
  return marked(`${text.replace(/^✕ /, '')}${from}`, tone);
}

export function printGroups(figures: GroupFigures, nowMs: number): void {
  printTable(groupsTable(figures, look(), nowMs));
  printNote('Requests, tokens and cost are for this month (UTC), with those of the groups inside.');
}

/** On a terminal each group stands below the one that it is in, further to the right. */
export function groupsTable({ groups, months, spends, keys }: GroupFigures, look: Look, nowMs: number): Table {
  const isTree = look.room !== undefined;
  const rows = inTreeOrder(groups);
  const byId = new Map(groups.map((group) => [group.id, group]));
  return {
    columns: [
      { head: 'NAME', least: 12 },
      ...(isTree ? [] : [{ head: 'IN' }]),
      { head: 'STATE' },
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
        stateCell(group, month, spent, (id) => byId.get(id), nowMs),
        count(keys.get(group.id) ?? 0),
        ...levelCells(group, spent, month, look),
        allowlist === null || allowlist.length === 1 ? allowlistText(allowlist) : `${allowlist.length} models`,
      ];
    }),
  };
}

/** The name of a new group, with the sign or without. */
export const readGroupName: Reader<string> = (text) => readKeyName(nameIn(text));

/** The group that `@name` or an id names. Throws a UserError if there is none. */
export async function findGroup(word: string, { groups }: Pick<State, 'groups'>): Promise<GroupRecord> {
  const group = await groups.find(nameIn(word));
  return group !== undefined && group.state !== 'deleted'
    ? group
    : changedGroup({ kind: 'no_such_group' }, word, { groups });
}

/** Without the sign, if it has one. */
export function nameIn(word: string): string {
  return namesGroup(word) ? word.slice(GROUP_SIGN.length) : word;
}

/** The group as it is after a change. Throws a UserError if the change was not possible. */
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
