/** How `serve` starts: what it logs, when it refuses to, and what the two start scripts do before it. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { openDatabase } from '../../src/state/sqlite/database.ts';
import { testAtLength } from '../support/at-length.ts';
import { CONCURRENCY, CONFIG, inParallel, linesOf, PROGRAM, runNode, Workplace } from '../support/cli.ts';
import { freePort } from '../support/ports.ts';
import { copyOfProgram } from '../support/program-copy.ts';

const WITH_MISSING_KEY = `${CONFIG}  elsewhere:
    kind: openai
    base_url: https://elsewhere.example/v1
    api_key: \${ELSEWHERE_KEY}
    models: { model: { input: 1, output: 1 } }
`;

/** A module that, imported first, makes `os.userInfo` fail as it does for an id without a passwd entry. */
const WITHOUT_PASSWD_ENTRY = `data:text/javascript,${encodeURIComponent(`
  import { syncBuiltinESMExports } from 'node:module';
  import os from 'node:os';
  os.userInfo = () => { throw new Error('A system error occurred: uv_os_get_passwd returned ENOENT'); };
  syncBuiltinESMExports();
`)}`;

describe('`serve` at its start', { concurrency: CONCURRENCY }, () => {
  test('the first start logs the address, the active providers, the balance and the next command to run', async (t) => {
    const place = new Workplace(t, WITH_MISSING_KEY);
    const serving = await place.serve();
    for (const line of linesOf(serving.text)) {
      const { level, time, msg } = JSON.parse(line);
      assert.match(level, /^(info|warn)$/);
      assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      assert.equal(typeof msg, 'string');
    }
    await serving.logged(new RegExp(`^listening on ${serving.url}$`));
    const said = (pattern: RegExp) => serving.log.find(({ msg }) => pattern.test(msg));
    assert.match(said(/active providers/)?.msg ?? '', /mock/);
    assert.doesNotMatch(said(/active providers/)?.msg ?? '', /elsewhere/);
    assert.ok(said(/balance 0\.00 USD, 0 keys/));
    assert.ok(said(/inf-gw keys create my-app/));
    assert.ok(serving.log.some(({ msg }) => msg.includes(`created the state file ${place.statePath}`)));
    const warning = said(/elsewhere/);
    assert.equal(warning?.level, 'warn');
    assert.match(warning?.msg ?? '', /skipped providers: elsewhere \(ELSEWHERE_KEY is not set\)/);

    const { key } = await place.createKey('app');
    assert.equal(await serving.chatOutcome(key, { model: 'elsewhere/model' }), '404 model_not_found');
    const listing = await fetch(`${serving.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    const { data } = (await listing.json()) as { data: { id: string }[] };
    assert.deepEqual(
      data.map(({ id }) => id),
      ['mock/echo', 'mock/paid'],
    );
    const models = await place.json<{ id: string; active: boolean }[]>('models');
    assert.equal(models.find(({ id }) => id === 'elsewhere/model')?.active, false);
    assert.equal(await serving.stop(), 0);
  });

  test('a later start logs the keys and the balance, and no longer how to create the first key', async (t) => {
    const place = new Workplace(t, WITH_MISSING_KEY);
    await place.createKey('app');
    await place.json('credit', 'add', '7.25');
    place.environment.ELSEWHERE_KEY = 'secret-of-the-provider';
    const serving = await place.serveHere();
    await serving.logged(/active providers: mock, elsewhere/);
    await serving.logged(/balance 7\.25 USD, 1 key/);
    assert.doesNotMatch(serving.text, /keys create|is not set|created the state file|secret-of-the-provider/);
  });

  test('without a config it runs on the defaults with only the mock, and says so', async (t) => {
    const place = new Workplace(t, null);
    const serving = place.launch([PROGRAM, 'serve']);
    const outcome = await Promise.race([serving.listening().catch(() => 'ended'), serving.ended]);
    if (outcome === serving) {
      assert.equal(serving.url, 'http://127.0.0.1:8787');
      await serving.logged(/no config file.*defaults.*mock/);
      await serving.logged(/^active providers: mock$/);
      await serving.logged(/`inf-gw keys create my-app`/);
      const { key } = await place.createKey('app');
      assert.equal(await serving.chatOutcome(key), '200');
    } else {
      // Another program may have the default port; then the log says so.
      assert.equal((await serving.ended).status, 1);
      assert.match(serving.text, /error: 127\.0\.0\.1:8787 is in use/);
    }
  });

  test('a second gateway on the same state file or address exits with status 1, and the first keeps running', async (t) => {
    const place = new Workplace(t);
    const serving = await place.serveHere();
    const { key } = await place.createKey('app');
    const port = new URL(serving.url).port;
    place.write('other-state.yaml', CONFIG.replace('./state.db', './other.db').replace(':0', `:${port}`));
    symlinkSync(place.statePath, join(place.directory, 'link.db'));
    place.write('same-file.yaml', CONFIG.replace('./state.db', './link.db'));
    const [sameFile, sameAddress, byLink] = await Promise.all([
      place.run(['serve']),
      place.serveInVain('-c', 'other-state.yaml'),
      place.serveInVain('-c', 'same-file.yaml'),
    ]);
    for (const result of [sameFile, byLink]) {
      assert.equal(result?.status, 1);
      assert.match(
        result?.stderr ?? '',
        /^error: another inf-gw serve is running on .*\.db; .*`inf-gw (?:-c same-file\.yaml )?serve --takeover`/m,
      );
    }
    assert.equal(sameAddress?.status, 1);
    assert.match(sameAddress?.stderr ?? '', new RegExp(`^error: 127\\.0\\.0\\.1:${port} is in use`, 'm'));
    assert.equal(await serving.chatOutcome(key), '200');
  });

  for (const field of ['metrics', 'health']) {
    test(`a second gateway names --takeover also where the first has the port of \`${field}\``, async (t) => {
      const port = await freePort();
      const place = new Workplace(t, `${field}: 127.0.0.1:${port}\n${CONFIG}`);
      await place.serveHere();
      const { status, stderr } = await place.serveInVain();
      assert.equal(status, 1);
      assert.match(stderr, /^error: another inf-gw serve is running on .*\.db; .*`inf-gw serve --takeover`/m);
      place.write('other.yaml', `${field}: 127.0.0.1:${port}\n${CONFIG.replace('./state.db', './other.db')}`);
      assert.match((await place.serveInVain('-c', 'other.yaml')).stderr, new RegExp(`${port} is in use, .*${field}:`));
    });
  }

  test('a start that fails for its address leaves no state file behind', async (t) => {
    const place = new Workplace(t);
    const serving = await place.serveHere();
    const port = new URL(serving.url).port;
    const addresses = [`127.0.0.1:${port}`, '192.0.2.1:0', 'no-such-host.invalid:8787'];
    const starts = addresses.flatMap((listen, i) =>
      [1, 2].map((threads) => ({ listen, threads, name: `${i}-${threads}` })),
    );
    for (const { listen, threads, name } of starts) {
      const config = CONFIG.replace('./state.db', `./new/${name}.db`).replace('127.0.0.1:0', listen);
      place.write(`${name}.yaml`, `threads: ${threads}\n${config}`);
    }
    const results = await Promise.all(starts.map(({ name }) => place.serveInVain('-c', `${name}.yaml`)));
    for (const [i, { status, stderr }] of results.entries()) {
      assert.equal(status, 1);
      assert.match(stderr, /^error: .*set another `listen:` address in the config$/m, starts[i]?.name ?? '');
      assert.doesNotMatch(stderr, /created the state file/);
    }
    assert.ok(!readdirSync(place.directory).includes('new'));
  });

  testAtLength('it starts as a user without a passwd entry, and status and reload reach it', async (t) => {
    const place = new Workplace(t);
    // The state file is so deep that its control socket is in the temporary directory.
    place.write('config.yaml', CONFIG.replace('./state.db', `./${'deep/'.repeat(25)}state.db`));
    place.environment.NODE_OPTIONS = `--import=${WITHOUT_PASSWD_ENTRY}`;
    const serving = await place.serve();
    const [status, reload] = await inParallel([['status', '--json'], ['reload']], (words) => place.runAlone(words));
    assert.equal(status?.status, 0, status?.stderr ?? '');
    assert.equal((JSON.parse(status?.stdout ?? '') as { pid: number }).pid, serving.pid);
    assert.equal(reload?.status, 0, reload?.stderr ?? '');
    assert.equal(await serving.stop(), 0);
  });

  test('a file that is no state file, or from a newer version, is left untouched and reported in one line', async (t) => {
    const place = new Workplace(t);
    place.write('none.yaml', CONFIG.replace('./state.db', './none.db'));
    const text = 'This is a letter and no database. '.repeat(200);
    place.write('none.db', text);
    place.write('newer.yaml', CONFIG.replace('./state.db', './newer.db'));
    const { database } = openDatabase(`${place.directory}/newer.db`);
    database.pragma('user_version = 999');
    database.close();
    const unusable = [
      ['none.yaml', /none\.db.*not an inf-gw state file/],
      ['newer.yaml', /newer\.db.*newer inf-gw.*999/],
    ] as const;
    for (const [config, message] of unusable) {
      const results = [
        await place.serveInVain('-c', config),
        await place.run(['keys', 'list', '-c', config]),
        await place.run(['credit', 'add', '1', '-c', config]),
      ];
      for (const { status, stdout, stderr } of results) {
        assert.deepEqual([status, stdout], [1, '']);
        assert.equal(linesOf(stderr).length, 1, stderr);
        assert.match(stderr, message);
      }
    }
    assert.equal(place.read('none.db').toString(), text);
  });

  for (const version of [0, -1, -(2 ** 31)]) {
    test(`a file with tables of the invalid version ${version} is reported in one line that names the remedy`, async (t) => {
      const place = new Workplace(t);
      const { database } = openDatabase(place.statePath);
      database.pragma(`user_version = ${version}`);
      database.close();
      const results = [
        await place.serveInVain(),
        await place.run(['keys', 'list']),
        await place.run(['credit', 'add', '1']),
        await place.run(['usage']),
        await place.run(['backup', 'copy.db']),
      ];
      for (const { status, stdout, stderr } of results) {
        assert.deepEqual([status, stdout], [1, '']);
        assert.equal(linesOf(stderr).length, 1, stderr);
        assert.match(stderr, /state\.db is damaged: .* invalid schema version -?\d+; restore a backup with: /);
      }
    });
  }

  test('an invalid config is rejected with a line for each problem, by line and column', async (t) => {
    const place = new Workplace(t, 'listen: 8787\nlimit: 5\nproviders:\n  mock:\n    kind: mock\n    modles: {}\n');
    const { status, stdout, stderr } = await place.run(['serve']);
    assert.equal(status, 1);
    assert.equal(stdout, '');
    const places = linesOf(stderr).map((line) =>
      /^error: config\.yaml:(\d+:\d+): (\S+):/.exec(line)?.slice(1).join(' '),
    );
    assert.deepEqual(places, ['1:1 listen', '2:1 limit', '4:3 providers.mock.models', '6:5 providers.mock.modles']);
    await assert.rejects(async () => place.read('inf-gw.db'), { code: 'ENOENT' });
  });
});

/** A module that, imported first, makes Node report another version. */
function pretending(version: string): string {
  const script = `
    Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });
    Object.defineProperty(process, 'version', { value: 'v${version}' });
  `;
  return `data:text/javascript,${encodeURIComponent(script)}`;
}

test('an older Node is rejected with one line that says what to do, and a newer one is not', async (t) => {
  const place = new Workplace(t);
  const versions = ['22.18.0', '20.20.2', '9.1.0', '22.19.0', '26.0.0', '100.0.0'];
  const good = ['22.19.0', '26.0.0', '100.0.0'];
  const results = await inParallel(versions, (version) =>
    runNode(['--import', pretending(version), PROGRAM, '--version'], place),
  );
  for (const [index, version] of versions.entries()) {
    const { status, stdout, stderr } = results[index] ?? {};
    if (good.includes(version)) {
      assert.equal(status, 0, version);
      continue;
    }
    assert.equal(status, 1, version);
    assert.equal(stdout, '');
    assert.equal(linesOf(stderr ?? '').length, 1, version);
    assert.match(stderr ?? '', /needs Node 22\.19 or newer; this is .* In this checkout, `npx inf-gw`/);
    assert.ok(stderr?.includes(`v${version}`));
  }
});

test('`serve` says the same of itself from its own files as from those of all commands', async (t) => {
  const place = new Workplace(t);
  for (const rest of [['--help'], ['--unknown'], ['extra'], ['help'], ['--config', 'missing.yaml']]) {
    const [own, all] = await Promise.all([
      runNode([PROGRAM, 'serve', ...rest], place),
      // Where it is not the first word, it is found among all commands.
      place.run(['--json', 'serve', ...rest]),
    ]);
    assert.deepEqual({ ...own }, { ...all }, rest.join(' '));
  }
});

test('`npm start` creates a config from the example, says so, and serves; the command it suggests has npx', async (t) => {
  const place = new Workplace(t, null);
  const { script, example } = copyOfProgram(place.directory);
  place.environment.npm_lifecycle_event = 'start';
  const serving = await place.serve([script]);
  assert.match(serving.text, /^copied config\.example\.yaml to config\.yaml$/m);
  assert.equal(place.read('config.yaml').toString(), example);
  await serving.logged(/^active providers: mock$/);
  await serving.logged(/`npx inf-gw keys create my-app`/);
  assert.equal(await serving.stop(), 0);
});

testAtLength('`npm start` leaves an existing config as it is', async (t) => {
  const own = 'listen: 127.0.0.1:0\nstate: ./own/own.db\n';
  const place = new Workplace(t, own);
  mkdirSync(join(place.directory, 'own'));
  const { script } = copyOfProgram(place.directory);
  const serving = await place.serve([script]);
  assert.doesNotMatch(serving.text, /copied/);
  assert.ok(serving.log.some(({ msg }) => msg.includes(`${place.directory}/own/own.db`)));
  assert.equal(place.read('config.yaml').toString(), own);
  assert.equal(await serving.stop(), 0);
});
