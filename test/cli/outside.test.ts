/** Commands never make an installation by accident: outside of one they fail, and to read creates nothing. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { type BalanceJson, CONCURRENCY, linesOf, Workplace } from '../support/cli.ts';

const COMMANDS: readonly (readonly string[])[] = [
  ['status'],
  ['reload'],
  ['keys', 'create', 'app'],
  ['keys', 'list'],
  ['keys', 'delete', 'app', '--yes'],
  ['limits', 'show', 'app'],
  ['allowlist', 'clear', 'app'],
  ['credit', 'show'],
  ['credit', 'add', '5'],
  ['usage'],
  ['usage', '--json'],
  ['requests'],
  ['models'],
  ['config', 'check'],
  ['audit'],
  ['backup', 'copy.db'],
  ['prices', 'import', 'list.json'],
  ['tui'],
];

describe('without a config and without a state file', { concurrency: CONCURRENCY }, () => {
  test('every command but serve fails, says where it looked, and leaves nothing behind', async (t) => {
    const place = new Workplace(t, null);
    const results = await place.runAll(COMMANDS);
    for (const [index, { status, stdout, stderr }] of results.entries()) {
      const words = COMMANDS[index]?.join(' ') ?? '';
      assert.equal(status, 1, words);
      assert.equal(stdout, '', words);
      assert.equal(linesOf(stderr).length, 1, words);
      assert.match(stderr, /^error: no config and no state file: .*--config.*\$INF_GW_CONFIG/, words);
      assert.ok(stderr.includes(`${place.directory}/config.yaml`) && stderr.includes(`${place.directory}/inf-gw.db`));
    }
    assert.deepEqual(readdirSync(place.directory), []);
    for (const words of [['--help'], ['--version'], ['version'], ['keys', '--help']]) {
      assert.equal((await place.run(words)).status, 0, words.join(' '));
    }
    assert.deepEqual(readdirSync(place.directory), []);
  });

  test('a state file in the folder, or a config that is named, is enough', async (t) => {
    const [place, other] = [new Workplace(t), new Workplace(t, null)];
    const config = ['-c', `${place.directory}/config.yaml`];
    assert.equal((await other.run(['credit', 'add', '5', ...config])).status, 0);
    place.write('config.yaml', 'state: ./inf-gw.db\n');
    await place.json('credit', 'add', '3');
    const alone = new Workplace(t, null);
    alone.write('inf-gw.db', '');
    assert.equal((await alone.json<BalanceJson>('credit', 'show')).balance_usd, '0.00');
    assert.deepEqual(readdirSync(other.directory), []);
  });
});

describe('with a config whose state file does not exist yet', { concurrency: CONCURRENCY }, () => {
  test('reading commands show an empty state, say that there is none, and create nothing', async (t) => {
    const place = new Workplace(t);
    const commands = [
      ['keys', 'list'],
      ['credit', 'show'],
      ['credit', 'history'],
      ['usage'],
      ['requests'],
      ['usage', '--csv'],
    ];
    const results = await place.runAll(commands);
    for (const [index, { status, stderr }] of results.entries()) {
      const words = commands[index]?.join(' ') ?? '';
      assert.equal(status, 0, words);
      assert.deepEqual(linesOf(stderr).length, 1, words);
      assert.ok(stderr.includes(`no state file at ${place.statePath} yet`), words);
    }
    assert.deepEqual(await place.json('keys', 'list'), []);
    const { status, stderr } = await place.run(['keys', 'disable', 'app']);
    assert.equal(status, 1);
    assert.match(stderr, /^error: no such key: "app"/m);
    assert.deepEqual(readdirSync(place.directory), ['config.yaml']);
  });

  for (const words of [
    ['keys', 'create', 'app'],
    ['credit', 'add', '5'],
  ]) {
    test(`\`${words.join(' ')}\` creates the file, and says so`, async (t) => {
      const place = new Workplace(t);
      const { status, stderr } = await place.run(words);
      assert.equal(status, 0, stderr);
      assert.ok(linesOf(stderr).includes(`created the state file ${place.statePath}`));
    });
  }
});
