/** `--json` and `-c` may come anywhere, the config is found in the documented order, and `version` says what is installed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { VERSION } from '../../src/core/program.ts';
import { CONCURRENCY, CONFIG, inParallel, type KeyJson, Workplace } from '../support/cli.ts';

function withState(name: string): string {
  return CONFIG.replace('./state.db', `./${name}.db`);
}

describe('global options', { concurrency: CONCURRENCY }, () => {
  test('global options may come before, between and after the arguments of a command', async (t) => {
    const place = new Workplace(t, withState('default'));
    place.write('other.yaml', withState('other'));
    await place.run(['keys', 'create', 'app', '-c', 'other.yaml']);
    const orders = [
      '--json -c other.yaml keys show app',
      '-c other.yaml keys --json show app',
      'keys -c other.yaml show --json app',
      'keys show -c other.yaml app --json',
      'keys --config=other.yaml show app --json',
      '--json keys show app --config other.yaml',
    ];
    const results = await inParallel(orders, (words) => place.run(words.split(' ')));
    for (const [index, { status, stdout, stderr }] of results.entries()) {
      assert.equal(status, 0, `${orders[index]}: ${stderr}`);
      assert.equal((JSON.parse(stdout) as KeyJson).name, 'app', `after ${orders[index]}`);
    }
  });

  test('options of a command may come on both sides of the global ones', async (t) => {
    const place = new Workplace(t);
    const words = 'keys create --rpm 7 --json app --allow mock/echo -c config.yaml --allow mock/paid'.split(' ');
    const { status, stdout, stderr } = await place.run(words);
    assert.equal(status, 0, stderr);
    const { limits, allowlist } = JSON.parse(stdout) as KeyJson;
    assert.equal(limits.rpm, 7);
    assert.deepEqual(allowlist, ['mock/echo', 'mock/paid']);
  });

  test('the config comes from `--config`, then the variable, then ./config.yaml', async (t) => {
    const place = new Workplace(t, withState('here'));
    place.write('by-variable.yaml', withState('by-variable'));
    place.write('by-option.yaml', withState('by-option'));
    const empty = new Workplace(t, null);
    const pathOf = async (where: Workplace, ...words: string[]) =>
      (await where.json<{ state: string }>('config', 'check', ...words)).state;
    assert.equal(await pathOf(place), `${place.directory}/here.db`);
    place.environment.INF_GW_CONFIG = 'by-variable.yaml';
    assert.equal(await pathOf(place), `${place.directory}/by-variable.db`);
    assert.equal(await pathOf(place, '--config', 'by-option.yaml'), `${place.directory}/by-option.db`);
    assert.equal(
      await pathOf(empty, '-c', `${place.directory}/here.yaml`.replace('here', 'config')),
      `${place.directory}/here.db`,
    );
    empty.environment.INF_GW_CONFIG = 'nothing.yaml';
    const missing = await empty.run(['config', 'check']);
    assert.equal(missing.status, 1, 'a file that was named must be there');
    assert.match(missing.stderr, /nothing\.yaml/);
  });

  test('allowing a model that is not in the config prints a note, on stderr also with --json', async (t) => {
    const place = new Workplace(t);
    const { status, stdout, stderr } = await place.run(['keys', 'create', 'app', '--allow', 'later/model', '--json']);
    assert.equal(status, 0);
    assert.deepEqual((JSON.parse(stdout) as KeyJson).allowlist, ['later/model']);
    assert.match(stderr, /note: later\/model is not in the config/);
  });
});

test('`version` shows the version, that of Node, the platform, and that this is a checkout', async (t) => {
  const place = new Workplace(t, null);
  const path = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
  const { platform, arch, versions } = process;
  assert.deepEqual(await place.json('version'), {
    version: VERSION,
    node: versions.node,
    platform,
    arch,
    installation: 'checkout',
    path,
  });
  const { stdout } = await place.run(['version']);
  assert.match(
    stdout,
    new RegExp(
      `^inf-gw +${VERSION}\nnode +${versions.node}\nplatform +${platform}-${arch}\ninstalled as +a checkout\n`,
    ),
  );
});
