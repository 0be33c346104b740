/** The command line that is equivalent to an action of the dashboard. Pure; it never contains a secret. */
import { formatUsd } from '../core/money.ts';
import { commandLine } from '../core/program.ts';
import { changeOptions, createOptions } from '../operator/terms.ts';
import { checkKeyName, type KeyRecord, type LevelTerms, NO_TERMS, type UserLimits } from '../state/keys.ts';
import {
  type AnyAction,
  type LevelRef,
  type LevelSubject,
  type OwnerRef,
  type Subject,
  userLimitsOf,
} from './actions.ts';

/** The arguments of a command. */
export type Words = readonly string[];

/** The parts of a key that commands use. */
type Named = Pick<KeyRecord, 'id' | 'name'>;

/**
 * Returns the equivalent command, or rarely two. `subject` is the key, group or end user before the action; undefined
 * if the action has no subject or its subject is unknown.
 */
export function commandsOf(action: AnyAction, subject: Subject | undefined): readonly Words[] {
  const level = subject !== undefined && 'kind' in subject ? subject : undefined;
  const before = subject !== undefined && 'kind' in subject ? undefined : subject;
  switch (action.kind) {
    case 'create': {
      const within = action.outer === undefined ? [] : option('--in', `@${action.outer.name}`);
      return [['keys', 'create', ...within, ...createOptions(action.terms), ...argument(action.name)]];
    }
    case 'set_state':
      return [['keys', VERBS[action.state], nameOf(before, action.keyId)]];
    case 'rotate':
      return [['keys', 'rotate', nameOf(before, action.keyId)]];
    case 'set_limits':
      return [['limits', 'set', nameOf(before, action.keyId), ...changeOptions(action.limits, before)]];
    case 'set_allowlist':
      return allowlistCommands(nameOf(before, action.keyId), action.models, before?.allowlist ?? null);
    case 'create_group': {
      const within = action.outer === undefined ? [] : option('--in', `@${action.outer.name}`);
      const options = createOptions({ ...NO_TERMS, ...action.terms });
      return [['groups', 'create', ...within, ...options, ...argument(action.name)]];
    }
    case 'set_level_state':
      return [stateWords(action.level, action.state, level)];
    case 'set_level_limits':
      return [limitWords(action.level, action.limits, level)];
    case 'set_user_limits':
      return [
        ['limits', 'set', ownerWord(action, subject), ...userOptions(action.limits, subject && userLimitsOf(subject))],
      ];
    case 'set_group_allowlist': {
      const allowlist = level?.kind === 'group' ? level.record.allowlist : null;
      return allowlistCommands(groupWord(action.level.groupId, level), action.models, allowlist);
    }
    case 'move': {
      const into = action.outer === undefined ? 'none' : `@${action.outer.name}`;
      return [['keys', 'move', ownerWord(action, subject), '--to', into]];
    }
    case 'delete_group':
      return [['groups', 'delete', groupWord(action.level.groupId, level), ...(action.isEmptied ? ['--yes'] : [])]];
    case 'add_credit': {
      const { nanos, note } = action;
      const amount = formatUsd(nanos < 0n ? -nanos : nanos);
      return [['credit', nanos < 0n ? 'remove' : 'add', amount, ...(note === '' ? [] : option('--note', note))]];
    }
    case 'stop_request':
    case 'stop_elsewhere':
      return [['requests', 'stop', action.id]];
    case 'reload':
      return [['reload']];
  }
}

const VERBS = { enabled: 'enable', disabled: 'disable', deleted: 'delete' } as const;

function stateWords(ref: LevelRef, state: 'enabled' | 'disabled', level: LevelSubject | undefined): Words {
  if (ref.kind === 'group') return ['keys', VERBS[state], groupWord(ref.groupId, level)];
  return ['users', state === 'enabled' ? 'unblock' : 'block', ...userWords(ref, level)];
}

function limitWords(ref: LevelRef, limits: Partial<LevelTerms>, level: LevelSubject | undefined): Words {
  const options = changeOptions(limits, level && { ...NO_TERMS, ...level.record }, 'level');
  if (ref.kind === 'group') return ['limits', 'set', groupWord(ref.groupId, level), ...options];
  return ['users', 'set', ...options, ...userWords(ref, level)];
}

/** Options for the end-user limits that a change sets. */
function userOptions({ required, ...limits }: Partial<UserLimits>, before: UserLimits | undefined): Words {
  const duty = required === undefined ? [] : required ? ['--user-required'] : ['--user-required', 'off'];
  return [...changeOptions(limits, before && { ...NO_TERMS, ...before }, 'user'), ...duty];
}

function ownerWord(owner: OwnerRef, subject: Subject | undefined): string {
  const level = subject !== undefined && 'kind' in subject ? subject : undefined;
  if ('level' in owner) return groupWord(owner.level.groupId, level);
  return nameOf(subject !== undefined && 'kind' in subject ? undefined : subject, owner.keyId);
}

function groupWord(groupId: string, level: LevelSubject | undefined): string {
  return `@${level?.kind === 'group' ? level.record.name : groupId}`;
}

/** Arguments that name an end user; such a name may contain any characters. */
function userWords(
  { ownerId, name }: Extract<LevelRef, { kind: 'user' }>,
  level: LevelSubject | undefined,
): readonly string[] {
  return [...option('--key', level?.kind === 'user' ? level.owner : ownerId), ...argument(name)];
}

/** Returns the key's name if it can be typed as an argument, otherwise its id. */
function nameOf(key: Named | undefined, keyId: string): string {
  const name = key?.name ?? '';
  return checkKeyName(name) === undefined && !name.startsWith('-') ? name : keyId;
}

/** Returns `-- value` for a value that begins with a hyphen, since the command would parse it as an option. */
function argument(value: string): Words {
  return value.startsWith('-') ? ['--', value] : [value];
}

function option(name: string, value: string): Words {
  return value.startsWith('-') ? [`${name}=${value}`] : [name, value];
}

/** Commands for an allowlist. No command sets an empty one: it results from removing the last model. */
function allowlistCommands(
  key: string,
  models: readonly string[] | null,
  before: readonly string[] | null,
): readonly Words[] {
  if (models === null) return [['allowlist', 'clear', key]];
  if (models.length > 0) return [['allowlist', 'set', key, ...models]];
  if (before !== null && before.length > 0) return [['allowlist', 'remove', key, ...before]];
  return [
    ['allowlist', 'set', key, ANY_MODEL],
    ['allowlist', 'remove', key, ANY_MODEL],
  ];
}

/** A placeholder model that is added and removed again; it need not exist. */
const ANY_MODEL = 'no/model';

/** Formats the commands for a shell. `config` is the `--config` of the dashboard. */
export function shellLine(commands: readonly Words[], config: string | undefined): string {
  return commands.map((words) => commandLine(words, config)).join(' && ');
}
