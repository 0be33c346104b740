/** The executable: one file, copied alone into an empty folder, is the whole program. */
import assert from 'node:assert/strict';
import { chmodSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { buildExecutable } from '../../scripts/executable.ts';
import { CONFIG, type NewKeyJson } from '../support/cli.ts';
import { Desk } from '../support/terminal.ts';
import { until } from '../support/wait.ts';
import { Alone, emptyFolder } from './alone.ts';
import { crash, firstSteps, takeOver } from './first-steps.ts';

const MOST_BYTES = 160e6;
/** In a message, one token each. */
const FACES = 300;
/** Where nobody listens. */
const NO_DATABASE = 'postgres://gateway@127.0.0.1:1/gateway';

describe('the executable', () => {
  const built = emptyFolder({ after });
  let file: string;
  before(async () => {
    file = await buildExecutable(built);
  });

  test('is one file of less than 160 MB', () => {
    assert.equal(readdirSync(built).length, 1);
    assert.ok(statSync(file).size < MOST_BYTES);
  });

  test('takes the first steps, keeps a limit under a race, and loses nothing in a crash', async (t) => {
    // The earlier process waits so long for connections that the client of the test leaves open.
    const program = Alone.of(t, file, `timeouts: { drain: 1s }\n${CONFIG}`);
    await crash(program, await takeOver(program, await firstSteps(program, 'executable')));
    // The one file that it puts elsewhere, in a folder that is closed to others.
    assert.equal(statSync(join(program.folder, program.cacheName)).mode & 0o777, 0o700);
  });

  test('counts tokens with two workers, and shows the dashboard', async (t) => {
    const program = Alone.of(t, file, `threads: 2\n${CONFIG}`);
    const serving = await program.serve();
    const { key } = await program.json<NewKeyJson>('keys', 'create', 'my-app');
    // A count that takes too long is replaced by an estimate, of four tokens for each of these, and the tokenizer may be slow
    // to start.
    await until(async () => {
      await serving.chatOutcome(key, { messages: [{ role: 'user', content: `/no-usage ${'😀'.repeat(FACES)}` }] });
      const [last] = await program.json<{ prompt_tokens: number }[]>('requests', 'list', '--limit', '1');
      return last !== undefined && last.prompt_tokens < 2 * FACES;
    });
    const desk = await Desk.open(t);
    await desk.command(`${program.shellLine} tui; echo "the dashboard ended with $?"`);
    await desk.shows(/1 Overview[\s\S]*my-app/);
    await desk.press('q');
    assert.equal(await desk.left(), 0);
  });

  test('has the driver for PostgreSQL', async (t) => {
    const program = Alone.of(t, file, CONFIG.replace('./state.db', NO_DATABASE));
    const { status, stderr } = await program.run('keys', 'list');
    assert.equal(status, 1);
    assert.match(stderr, /ECONNREFUSED|cannot be reached|cannot connect/);
  });

  test('loads no native code from where another user could put it', async (t) => {
    const program = Alone.of(t, file);
    const open = emptyFolder(t);
    const target = program.makeFolder(join(open, 'cache'));
    chmodSync(open, 0o777);
    symlinkSync(target, join(program.folder, program.cacheName));
    const { status, stderr } = await program.run('keys', 'create', 'my-app');
    assert.equal(status, 1);
    assert.match(stderr, /cannot unpack SQLite into .*other users can write to .*set XDG_CACHE_HOME/s);
    assert.deepEqual(readdirSync(target), []);
  });
});
