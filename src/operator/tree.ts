/** The tree of groups, and the levels around a key or a group. Pure. */
import type { KeyRecord, Owner } from '../state/keys.ts';
import type { GroupRecord } from '../state/levels.ts';

type Place = Pick<GroupRecord, 'id' | 'groupId'>;

export interface Placed<Group extends Place> {
  readonly group: Group;
  /** Its depth in the tree: the number of outer groups. */
  readonly depth: number;
}

/** Orders each group directly after its parent. Siblings keep their order. */
export function inTreeOrder<Group extends Place>(groups: readonly Group[]): readonly Placed<Group>[] {
  const ids = new Set(groups.map(({ id }) => id));
  const inside = Map.groupBy(groups, ({ groupId }) => (groupId !== null && ids.has(groupId) ? groupId : null));
  const below = (id: string | null, depth: number): Placed<Group>[] =>
    (inside.get(id) ?? []).flatMap((group) => [{ group, depth }, ...below(group.id, depth + 1)]);
  return below(null, 0);
}

/** A key or a group. A child key belongs to its parent key, and has no group. */
type Level = Pick<Owner, 'id' | 'groupId' | 'state'> & Partial<Pick<KeyRecord, 'parentId' | 'expiresAtMs'>>;

/** A key or a group and its outer levels, from inside out. `levelOf` returns a level by its id. */
export function levelsFrom<Around extends { readonly record: Level }>(
  owner: Around,
  levelOf: (id: string) => Around | undefined,
): readonly Around[] {
  const id = owner.record.parentId ?? owner.record.groupId;
  const level = id === null ? undefined : levelOf(id);
  return level === undefined ? [owner] : [owner, ...levelsFrom(level, levelOf)];
}

/** The preposition before the level that refuses: disabled by, expired with. */
export function refusedHow({ state }: Pick<Level, 'state'>): 'by' | 'with' {
  return state === 'disabled' ? 'by' : 'with';
}

/** The ids of a group and of all groups inside it. */
export function groupsInside(groups: readonly Place[], id: string): ReadonlySet<string> {
  const found = new Set([id]);
  // The loop also visits the ids that it adds.
  for (const outer of found) for (const group of groups) if (group.groupId === outer) found.add(group.id);
  return found;
}
