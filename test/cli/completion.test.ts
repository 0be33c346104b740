/** Completion: what bash gets for a line, the candidates of the program, and that looking up names changes nothing. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import Database from 'better-sqlite3';
import { buildProgram } from '../../src/cli/main.ts';
import { CONCURRENCY, CONFIG, linesOf, PATHS, PROGRAM, Workplace } from '../support/cli.ts';

const COLON =
  '  ollama: { kind: openai, base_url: "http://127.0.0.1:9", models: { "qwen3:8b": { input: 0, output: 0 } } }\n';

/** A line up to the cursor, its words as bash splits them, and what bash then offers. */
const ROWS: readonly (readonly [line: string, words: readonly string[], offered: readonly string[]])[] = [
  ['inf-gw k', ['inf-gw', 'k'], ['keys']],
  ['inf-gw -c other.yaml keys ro', ['inf-gw', '-c', 'other.yaml', 'keys', 'ro'], ['rotate']],
  ['inf-gw requests --err', ['inf-gw', 'requests', '--err'], ['--errors']],
  [
    'inf-gw usage --by ',
    ['inf-gw', 'usage', '--by', ''],
    ['key', 'model', 'group', 'hour', 'day', 'month', 'source', 'user', 'tag', 'app'],
  ],
  ['inf-gw usage --by=mo', ['inf-gw', 'usage', '--by', '=', 'mo'], ['model', 'month']],
  ['inf-gw limits set my-app --rpm ', ['inf-gw', 'limits', 'set', 'my-app', '--rpm', ''], ['default', 'none']],
  ['inf-gw keys create ', ['inf-gw', 'keys', 'create', ''], []],
  ['inf-gw keys show ', ['inf-gw', 'keys', 'show', ''], ['@research', 'second', 'my\\ app']],
  ['inf-gw groups show ', ['inf-gw', 'groups', 'show', ''], ['@research']],
  ['inf-gw keys create x --in @re', ['inf-gw', 'keys', 'create', 'x', '--in', '@', 're'], ['research']],
  ['inf-gw keys show "my', ['inf-gw', 'keys', 'show', '"my'], ['my app']],
  ['inf-gw keys show second ', ['inf-gw', 'keys', 'show', 'second', ''], []],
  ['inf-gw usage --key=s', ['inf-gw', 'usage', '--key', '=', 's'], ['second']],
  [
    'inf-gw allowlist set second mock/echo ollama/qwen3:',
    ['inf-gw', 'allowlist', 'set', 'second', 'mock/echo', 'ollama/qwen3', ':'],
    ['8b'],
  ],
];

/** Calls the function of the script as bash does, and prints what it offers: a line for each row. */
const HARNESS = `
source ./completion
COMP_WORDBREAKS=$' \\t\\n"\\'@><=;|&(:'
row() {
  COMP_LINE=$1 COMP_POINT=\${#1}
  shift
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _inf_gw ./program
  local IFS=,
  echo "\${COMPREPLY[*]}"
}
`;

