/** The tree of groups: a group unfolds to its inner groups, keys and end users. Pure. */
import { NANOS_PER_USD } from '../../core/money.ts';
import { isSpent, shareSpent, tightest } from '../../operator/spending.ts';
import { userId } from '../../state/levels.ts';
import type { Model, StoredGroup, StoredKey, StoredUser, UserPage } from '../model.ts';
import { stateOf as stateOfOwner } from './keys.ts';
import { type Listed, shownOf, sorted } from './list.ts';

interface Place {
  readonly id: string;
  /** Number of ancestor rows. */
  readonly depth: number;
  /** Undefined for a row without children. */
  readonly isUnfolded?: boolean | undefined;
}

export type GroupRow = Place &
  (
    | { readonly kind: 'group'; readonly level: StoredGroup }
    | { readonly kind: 'key'; readonly level: StoredKey }
    | { readonly kind: 'user'; readonly level: StoredUser }
    /** The keys that belong to no group. */
    | { readonly kind: 'rest'; readonly keys: number }
    /** A note about the end users of a key or a group, or a link to another page of them. */
    | { readonly kind: 'page'; readonly ownerId: string; readonly text: string; readonly to?: 'earlier' | 'later' }
  );

/** The row of the keys without a group. */
const REST = 'rest';

export const GROUPS: Listed<GroupRow> = {
  rows: treeOf,
  isOrdered: true,
  idOf: ({ id }) => id,
  fields: {
    name: { read: nameOfRow, isText: true, isFixed: true },
    kind: { read: ({ kind }) => (kind === 'page' || kind === REST ? undefined : kind), isText: true },
    state: { read: stateOf, isText: true },
    limit: { read: shareOfLimit },
    keys: { read: keysOf },
    requests: { read: (row) => levelOf(row)?.month.requests },
    tokens: { read: (row) => levelOf(row)?.month.tokens },
    cost: { read: costOf },
    id: { read: ({ id }) => id, isHidden: true, isText: true, isFixed: true },
  },
};

export function nameOfRow(row: GroupRow): string {
  switch (row.kind) {
    case 'group':
      return `@${row.level.record.name}`;
    case 'key':
      return row.level.record.name;
    case 'user':
      return row.level.name;
    case 'rest':
      return 'in no group';
    case 'page':
      return row.text;
  }
}

/** Returns the row's group, key or end user, which has limits and figures. */
export function levelOf(row: GroupRow): StoredGroup | StoredKey | StoredUser | undefined {
  return row.kind === 'page' || row.kind === 'rest' ? undefined : row.level;
}

/** Returns the row's group or key. */
export function ownerLevelOf(row: GroupRow): StoredGroup | StoredKey | undefined {
  return row.kind === 'group' || row.kind === 'key' ? row.level : undefined;
}

export function isBlocked(row: GroupRow): boolean {
  return row.kind === 'user' && row.level.own?.state === 'disabled';
}

function stateOf(row: GroupRow, model: Model): string | undefined {
  const owner = ownerLevelOf(row);
  if (owner !== undefined) return stateOfOwner(owner, model);
  if (isBlocked(row)) return 'blocked';
  return levelOf(row)?.bounds.some((bound) => isSpent(bound, model.nowMs)) ? 'spent' : levelOf(row) && 'enabled';
}

/** Returns the spent percentage of the tightest bound; undefined without one. */
function shareOfLimit(row: GroupRow, { nowMs }: Model): number | undefined {
  const bound = tightest(levelOf(row)?.bounds ?? [], nowMs);
  return bound && Math.floor(shareSpent(bound) * 100);
}

export function keysOf(row: GroupRow): number | undefined {
  if (row.kind === 'rest') return row.keys;
  return row.kind === 'group' ? row.level.keys : undefined;
}

function costOf(row: GroupRow): number | undefined {
  const level = levelOf(row);
  return level && Number(level.month.costNanos) / Number(NANOS_PER_USD);
}

let last: { readonly of: readonly unknown[]; readonly rows: readonly GroupRow[] } | undefined;

/** Returns the unfolded rows, or all loaded rows while a filter is set. Siblings are sorted. */
function treeOf(model: Model): readonly GroupRow[] {
  const { stored, groups, lists } = model;
  const { filter, sort } = lists.groups;
  const isAll = filter.text !== '';
  const of = [stored.groups, stored.keys, groups.unfolded, groups.users, sort, isAll];
  if (last === undefined || of.some((part, index) => part !== last?.of[index])) {
    last = { of, rows: new Tree(model, isAll).rows() };
  }
  return last.rows;
}

/** Builds the rows once. */
class Tree {
  readonly #model: Model;
  readonly #isAll: boolean;
  readonly #groupsIn: ReadonlyMap<string, readonly StoredGroup[]>;
  readonly #keysIn: ReadonlyMap<string, readonly StoredKey[]>;

