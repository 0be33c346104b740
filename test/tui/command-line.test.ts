/** The command lines that the dashboard shows: a shell and the real parser read what was done in them. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, test } from 'node:test';
import type { Command } from 'commander';
import { buildProgram } from '../../src/cli/main.ts';
import { type KeyRecord, NO_TERMS } from '../../src/state/keys.ts';
import type { AnyAction } from '../../src/tui/actions.ts';
import { commandsOf, shellLine } from '../../src/tui/command-line.ts';
import { keyId, storedKey } from './samples.ts';

const ID = keyId(2);
const { allowlist: _, ...NO_LIMITS } = NO_TERMS;
const key = (name: string, more: Partial<KeyRecord> = {}) => storedKey(2, name, more).record;
const web = key('web-app', { rpm: 60, allowlist: ['mock/echo'] });

/** The command that the words name, with its arguments and options; the global ones under `global`. */
async function parsed(words: readonly string[]) {
  const program = await buildProgram();
  const found: { path: string; args: unknown[]; options: unknown; global: unknown }[] = [];
  const watch = (command: Command, path: string) => {
    for (const each of command.commands) watch(each, `${path} ${each.name()}`.trim());
    const isGroup = command.commands.length > 0;
    if (isGroup) return;
    const { length } = command.registeredArguments;
    command.action((...all: unknown[]) => {
      found.push({ path, args: all.slice(0, length), options: command.opts(), global: program.opts() });
    });
  };
  watch(program, '');
  await program.parseAsync([...words], { from: 'user' });
  assert.equal(found.length, 1);
  return found[0];
}

const NANOS = 1_000_000_000n;
const DAY_AND_HOUR = [
  { period: '1h', limitNanos: NANOS / 2n },
  { period: 'day', limitNanos: NANOS },
];
const cases: readonly (readonly [
  what: string,
  action: AnyAction,
  before: KeyRecord | undefined,
  line: string,
  path: string,
  args: readonly unknown[],
  options: Readonly<Record<string, unknown>>,
])[] = [
  [
    'a key with only a name',
    { kind: 'create', name: 'app', terms: NO_TERMS },
    undefined,
    'inf-gw keys create app',
    'keys create',
    ['app'],
    {},
  ],
  [
    'a key with everything',
    {
      kind: 'create',
      name: "Ann's app $1",
      terms: {
        ...{ rpm: 5, tpm: 600, concurrency: 7, spendLimitNanos: 8_500_000_000n },
        budgets: DAY_AND_HOUR,
        expiresAtMs: Date.UTC(2099, 0, 31, 12, 0, 0, 250),
        allowlist: ['a/b', 'c/d'],
      },
    },
    undefined,
    `inf-gw keys create --rpm 5 --tpm 600 --concurrency 7 --spend-limit 8.50 --budget 1h=0.50 --budget day=1.00 --expires 2099-01-31T12:00:00.250Z --allow a/b --allow c/d 'Ann'\\''s app $1'`,
    'keys create',
    ["Ann's app $1"],
    {
      ...{ rpm: 5, tpm: 600, concurrency: 7, spendLimit: 8_500_000_000n, allow: ['a/b', 'c/d'] },
      budget: DAY_AND_HOUR.map((budget) => ({ kind: 'set', budget })),
      expires: Date.UTC(2099, 0, 31, 12, 0, 0, 250),
    },
  ],
  [
    'a name that looks like an option',
    { kind: 'create', name: '--rpm', terms: NO_TERMS },
    undefined,
    'inf-gw keys create -- --rpm',
    'keys create',
    ['--rpm'],
    {},
  ],
  [
    'to enable',
    { kind: 'set_state', keyId: ID, state: 'enabled' },
    web,
    'inf-gw keys enable web-app',
    'keys enable',
    ['web-app'],
    {},
  ],
  [
    'to disable',
    { kind: 'set_state', keyId: ID, state: 'disabled' },
    key('my app'),
    `inf-gw keys disable 'my app'`,
    'keys disable',
    ['my app'],
    {},
  ],
  [
    'to delete',
    { kind: 'set_state', keyId: ID, state: 'deleted' },
    key('-x'),
    `inf-gw keys delete ${ID}`,
    'keys delete',
    [ID],
    {},
  ],
  [
    'to rotate a key that nobody knows',
    { kind: 'rotate', keyId: ID },
    undefined,
    `inf-gw keys rotate ${ID}`,
    'keys rotate',
    [ID],
    {},
  ],
  [
    'one limit',
    { kind: 'set_limits', keyId: ID, limits: { spendLimitNanos: NANOS / 2n } },
    web,
    'inf-gw limits set web-app --spend-limit 0.50',
    'limits set',
    ['web-app'],
    { spendLimit: NANOS / 2n },
  ],
  [
    'limits that the key has already',
    { kind: 'set_limits', keyId: ID, limits: { rpm: null, budgets: DAY_AND_HOUR, expiresAtMs: null } },
    key('app', { budgets: DAY_AND_HOUR }),
    'inf-gw limits set app --rpm default --budget none --budget 1h=0.50 --budget day=1.00 --expires never',
    'limits set',
    ['app'],
    {
      ...{ rpm: 'default', expires: 'never' },
      budget: [{ kind: 'clear' }, ...DAY_AND_HOUR.map((budget) => ({ kind: 'set', budget }))],
    },
  ],
  [
    'budgets, of which one comes',
    { kind: 'set_limits', keyId: ID, limits: { budgets: DAY_AND_HOUR } },
    key('app', { budgets: DAY_AND_HOUR.slice(1) }),
    'inf-gw limits set app --budget 1h=0.50',
    'limits set',
    ['app'],
    { budget: [{ kind: 'set', budget: DAY_AND_HOUR[0] }] },
  ],
  [
    'budgets, of which one goes',
    { kind: 'set_limits', keyId: ID, limits: { budgets: DAY_AND_HOUR.slice(1) } },
    key('app', { budgets: DAY_AND_HOUR }),
    'inf-gw limits set app --budget none --budget day=1.00',
    'limits set',
    ['app'],
    { budget: [{ kind: 'clear' }, { kind: 'set', budget: DAY_AND_HOUR[1] }] },
  ],
  [
    'budgets and expiry of a key that nobody knows',
    { kind: 'set_limits', keyId: ID, limits: { ...NO_LIMITS, budgets: DAY_AND_HOUR } },
    undefined,
    `inf-gw limits set ${ID} --rpm default --tpm default --concurrency default --spend-limit none --budget none --budget 1h=0.50 --budget day=1.00 --expires never`,
    'limits set',
    [ID],
    {
      ...{ rpm: 'default', tpm: 'default', concurrency: 'default', spendLimit: 'none', expires: 'never' },
      budget: [{ kind: 'clear' }, ...DAY_AND_HOUR.map((budget) => ({ kind: 'set', budget }))],
    },
  ],
  [
    'every model',
    { kind: 'set_allowlist', keyId: ID, models: null },
    web,
    'inf-gw allowlist clear web-app',
    'allowlist clear',
    ['web-app'],
    {},
  ],
  [
    'some models',
    { kind: 'set_allowlist', keyId: ID, models: ['a/b', 'c/d:free'] },
    web,
    'inf-gw allowlist set web-app a/b c/d:free',
    'allowlist set',
    ['web-app', ['a/b', 'c/d:free']],
    {},
  ],
  [
    'no model',
    { kind: 'set_allowlist', keyId: ID, models: [] },
    web,
    'inf-gw allowlist remove web-app mock/echo',
    'allowlist remove',
    ['web-app', ['mock/echo']],
    {},
  ],
  [
    'credit',
    { kind: 'add_credit', nanos: 25n * NANOS, note: '' },
    undefined,
    'inf-gw credit add 25.00',
    'credit add',
    [25n * NANOS],
    {},
  ],
  [
    'credit with a note',
    { kind: 'add_credit', nanos: 1n, note: 'for March; `ls`' },
    undefined,
    "inf-gw credit add 0.000000001 --note 'for March; `ls`'",
    'credit add',
    [1n],
    { note: 'for March; `ls`' },
  ],
  [
    'credit removed, with a note that looks like an option',
    { kind: 'add_credit', nanos: -NANOS, note: '--yes' },
    undefined,
    'inf-gw credit remove 1.00 --note=--yes',
    'credit remove',
    [NANOS],
    { note: '--yes' },
  ],
  [
    'a stopped request',
    { kind: 'stop_request', id: 'req_1' },
    undefined,
    'inf-gw requests stop req_1',
    'requests stop',
    ['req_1'],
    {},
  ],
  [
    'one elsewhere',
    { kind: 'stop_elsewhere', id: 'req_1', node: 'eu' },
    undefined,
    'inf-gw requests stop req_1',
    'requests stop',
    ['req_1'],
    {},
  ],
  ['a reload', { kind: 'reload' }, undefined, 'inf-gw reload', 'reload', [], {}],
];