test('in bash commands, options, choices, keys, groups and models complete, with blanks, quotes and colons in them', async (t) => {
  const place = new Workplace(t, CONFIG + COLON);
  await place.createKey('my app');
  await place.createKey('second');
  await place.createKey('gone');
  await place.run(['keys', 'delete', 'gone', '--yes']);
  await place.run(['groups', 'create', 'research']);
  const { status, stdout, stderr } = await place.run(['completion', 'bash']);
  assert.deepEqual([status, stderr], [0, '']);
  place.write('completion', stdout);
  place.write('program', `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
  chmodSync(join(place.directory, 'program'), 0o755);
  const quoted = (word: string) => `'${word}'`;
  const script = HARNESS + ROWS.map(([line, words]) => `row ${[line, ...words].map(quoted).join(' ')}`).join('\n');
  const output = execFileSync('bash', ['--norc', '-c', script], { cwd: place.directory, env: PATHS, encoding: 'utf8' });
  assert.deepEqual(
    output
      .split('\n')
      .slice(0, -1)
      .map((line, i) => [ROWS[i]?.[0], line]),
    ROWS.map(([line, , offered]) => [line, offered.join(',')]),
  );
});

test('the script of each shell calls the program, and no other shell has one', async (t) => {
  const place = new Workplace(t, null);
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout } = await place.run(['completion', shell]);
    assert.match(stdout, /__complete/);
    assert.deepEqual(await place.json('completion', shell), { shell, script: stdout });
  }
  const { status, stderr } = await place.run(['completion', 'tcsh']);
  assert.equal(status, 2);
  assert.match(stderr, /Allowed choices are bash, zsh, fish/);
  assert.deepEqual(readdirSync(place.directory), []);
});

/** The words up to the cursor, and the candidates without descriptions. */
const CANDIDATES: readonly (readonly [words: readonly string[], candidates: readonly string[]])[] = [
  [
    ['keys', 'show', '--r'],
    ['--refusals', '--config', '--json', '--help'],
  ],
  [
    ['--config', 'other.yaml', 'groups', ''],
    ['create', 'list', 'show', 'delete'],
  ],
  [
    ['usage', '--by=m'],
    ['key', 'model', 'group', 'hour', 'day', 'month', 'source', 'user', 'tag', 'app'].map((word) => `--by=${word}`),
  ],
  [['--config', ''], [':file']],
  [['--config=x'], [':file']],
  [['keys', 'show', '--', '-'], []],
  [['keys', 'create', ''], []],
  [['keys', 'show', 'a', ''], []],
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish'],
  ],
];

test('the program knows what can follow, wherever the cursor is', async (t) => {
  const place = new Workplace(t, null);
  for (const [words, candidates] of CANDIDATES) {
    const { stdout } = await place.run(['__complete', ...words]);
    assert.deepEqual(
      linesOf(stdout).map((line) => line.split('\t')[0]),
      candidates,
      words.join(' '),
    );
  }
  const { stdout } = await place.run(['__complete', '']);
  const commands = (await buildProgram()).commands.map((command) => `${command.name()}\t${command.description()}`);
  assert.deepEqual(linesOf(stdout), commands);
});

describe('looking up names', { concurrency: CONCURRENCY }, () => {
  const silent = { status: 0, stdout: '', stderr: '' };

  test('prints nothing, and makes nothing, where there is no state, no config, or a faulty one', async (t) => {
    const place = new Workplace(t, null);
    assert.deepEqual(await place.run(['__complete', 'keys', 'show', '']), silent);
    assert.deepEqual(await place.run(['__complete', '-c', './missing.yaml', 'keys', 'show', '']), silent);
    assert.deepEqual(await place.run(['__complete', 'keys', 'show', 'a', '']), silent);
    place.write('config.yaml', 'listen: 1\nproviders: [\n');
    assert.deepEqual(await place.run(['__complete', 'allowlist', 'set', 'a', '']), silent);
    place.write('config.yaml', CONFIG.replace('./state.db', 'postgres://nobody@127.0.0.1:1/none'));
    assert.deepEqual(await place.run(['__complete', 'keys', 'show', '']), silent);
    assert.deepEqual(readdirSync(place.directory), ['config.yaml']);
  });

  test('leaves the state file as it is, byte by byte, also one of an older version', async (t) => {
    const place = new Workplace(t);
    await place.createKey('app');
    const database = new Database(place.statePath);
    database.pragma('user_version = 0');
    database.close();
    const before = readFileSync(place.statePath);
    const files = readdirSync(place.directory);
    const { stdout, stderr } = await place.run(['__complete', 'keys', 'show', '']);
    assert.deepEqual([linesOf(stdout), stderr], [['app\t'], '']);
    assert.ok(before.equals(readFileSync(place.statePath)));
    assert.deepEqual(readdirSync(place.directory), files);
  });
});
