/** Text in the state file that could forge the output of a terminal: tables are cleaned, JSON and CSV are exact. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_USER_LIMITS } from '../../src/state/levels.ts';
import { bookOf } from '../../src/state/sqlite/book.ts';
import { immediately, openDatabase } from '../../src/state/sqlite/database.ts';
import { Journal } from '../../src/state/sqlite/journal.ts';
import { type KeyJson, runNode, Workplace } from '../support/cli.ts';

/** A new line, a forged row, escape sequences, a bidi override and a zero-width character. */
const HOSTILE = 'a\u001b[2J\nforged\u202edlrow\u200b\u0085\u2028b';
/** What a terminal may get: line breaks, and nothing else of these. */
const UNSAFE = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|^forged/mu;

test('names, notes and models of older rows are cleaned in tables, and exact in JSON and CSV', async (t) => {
  const place = new Workplace(t);
  const { id } = await place.createKey('app');
  await place.json('credit', 'add', '5');
  const { database } = openDatabase(place.statePath);
  database.prepare('UPDATE keys SET name = ?, allowlist = ?').run(HOSTILE, JSON.stringify([`mock/${HOSTILE}`]));
  database.prepare('UPDATE credit_entries SET note = ?').run(HOSTILE);
  const journal = new Journal(database);
  const hold = { requestId: 'req_1', keyId: id, model: HOSTILE, admittedAtMs: 1, inputTokens: 0, outputTokens: 0 };
  const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 1 };
  const end = { outcome: 'ok' as const, usage, source: 'reported' as const, costNanos: 1n, completionId: HOSTILE };
  immediately(database, () => {
    journal.settle({ ...hold, holdNanos: 0n }, { ...end, firstByteMs: undefined }, 2);
    journal.writeCharges();
  });
  const { groups } = bookOf(database);
  const user = { ...NO_USER_LIMITS, ownerId: id, name: HOSTILE, rpm: 1, state: 'disabled' } as const;
  groups.setUser(user);
  assert.equal(groups.create({ name: 'dev', groupId: null }, 1).kind, 'done');
  database.prepare('UPDATE groups SET name = ?').run(HOSTILE);
  database.close();
  const tables = [
    ['keys', 'list'],
    ['keys', 'show', id],
    ['limits', 'show', id],
    ['allowlist', 'show', id],
    ['allowlist', 'remove', id, 'mock/none'],
    ['keys', 'disable', id],
    ['users', 'list', '--key', id],
    ['users', 'show', HOSTILE, '--key', id],
    ['users', 'block', HOSTILE, '--key', id],
    ['groups', 'list'],
    ['groups', 'show', `@${HOSTILE}`],
    ['credit', 'history'],
    ['usage', '--by', 'key'],
    ['usage', '--by', 'model'],
    ['requests'],
    ['requests', 'show', 'req_1'],
    ['keys', 'list', '--json'],
    ['credit', 'history', '--json'],
  ];
  for (const words of tables) {
    const { status, stdout, stderr } = await place.run(words);
    assert.equal(status, 0, stderr);
    assert.ok(/forged/.test(stdout), words.join(' '));
    assert.doesNotMatch(`${stdout}${stderr}`, UNSAFE, words.join(' '));
  }
  const shown = await place.json<KeyJson>('keys', 'show', id);
  assert.deepEqual([shown.name, shown.allowlist], [HOSTILE, [`mock/${HOSTILE}`]]);
  const csv = await place.run(['usage', '--by', 'model', '--csv']);
  assert.ok(csv.stdout.includes(`"${HOSTILE}"`));
  assert.equal((await place.json<{ note: string }[]>('credit', 'history'))[0]?.note, HOSTILE);
});

test('a line of the log is cleaned where a person reads it, and exact as JSON', async (t) => {
  const place = new Workplace(t);
  const log = new URL('../../src/observe/log.ts', import.meta.url).href;
  const script = `import { openLog } from '${log}';
    const { log, close } = await openLog('info', process.argv[1]);
    log.info(${JSON.stringify(HOSTILE)});
    await close();`;
  place.environment.NO_COLOR = '1';
  const write = (format: string) => runNode(['--input-type=module', '-e', script, format], place);
  const [pretty, json] = await Promise.all([write('pretty'), write('json')]);
  assert.match(pretty.stderr, /forged/);
  assert.doesNotMatch(pretty.stderr, UNSAFE);
  assert.equal((JSON.parse(json.stderr) as { msg: string }).msg, HOSTILE);
});
