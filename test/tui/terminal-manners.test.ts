/**
 * How the dashboard behaves on a real terminal: in windows of any size, with hostile names, and
 * when it exits.
 */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { widthOf } from '../../src/operator/text.ts';
import { openDatabase } from '../../src/state/sqlite/database.ts';
import { CONCURRENCY } from '../support/cli.ts';
import { daysAgo, drawPast, writePast } from '../support/past.ts';
import { Desk, LARGE, SMALL } from '../support/terminal.ts';

/** With these preloaded, a signal provokes an internal error. */
const PRELOADS = {
  'an exception': "process.on('SIGUSR2', () => { throw new Error('provoked'); });",
  'a rejection': "process.on('SIGUSR2', () => { Promise.reject(new Error('provoked')); });",
  'an error while drawing': `process.on('SIGUSR2', () => {
  // The overview sorts errors whenever it is drawn.
  Array.prototype.toSorted = () => { throw new Error('provoked'); };
});`,
} as const;

/** Names that no command accepts: they are written straight into the state file. */
const HOSTILE = [
  '\u001b[2J\u001b[31mred',
  '\u001b]0;title\u0007\u001b]52;c;aGk=\u0007',
  'two\r\nlines\tand\btabs',
  '\u009b31m\u0085next',
  '\u202eleft to right\u202c \u2066\u200f',
  'שלום عليكم',
  'e\u0301\u0302\u0303\u0304 zalgo'.repeat(3),
  '日本語の鍵 全角',
  '👩‍👩‍👧‍👦 🇩🇪 ✌🏽 ❤️',
  'ﷺ\u200d\u200b\ufeff\u00ad',
  'x'.repeat(300),
  '',
] as const;

/** Starts the dashboard below earlier output, ends it, and checks what is left on the terminal. */
async function leaves(t: TestContext, end: (desk: Desk) => Promise<void> | void, flags = ''): Promise<number> {
  // In a checkout with a long path the stack of an error would push what was above it off a small one.
  const desk = await Desk.open(t, LARGE);
  if (flags !== '') desk.place.write('preload.mjs', flags);
  await desk.command('echo earlier work; stty -g > settings.before');
  await desk.shows(/^earlier work\n/m);
  const before = await desk.settings();
  await desk.dashboard(flags === '' ? '' : 'NODE_FLAGS="--import ./preload.mjs"');
  assert.equal((await desk.settings()).alternateScreen, true);
  assert.doesNotMatch(await desk.screen(), /earlier work/);
  await end(desk);
  const status = await desk.left();
  assert.match(await desk.screen(), /^earlier work\n/m);
  assert.deepEqual(await desk.settings(), before);
  // What is typed is echoed, and runs with Enter.
  await desk.command('stty -g > settings.after; echo "settings" "written"');
  await desk.shows(/echo "settings" "written"\nsettings written\n/);
  assert.equal(desk.place.read('settings.after').toString(), desk.place.read('settings.before').toString());
  return status;
}

