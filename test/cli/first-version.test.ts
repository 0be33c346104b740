/** A state file of the first version opens and serves today, and every command works on it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BalanceJson, type KeyJson, Workplace } from '../support/cli.ts';
import { CREDIT_NANOS, OPEN_HOLD_NANOS, writeFirstVersion } from '../support/first-version.ts';
import type { RequestJson } from '../support/request-json.ts';

test('every command works on a state file of the first version', async (t) => {
  const place = new Workplace(t);
  const { secrets, rows, openId, keyIds } = writeFirstVersion(place.statePath, Date.now());
  const serving = await place.serveHere();
  const [old, gone] = secrets;
  assert.equal(await serving.chatOutcome(old), '200');
  assert.equal(await serving.chatOutcome(old, { model: 'mock/none' }), '404 model_not_found');
  assert.equal(await serving.chatOutcome(gone), '401 invalid_api_key');
  const held = rows.find(({ source }) => source === 'held');
  assert.ok(held !== undefined);

  const commands = [
    'credit show',
    'credit history',
    'keys list --all',
    'keys show old',
    'requests list --limit 1000',
    `requests show ${held.id}`,
    `requests settle ${openId} --cost 1`,
    `requests settle ${held.id} --cost 0`,
    'usage --by key',
    'usage --by source',
    'usage --by month',
    'usage --since 40d --by day',
    'limits set old --rpm 50',
    'keys rotate old',
    'allowlist show old',
    'credit add 1',
    'models',
    'audit',
  ];
  const answers = await place.runAll(commands.map((words) => [...words.split(' '), '--json']));
  for (const [index, { status, stderr }] of answers.entries()) assert.equal(status, 0, `${commands[index]}: ${stderr}`);
  const documents = new Map(
    commands.map((words, index) => [words, JSON.parse(answers[index]?.stdout ?? '') as unknown]),
  );

  const charged = rows.reduce((sum, { costNanos }) => sum + costNanos, 0n) + OPEN_HOLD_NANOS;
  const { balance_usd } = documents.get('credit show') as BalanceJson;
  assert.equal(Number(balance_usd).toFixed(9), (Number(CREDIT_NANOS - charged) / 1e9).toFixed(9));
  assert.deepEqual(
    (documents.get('keys list --all') as KeyJson[]).map(({ id }) => id),
    keyIds,
  );
  const listed = documents.get('requests list --limit 1000') as RequestJson[];
  assert.equal(listed.length, rows.length + 2);
  const { completion_id, first_byte_ms, held_usd, cost_usd } = listed.find(({ id }) => id === held.id) as RequestJson;
  assert.deepEqual([completion_id, first_byte_ms, held_usd], [null, null, null]);
  assert.equal(Number(cost_usd).toFixed(9), (Number(held.costNanos) / 1e9).toFixed(9));
  const shown = await place.run(['requests', 'show', held.id]);
  assert.match(shown.stdout, /held +unknown\n/);
  assert.equal(await serving.stop(), 0);
  assert.equal((await place.run(['audit'])).status, 0);
});
