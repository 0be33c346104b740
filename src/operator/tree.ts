/** Groups as the tree that they are. Pure. */
import type { GroupRecord } from '../state/levels.ts';

type Place = Pick<GroupRecord, 'id' | 'groupId'>;

export interface Placed<Group extends Place> {
  readonly group: Group;
  /** How many of these groups it is in. */
  readonly depth: number;
}

/** Each group right after the one that it is in; beside each other they stay in their order. */
export function inTreeOrder<Group extends Place>(groups: readonly Group[]): readonly Placed<Group>[] {
  const ids = new Set(groups.map(({ id }) => id));
  const inside = Map.groupBy(groups, ({ groupId }) => (groupId !== null && ids.has(groupId) ? groupId : null));
  const below = (id: string | null, depth: number): Placed<Group>[] =>
    (inside.get(id) ?? []).flatMap((group) => [{ group, depth }, ...below(group.id, depth + 1)]);
  return below(null, 0);
}

/** The innermost disabled group of this one and those around it: all keys in it are refused. */
export function disabledAround<Group extends Place & Pick<GroupRecord, 'state'>>(
  groupId: string | null,
  groupOf: (id: string) => Group | undefined,
): Group | undefined {
  const group = groupId === null ? undefined : groupOf(groupId);
  return group === undefined || group.state === 'disabled' ? group : disabledAround(group.groupId, groupOf);
}

/** The ids of a group and of all groups in it. */
export function groupsInside(groups: readonly Place[], id: string): ReadonlySet<string> {
  const found = new Set([id]);
  // A set goes on to what is added meanwhile.
  for (const outer of found) for (const group of groups) if (group.groupId === outer) found.add(group.id);
  return found;
}