describe('the dashboard', { concurrency: CONCURRENCY }, () => {
  test('the terminal is restored', { concurrency: CONCURRENCY }, async (t) => {
    await t.test('after q', async (t) => assert.equal(await leaves(t, (desk) => desk.type('q')), 0));
    await t.test('after Ctrl-C', async (t) => assert.equal(await leaves(t, (desk) => desk.press('C-c')), 0));
    await t.test('after SIGTERM', async (t) => {
      assert.equal(await leaves(t, (desk) => void process.kill(desk.pid, 'SIGTERM')), 0);
    });
    for (const [title, flags] of Object.entries(PRELOADS)) {
      await t.test(`after ${title}`, async (t) => {
        const provoke = async (desk: Desk) => {
          process.kill(desk.pid, 'SIGUSR2');
          await desk.shows(/^error: internal error: Error: provoked$/m);
        };
        assert.equal(await leaves(t, provoke, flags), 1);
      });
    }
  });

  test('the window can have any size, and change it', async (t) => {
    const desk = await Desk.open(t);
    await desk.place.createKey('app');
    await desk.place.serveHere();
    await desk.dashboard();
    await desk.shows(/● serving/);
    for (const size of [LARGE, { columns: 60, rows: 16 }, SMALL]) {
      await desk.resize(size);
      for (const [view, sign] of [
        ['1', /First steps/],
        ['2', /^app .*enabled/m],
        ['3', /No request/],
      ] as const) {
        await desk.type(view);
        await desk.shows(sign);
        // Everything is there, from the first line to the last, with the balance at the right edge.
        // The footer is drawn last.
        const whole = new RegExp(`^ inf-gw .{${size.columns - 12}}USD$[^]*(views|Enter more)`, 'm');
        const lines = (await desk.shows(whole)).split('\n');
        assert.equal(lines.length, size.rows + 1);
        assert.match(lines[1] ?? '', /1 ?Overview .* 7 ?Groups/);
        assert.match(lines.at(-2) ?? '', /views|Enter more/);
      }
    }
    await desk.resize({ columns: 40, rows: 10 });
    await desk.shows(/^The window is 40 by 10;/);
    await desk.resize(SMALL);
    await desk.shows(/^ inf-gw /);
  });

  test('hostile names of keys and models cannot break the screen', async (t) => {
    const desk = await Desk.open(t);
    const { place } = desk;
    const ids: string[] = [];
    for (const index of HOSTILE.keys()) ids.push((await place.createKey(`key-${index}`)).id);
    const { database } = openDatabase(place.statePath);
    for (const [index, name] of HOSTILE.entries()) {
      database.prepare('UPDATE keys SET name = ? WHERE id = ?').run(name, ids[index]);
      const [request] = drawPast([ids[index] ?? ''], 1, daysAgo(0.01), daysAgo(0));
      if (request !== undefined) writePast(database, [{ ...request, requestId: `req_${index}`, model: name }]);
    }
    database.close();
    await desk.dashboard();

    const assertWhole = (screen: string, column: RegExp) => {
      const lines = screen.split('\n');
      assert.match(lines[0] ?? '', /^ inf-gw ○ no gateway running; showing stored figures +balance \S+ USD$/);
      assert.match(
        lines[1] ?? '',
        /^ 1 Overview {2}2 Keys {2}3 Live {2}4 Requests {2}5 Usage {2}6 Models {2}7 Groups$/,
      );
      assert.match(lines[23] ?? '', /^ \S.*(?:quit|help|…)$/);
      // What follows the names is aligned in one column.
      const places = lines
        .filter((line) => column.test(line))
        .map((line) => widthOf(line.slice(0, line.search(column))));
      assert.equal(places.length, HOSTILE.length);
      assert.deepEqual([...new Set(places)].length, 1, screen);
    };
    await desk.type('2');
    assertWhole(await desk.shows(/^NAME/m), /enabled/);
    for (const _ of HOSTILE) {
      for (const [opens, sign] of [
        ['D', /Type this to confirm/],
        ['l', /Requests per minute/],
      ] as const) {
        await desk.type(opens);
        const screen = await desk.shows(sign);
        const framed = screen.split('\n').filter((line) => /^ {2}[│╭╰]/.test(line));
        assert.deepEqual([...new Set(framed.map(widthOf))], [78], screen);
        assert.match(screen, /^ {2}╰─+╯$/m);
        await desk.press('Escape');
        await desk.hides(sign);
      }
      await desk.press('Enter');
      await desk.shows(/Requests per day/);
      await desk.press('Escape');
      assertWhole(await desk.hides(/Requests per day/), /enabled/);
      await desk.press('Down');
    }
    await desk.type('5');
    assertWhole(await desk.shows(/^KEY .* SINCE /m), / - +0\.00/);
    await assert.rejects(desk.clipboard(), /no buffers/);
  });

  test('NO_COLOR turns colours off; otherwise they are of the 256 colours', async (t) => {
    const desk = await Desk.open(t);
    await desk.place.serveHere();
    const style = `${String.fromCharCode(27)}\\[`;
    /** A colour of the text or the background, from any palette. */
    const colour = new RegExp(`${style}(?:[\\d;]*;)?(?:[349][0-7]|10[0-7]|[34]8)[;m]`);
    await desk.dashboard('NO_COLOR=1');
    await desk.shows(/● serving/);
    assert.doesNotMatch(await desk.styledScreen(), colour);
    await desk.type('q');
    await desk.left();
    await desk.dashboard();
    await desk.shows(/● serving/);
    assert.match(await desk.styledScreen(), new RegExp(`${style}38;5;114m(?:${style}49m)?● ${style}39m`));
  });

  test('the first line starts at the left edge, wherever the cursor was, and without UTF-8 it is ASCII', async (t) => {
    const desk = await Desk.open(t);
    await desk.dashboard('printf unfinished; LC_ALL=C');
    await desk.shows(/^ inf-gw [o~].*USD\n 1 Overview/);
    assert.match(await desk.screen(), /^[ -~\n]+$/);
  });

  test('Ctrl-Z gives the terminal back to the shell, and fg takes it again', async (t) => {
    const desk = await Desk.open(t);
    await desk.command('echo earlier work');
    await desk.shows(/^earlier work\n/m);
    const before = await desk.settings();
    await desk.dashboard();
    await desk.type('2');
    await desk.shows(/No keys yet/);
    await desk.press('C-z');
    await desk.shows(/^earlier work\n.*Stopped/ms);
    assert.deepEqual(await desk.settings(), before);
    await desk.prompts();
    // What is typed is echoed, and runs with Enter.
    await desk.command('echo "typed" "meanwhile"');
    await desk.shows(/echo "typed" "meanwhile"\ntyped meanwhile\n/);
    await desk.resize({ columns: 100, rows: 30 });
    await desk.command('fg');
    await desk.shows(/^ inf-gw .{88}USD\n.*No keys yet.*help\n$/s);
    await desk.type('q');
    assert.equal(await desk.left(), 0);
    assert.deepEqual(await desk.settings(), before);
  });

  test('what others write on the screen is gone after Ctrl-L, and after SIGCONT', async (t) => {
    const desk = await Desk.open(t);
    await desk.dashboard();
    const whole = await desk.shows(/^ inf-gw .*showing stored figures.*help\n$/s);
    for (const repaint of [() => desk.press('C-l'), () => void process.kill(desk.pid, 'SIGCONT')]) {
      await desk.writtenByOthers('\r\nBroadcast message from root\r\n');
      await desk.shows(/Broadcast message/);
      await repaint();
      await desk.shows(new RegExp(`^${whole.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`));
    }
  });

  test('without a terminal that can show it, it names the commands to use instead', async (t) => {
    const desk = await Desk.open(t);
    const { status, stdout, stderr } = await desk.place.run(['tui']);
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(stderr, /^error: the dashboard needs a terminal; .*status --json.*\n$/);
    await desk.command('TERM=dumb sh dashboard');
    assert.equal(await desk.left(), 1);
    assert.match(await desk.screen(), /TERM is\s+dumb;\s+use/);
  });

  test('when the window is closed, the dashboard exits', async (t) => {
    const desk = await Desk.open(t);
    await desk.dashboard();
    await assert.doesNotReject(desk.close());
  });
});