describe('the command line of', () => {
  for (const [what, action, before, line, path, args, options] of cases) {
    test(what, async () => {
      const commands = commandsOf(action, before);
      assert.equal(shellLine(commands, undefined), line);
      assert.deepEqual(await parsed(commands[0] ?? []), { path, args, options, global: {} });
    });
  }

  test('an allowlist that lets a key call nothing, which takes two commands', async () => {
    const commands = commandsOf({ kind: 'set_allowlist', keyId: ID, models: [] }, key('app'));
    assert.deepEqual(
      (await Promise.all(commands.map(parsed))).map((each) => [each?.path, each?.args]),
      [
        ['allowlist set', ['app', ['no/model']]],
        ['allowlist remove', ['app', ['no/model']]],
      ],
    );
    assert.match(shellLine(commands, undefined), / && inf-gw allowlist remove app /);
  });
});

test('a shell reads each line as the words that are meant', async () => {
  const config = `it's a "config" $HOME.yaml`;
  const lines = cases.map(([, action, before]) => shellLine(commandsOf(action, before), config));
  const script = `inf-gw() { printf '%s\\0' "$@"; printf '\\n\\0'; }\n${lines.join('\n')}`.replaceAll(
    'inf-gw',
    'infgw',
  );
  const read = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\n\0').slice(0, -1);
  const expected = cases.map(([, action, before]) => ['-c', config, ...(commandsOf(action, before)[0] ?? [])]);
  assert.deepEqual(
    read.map((words) => words.split('\0').slice(0, -1)),
    expected,
  );
  assert.deepEqual((await parsed(expected[0] ?? []))?.global, { config });
});
