/** The command line that does the same as what was done in the dashboard. Pure; no secret comes in here. */
import { formatUsd } from '../core/money.ts';
import { commandLine } from '../operator/shell-words.ts';
import { changeOptions, createOptions } from '../operator/terms.ts';
import { checkKeyName, type KeyRecord } from '../state/keys.ts';
import type { Deed } from './deeds.ts';

/** The arguments of the program. */
export type Words = readonly string[];

/** A key as far as commands need it. */
type Named = Pick<KeyRecord, 'id' | 'name'>;

/**
 * What to type for it: one command, or rarely two. `before` is the key as it was; undefined if the deed is
 * not about a key, or nobody knows it.
 */
export function commandsOf(deed: Deed, before: KeyRecord | undefined): readonly Words[] {
  switch (deed.kind) {
    case 'create':
      return [['keys', 'create', ...createOptions(deed.terms), ...argument(deed.name)]];
    case 'set_state':
      return [['keys', VERBS[deed.state], nameOf(before, deed.keyId)]];
    case 'rotate':
      return [['keys', 'rotate', nameOf(before, deed.keyId)]];
    case 'set_limits':
      return [['limits', 'set', nameOf(before, deed.keyId), ...changeOptions(deed.limits, before)]];
    case 'set_allowlist':
      return allowlistCommands(nameOf(before, deed.keyId), deed.models, before?.allowlist ?? null);
    case 'add_credit': {
      const { nanos, note } = deed;
      const amount = formatUsd(nanos < 0n ? -nanos : nanos);
      return [['credit', nanos < 0n ? 'remove' : 'add', amount, ...(note === '' ? [] : option('--note', note))]];
    }
    case 'stop_request':
    case 'stop_elsewhere':
      return [['requests', 'stop', deed.id]];
    case 'reload':
      return [['reload']];
  }
}

const VERBS = { enabled: 'enable', disabled: 'disable', deleted: 'delete' } as const;

/** The name, which people know, where it can be typed as an argument; otherwise the id. */
function nameOf(key: Named | undefined, keyId: string): string {
  const name = key?.name ?? '';
  return checkKeyName(name) === undefined && !name.startsWith('-') ? name : keyId;
}

/** A value that begins with a hyphen would be taken for an option. */
function argument(value: string): Words {
  return value.startsWith('-') ? ['--', value] : [value];
}

function option(name: string, value: string): Words {
  return value.startsWith('-') ? [`${name}=${value}`] : [name, value];
}

/** No command sets an empty allowlist: it is what is left once all models are removed. */
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

/** Set and removed again; it need not exist. */
const ANY_MODEL = 'no/model';

/** As it is typed in a shell. `config` is the `--config` that the dashboard was started with. */
export function shellLine(commands: readonly Words[], config: string | undefined): string {
  return commands.map((words) => commandLine(words, config)).join(' && ');
}
