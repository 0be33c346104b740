/** A gateway that npm or npx started ends when they do. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { CONCURRENCY, CONFIG, PROGRAM, type Serving, Workplace } from '../support/cli.ts';
import { copyOfProgram } from '../support/program-copy.ts';
import { bounded } from '../support/wait.ts';

/** The scripts of npm on this machine. */
const [NPM = '', NPX = ''] = ['npm', 'npx'].map((name) =>
  realpathSync(execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim()),
);

/** Starts it with npm, and returns what ends it if the test fails. */
async function serveWith(place: Workplace, words: readonly string[]): Promise<{ serving: Serving; pid: number }> {
  place.environment.npm_config_update_notifier = 'false';
  place.environment.HOME = place.directory;
  // The Node that runs the tests, whatever else the machine has.
  place.environment.PATH = `${dirname(process.execPath)}:${process.env.PATH}`;
  const serving = await place.serve(words);
  const { pid } = await place.json<{ pid: number }>('status');
  assert.notEqual(pid, serving.pid, 'a process of its own');
  return { serving, pid };
}

/** The output of npm is open for as long as the gateway writes to it. */
async function assertEnds({ serving, pid }: { serving: Serving; pid: number }, cause: RegExp): Promise<void> {
  try {
    await bounded(serving.ended, `the gateway ends with npm:\n${serving.text}`);
  } catch (error) {
    process.kill(pid, 'SIGKILL');
    throw error;
  }
  await serving.logged(cause);
  await serving.logged(/^everything is settled$/);
}

describe('a gateway under npm', { concurrency: CONCURRENCY }, () => {
  test('gets the SIGTERM that ends `npm start`, and npm waits for it', async (t) => {
    const place = new Workplace(t, CONFIG);
    copyOfProgram(place.directory);
    const started = await serveWith(place, [NPM, 'start']);
    started.serving.signal('SIGTERM');
    await assertEnds(started, /^SIGTERM: shutting down/);
  });

  test('ends when `npx inf-gw serve` does, which passes no signal on', async (t) => {
    const place = new Workplace(t, CONFIG);
    place.write('package.json', '{ "private": true }');
    mkdirSync(join(place.directory, 'node_modules/.bin'), { recursive: true });
    symlinkSync(PROGRAM, join(place.directory, 'node_modules/.bin/inf-gw'));
    const started = await serveWith(place, [NPX, 'inf-gw', 'serve']);
    started.serving.signal('SIGTERM');
    await assertEnds(started, /^npm has ended: shutting down/);
  });

  test('takes the second SIGINT of a Ctrl-C, which npm passes on, for the first', async (t) => {
    const place = new Workplace(t, CONFIG);
    place.environment.npm_lifecycle_event = 'start';
    // However long the second one takes on a busy machine, it comes at once.
    place.environment.NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent('performance.now = () => 9')}`;
    const serving = await place.serve([PROGRAM, 'serve']);
    delete place.environment.NODE_OPTIONS;
    const { key } = await place.createKey('app');
    const open = await serving.chat(key, { stream: true, messages: [{ role: 'user', content: '/stall 1' }] });
    const reader = open.body?.getReader();
    await reader?.read();
    serving.signal('SIGINT');
    await serving.logged(/^SIGINT: shutting down, .* 1 request in flight/);
    serving.signal('SIGINT');
    // The request is still in flight, and ends when its client does.
    await reader?.cancel();
    assert.deepEqual(await serving.ended, { status: 0, signal: null });
  });
});

test('a command that is named under npx can be typed as it is', async (t) => {
  const place = new Workplace(t, CONFIG);
  place.environment.npm_lifecycle_event = 'npx';
  for (const [noun, first] of [
    ['keys', 'keys create my-app'],
    ['groups', 'groups create my-team --budget day=5'],
  ] as const) {
    const { stdout } = await place.runAlone([noun]);
    assert.match(stdout, new RegExp(`Create one with: npx inf-gw ${first}\n`));
  }
});
