/** The two start scripts: one rejects an old Node, the other creates a config for `npm start`. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { testAtLength } from '../support/at-length.ts';
import { inParallel, linesOf, PROGRAM, runNode, Workplace } from '../support/cli.ts';
import { copyOfProgram } from '../support/program-copy.ts';

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
    assert.match(stderr ?? '', /needs Node 22\.19 or newer/);
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