  constructor(model: Model, isAll: boolean) {
    this.#model = model;
    this.#isAll = isAll;
    const { groups, keys } = model.stored;
    const known = new Set([...groups, ...keys].map(({ record }) => record.id));
    const within = (id: string | null) => (id !== null && known.has(id) ? id : REST);
    this.#groupsIn = Map.groupBy(groups, ({ record }) => within(record.groupId));
    // A child key belongs to its parent's group.
    this.#keysIn = Map.groupBy(keys, ({ record }) => within(record.parentId ?? record.groupId));
  }

  rows(): readonly GroupRow[] {
    const keys = this.#keysIn.get(REST)?.length ?? 0;
    const rest: GroupRow = { kind: REST, id: REST, depth: 0, keys, isUnfolded: this.#isUnfolded(REST) };
    return [...this.#groups(REST, 0), ...(keys === 0 ? [] : [rest, ...(rest.isUnfolded ? this.#keys(REST, 1) : [])])];
  }

  #isUnfolded(id: string): boolean {
    return this.#isAll || this.#model.groups.unfolded.has(id);
  }

  #groups(outer: string, depth: number): readonly GroupRow[] {
    const levels = this.#groupsIn.get(outer) ?? [];
    return this.#withInside(
      levels.map((level) => ({ kind: 'group', id: level.record.id, depth, level, isUnfolded: this.#unfolding(level) })),
    );
  }

  #keys(outer: string, depth: number): readonly GroupRow[] {
    const levels = this.#keysIn.get(outer) ?? [];
    return this.#withInside(
      levels.map((level) => ({ kind: 'key', id: level.record.id, depth, level, isUnfolded: this.#unfolding(level) })),
    );
  }

  /** Whether a row is unfolded; undefined for a row without children. */
  #unfolding({ record: { id, userLimits } }: StoredGroup | StoredKey): boolean | undefined {
    const hasInside = this.#groupsIn.has(id) || this.#keysIn.has(id) || userLimits !== null;
    return hasInside ? this.#isUnfolded(id) : undefined;
  }

  /** Sorts the rows and inserts each row's children after it. */
  #withInside(rows: readonly GroupRow[]): readonly GroupRow[] {
    return this.#inOrder(rows).flatMap((row) => {
      if (!row.isUnfolded) return [row];
      const [id, depth] = [row.id, row.depth + 1];
      return [row, ...this.#groups(id, depth), ...this.#keys(id, depth), ...this.#users(id, depth)];
    });
  }

  /** Returns the end users of the current page. */
  #users(ownerId: string, depth: number): readonly GroupRow[] {
    const page = this.#model.groups.users.get(ownerId);
    if (page === undefined) return [];
    const { earlier, later, all } = textsOf(page);
    const line = (text: string, to?: 'earlier' | 'later'): GroupRow => {
      return { kind: 'page', id: `${to ?? 'all'} ${ownerId}`, depth, ownerId, text, ...(to !== undefined && { to }) };
    };
    const users = (page.users ?? []).map((level): GroupRow => {
      return { kind: 'user', id: userId(ownerId, level.name), depth, level };
    });
    return [
      ...(earlier === undefined ? [] : [line(earlier, 'earlier')]),
      ...this.#inOrder(users),
      ...(all === undefined ? [] : [line(all)]),
      ...(later === undefined ? [] : [line(later, 'later')]),
    ];
  }

  #inOrder(rows: readonly GroupRow[]): readonly GroupRow[] {
    return sorted(GROUPS, rows, this.#model.lists.groups.sort, this.#model);
  }
}

/** The texts before and after a page of end users. */
function textsOf({ starts, users, hasMore }: UserPage) {
  const isFirst = starts.length === 1;
  return {
    earlier: isFirst ? undefined : '… earlier',
    all: users === undefined ? 'reading …' : users.length === 0 && isFirst ? 'no users' : undefined,
    later: hasMore ? '… more' : undefined,
  };
}

/** Maximum rows around the cursor that count as visible. */
const FOLLOWED_ROWS = 120;

/** Returns the keys and groups whose end users are visible, or start within the visible rows. */
export function followedOwners(model: Model): readonly string[] {
  const from = Math.max(0, model.lists.groups.cursor - FOLLOWED_ROWS / 2);
  const rows = shownRows(model).slice(from, from + FOLLOWED_ROWS);
  const owners = rows.flatMap((row) => {
    if (row.kind === 'user') return [row.level.owner.id];
    return row.kind === 'page' ? [row.ownerId] : [row.id];
  });
  return [...new Set(owners)].filter((id) => model.groups.users.has(id));
}

export function shownRows(model: Model): readonly GroupRow[] {
  return shownOf('groups', GROUPS, model);
}

export function currentRow(model: Model): GroupRow | undefined {
  return shownRows(model)[model.lists.groups.cursor];
}
