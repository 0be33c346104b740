/**
 * Commands as processes of their own: each exits by itself and prints what it prints in the tests'
 * shared process.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { describe, test } from 'node:test';
import { CONCURRENCY, CONFIG, PATHS, PROGRAM, Workplace } from '../support/cli.ts';

const ENDING = [
  ['keys', 'list'],
  ['keys', 'show', 'nobody'],
  ['credit', 'show', '--json'],
  ['usage', '--by', 'key', '--csv'],
  ['requests'],
  ['models', '--json'],
  ['audit', '--json'],
  ['frobnicate'],
];
/** Commands that query the gateway, or change its config. */
const BESIDE = [['status', '--json'], ['reload'], ['keys', 'create', 'app']];

describe('a command exits by itself', { concurrency: CONCURRENCY }, () => {
  for (const words of ENDING) {
    test(words.join(' '), async (t) => {
      const place = new Workplace(t, CONFIG);
      await place.run(['credit', 'add', '1']);
      assert.deepEqual(await place.runAlone(words), await place.run(words));
    });
  }

  test('once it has read its answer from stdin, or nothing', async (t) => {
    const place = new Workplace(t, CONFIG);
    await place.createKey('app');
    const words = ['keys', 'delete', 'app', '--json'];
    assert.deepEqual(await place.runAlone(words), await place.run(words));
    const { status, stderr } = await place.runAlone(words, 'y\n');
    assert.equal(status, 0, stderr);
    assert.equal((await place.run(['keys', 'show', 'app'])).status, 1);
  });

  test('beside a running gateway', async (t) => {
    const place = new Workplace(t, CONFIG);
    await place.serve();
    for (const words of BESIDE) {
      const { status, stderr } = await place.runAlone(words);
      assert.equal(status, 0, stderr);
    }
  });
});

test('a command whose output cannot be written says so, and fails', (t) => {
  const place = new Workplace(t, CONFIG);
  // Open for reading alone: a write fails, as on a full disk.
  const output = openSync(place.write('output', ''), 'r');
  const words = [PROGRAM, 'credit', 'add', '1'];
  const surroundings = { cwd: place.directory, env: PATHS, encoding: 'utf8' } as const;
  const { status, stderr } = spawnSync(process.execPath, words, { ...surroundings, stdio: ['ignore', output, 'pipe'] });
  closeSync(output);
  assert.equal(status, 1);
  assert.match(stderr, /^error: cannot write to standard output \(EBADF\); what the command has changed stands$/m);
});
