/** A whole key that is given to a command finds its key, and is never repeated. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mintKey } from '../../src/core/api-key.ts';
import { CONCURRENCY, type KeyJson, Workplace } from '../support/cli.ts';

/** Each takes a key. */
const COMMANDS: readonly (readonly string[])[] = [
  ['keys', 'show'],
  ['keys', 'disable'],
  ['keys', 'enable'],
  ['keys', 'list', '--after'],
  ['keys', 'rotate'],
  ['limits', 'show'],
  ['limits', 'set', '--rpm', '5'],
  ['allowlist', 'show'],
  ['allowlist', 'clear'],
  ['usage', '--by', 'day', '--key'],
  ['requests', '--key'],
  ['keys', 'delete', '--yes'],
];

describe('a whole key', { concurrency: CONCURRENCY }, () => {
  test('finds its key in every command, and no output has it', async (t) => {
    const place = new Workplace(t);
    const { id, key } = await place.createKey('app');
    for (const words of COMMANDS) {
      for (const json of [[], ['--json']]) {
        // A second deletion fails.
        if (words.includes('delete') && json.length > 0) continue;
        const { status, stdout, stderr } = await place.run([...words, key, ...json]);
        assert.equal(status, 0, `${words.join(' ')}: ${stderr}`);
        assert.ok(!`${stdout}${stderr}`.includes(key), words.join(' '));
      }
    }
    const shown = await place.json<KeyJson>('keys', 'show', key);
    assert.deepEqual([shown.id, shown.state, shown.limits.rpm], [id, 'deleted', 5]);
    const again = await place.run(['keys', 'delete', key, '--yes']);
    assert.equal(again.status, 1);
    assert.ok(!again.stderr.includes(key));
  });

  test('that nobody has, or that is misspelled, is not repeated by any message', async (t) => {
    const place = new Workplace(t);
    await place.createKey('app');
    const { key } = await place.createKey('other');
    const unknown = mintKey();
    const misspelled = `${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`;
    const others = [['keys', 'create'], ['requests', 'show'], ['allowlist', 'set', 'app'], ['credit', 'add'], []];
    for (const words of [...COMMANDS, ...others]) {
      for (const given of [unknown, misspelled]) {
        const { status, stdout, stderr } = await place.run([...words, given]);
        assert.notEqual(status, 0, words.join(' '));
        assert.ok(!`${stdout}${stderr}`.includes(given.slice(0, 20)), `${words.join(' ')}: ${stderr}`);
      }
    }
  });
});
