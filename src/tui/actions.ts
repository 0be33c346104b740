/** What can be done in the dashboard, and what has been done. */
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

/** A key or a group: what is in groups, and has end users. */
export type OwnerRef = { readonly keyId: string } | { readonly level: GroupRef };

/** A change to the state file, or a command to the running gateway. */
export type Action =
  /** `outer`: the group that it is put into. */
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
  /** `outer`: the group that it is put into. */
  | {
      readonly kind: 'create_group';
      readonly name: string;
      readonly terms: GroupTerms;
      readonly outer: Pick<GroupRecord, 'id' | 'name'> | undefined;
    }
  | { readonly kind: 'set_level_state'; readonly level: LevelRef; readonly state: UserRecord['state'] }
  | { readonly kind: 'set_level_limits'; readonly level: LevelRef; readonly limits: Partial<LevelTerms> }
  /** What each end user may do, as far as it is named. */
  | ({ readonly kind: 'set_user_limits'; readonly limits: Partial<UserLimits> } & OwnerRef)
  | { readonly kind: 'set_group_allowlist'; readonly level: GroupRef; readonly models: readonly string[] | null }
  /** Into a group, or out of all. */
  | ({ readonly kind: 'move'; readonly outer: Pick<GroupRecord, 'id' | 'name'> | undefined } & OwnerRef)
  /** `isEmptied`: what is in it moves to the group that it is in. */
  | { readonly kind: 'delete_group'; readonly level: GroupRef; readonly isEmptied: boolean }
  /** Removes it if the amount is negative. */
  | { readonly kind: 'add_credit'; readonly nanos: Nanos; readonly note: string }
  | { readonly kind: 'stop_request'; readonly id: string }
  /** Stops a request that another gateway runs. */
  | { readonly kind: 'stop_elsewhere'; readonly id: string; readonly node: string };

/** Whatever can be done in the dashboard. */
export type AnyAction = Action | { readonly kind: 'reload' };

/** What an action is about. */
export type Subject = KeyRecord | LevelSubject;

export type LevelSubject =
  | { readonly kind: 'group'; readonly record: GroupRecord }
  /** What is set for them alone. `owner`: as commands name it. */
  | { readonly kind: 'user'; readonly record: UserRecord; readonly owner: string };

/** What each end user of a key or a group may do. */
export function userLimitsOf(subject: Subject): UserLimits {
  const owner = 'kind' in subject ? subject.record : subject;
  return ('userLimits' in owner ? owner.userLimits : null) ?? NO_USER_LIMITS;
}

/** What was done in this dashboard, or failed. */
export interface Done {
  /** Counts from 1. */
  readonly number: number;
  readonly atMs: number;
  readonly action: AnyAction;
  /** The key, group or end user as it was before; undefined if it is not about one. */
  readonly before: Subject | undefined;
  readonly text: string;
  readonly tone: Tone;
  readonly isUndone: boolean;
  /** Whether it undid something itself. */
  readonly isUndo: boolean;
}
