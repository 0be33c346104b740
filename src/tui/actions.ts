/** The actions of the dashboard, and the record of completed ones. */
import type { Nanos } from '../core/money.ts';
import type { GroupTerms, SomeLimits } from '../operator/terms.ts';
import type { KeyRecord, KeyState, KeyTerms, LevelTerms, UserLimits } from '../state/keys.ts';
import { type GroupRecord, NO_USER_LIMITS, type UserRecord } from '../state/levels.ts';
import type { Tone } from './draw/line.ts';

export interface GroupRef {
  readonly kind: 'group';
  readonly groupId: string;
}

/** A group, or an end user of a key or a group. */
export type LevelRef = GroupRef | { readonly kind: 'user'; readonly ownerId: string; readonly name: string };

/** A key or a group: both can belong to a group and have end users. */
export type OwnerRef = { readonly keyId: string } | { readonly level: GroupRef };

/** A change to the state file, or a command to the running gateway. */
export type Action =
  /** `outer`: the new key's group. */
  | {
      readonly kind: 'create';
      readonly name: string;
      readonly terms: KeyTerms;
      readonly outer?: Pick<GroupRecord, 'id' | 'name'>;
    }
  | { readonly kind: 'set_state'; readonly keyId: string; readonly state: KeyState }
  | { readonly kind: 'rotate'; readonly keyId: string }
  | { readonly kind: 'set_limits'; readonly keyId: string; readonly limits: SomeLimits }
  | { readonly kind: 'set_allowlist'; readonly keyId: string; readonly models: readonly string[] | null }
  /** `outer`: the new group's outer group. */
  | {
      readonly kind: 'create_group';
      readonly name: string;
      readonly terms: GroupTerms;
      readonly outer: Pick<GroupRecord, 'id' | 'name'> | undefined;
    }
  | { readonly kind: 'set_level_state'; readonly level: LevelRef; readonly state: UserRecord['state'] }
  | { readonly kind: 'set_level_limits'; readonly level: LevelRef; readonly limits: Partial<LevelTerms> }
  /** Limits of each end user; omitted ones stay unchanged. */
  | ({ readonly kind: 'set_user_limits'; readonly limits: Partial<UserLimits> } & OwnerRef)
  | { readonly kind: 'set_group_allowlist'; readonly level: GroupRef; readonly models: readonly string[] | null }
  /** Moves a key or group into another group, or out of all groups. */
  | ({ readonly kind: 'move'; readonly outer: Pick<GroupRecord, 'id' | 'name'> | undefined } & OwnerRef)
  /** `isEmptied`: the group's members move to its outer group. */
  | { readonly kind: 'delete_group'; readonly level: GroupRef; readonly isEmptied: boolean }
  /** Adds credit; a negative amount removes it. */
  | { readonly kind: 'add_credit'; readonly nanos: Nanos; readonly note: string }
  | { readonly kind: 'stop_request'; readonly id: string }
  /** Stops a request that another gateway runs. */
  | { readonly kind: 'stop_elsewhere'; readonly id: string; readonly node: string };

/** Every action of the dashboard. */
export type AnyAction = Action | { readonly kind: 'reload' };

/** The key, group or end user that an action affects. */
export type Subject = KeyRecord | LevelSubject;

export type LevelSubject =
  | { readonly kind: 'group'; readonly record: GroupRecord }
  /** The end user's own limits. `owner`: the owner's name in commands. */
  | { readonly kind: 'user'; readonly record: UserRecord; readonly owner: string };

/** Returns the limits of each end user of a key or a group. */
export function userLimitsOf(subject: Subject): UserLimits {
  const owner = 'kind' in subject ? subject.record : subject;
  return ('userLimits' in owner ? owner.userLimits : null) ?? NO_USER_LIMITS;
}

/** A completed or failed action of this dashboard. */
export interface Done {
  /** Counts from 1. */
  readonly number: number;
  readonly atMs: number;
  readonly action: AnyAction;
  /** The key, group or end user before the action; undefined for other actions. */
  readonly before: Subject | undefined;
  readonly text: string;
  readonly tone: Tone;
  readonly isUndone: boolean;
  /** Whether the action undid an earlier one. */
  readonly isUndo: boolean;
}
