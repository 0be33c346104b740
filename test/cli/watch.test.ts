/** `status --watch`: repainted in place on a terminal, one document per line in a pipe. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CONCURRENCY, linesOf, PROGRAM, Workplace } from '../support/cli.ts';
import { Desk } from '../support/terminal.ts';
import { until } from '../support/wait.ts';

const SIZE = { columns: 60, rows: 12 };

describe('`status --watch`', { concurrency: CONCURRENCY }, () => {
  test('repaints a terminal while the gateway comes and goes, and leaves the last picture there', async (t) => {
    const desk = await Desk.open(t, SIZE);
    await desk.command('echo earlier work; stty -g > before');
    await desk.shows(/^earlier work\n/m);
    const before = await desk.settings();
    await desk.prompts();
    await desk.command('"$NODE" "$PROGRAM" status --watch; echo "ended with $?"; stty -g > after');
    await desk.shows(/^inf-gw status .* q ends\n(.*\n)*no gateway is running/m);
    assert.deepEqual(await desk.settings(), { ...before, alternateScreen: true, cursorVisible: false });
    const serving = await desk.place.serveHere();
    const screen = await desk.shows(/^state +● serving$/m);
    assert.match(screen, /^… \d+ more lines$/m);
    assert.doesNotMatch(screen, /no gateway|earlier work/);
    await serving.stop();
    await desk.shows(/no gateway is running/);
    await desk.press('q');
    const left = await desk.shows(/^ended with 0\n/m);
    assert.match(left, /earlier work\n(.*\n)+no gateway is running/);
    assert.deepEqual(await desk.settings(), before);
    assert.deepEqual(desk.place.read('after'), desk.place.read('before'));
  });

  test('with --json prints a document per line, until it is stopped', async (t) => {
    const place = new Workplace(t);
    const watching = place.launch([PROGRAM, 'status', '--watch', '--json']);
    await until(() => linesOf(watching.output).length >= 2);
    watching.signal('SIGTERM');
    assert.deepEqual(await watching.ended, { status: null, signal: 'SIGTERM' });
    for (const line of linesOf(watching.output)) {
      assert.deepEqual(JSON.parse(line), { running: false, state: place.statePath });
    }
  });

  test('is a usage error where there is nothing to repaint, or nothing to watch', async (t) => {
    const place = new Workplace(t);
    const [piped, ready] = await place.runAll([
      ['status', '--watch'],
      ['status', '--watch', '--ready'],
    ]);
    assert.deepEqual([piped?.status, piped?.stdout], [2, '']);
    assert.match(piped?.stderr ?? '', /^error: --watch repaints a terminal.* add --json .*\n$/);
    assert.deepEqual([ready?.status, ready?.stdout], [2, '']);
    assert.match(ready?.stderr ?? '', /^error: option '--watch' cannot be used with option '--ready'.*\n$/);
  });
});
