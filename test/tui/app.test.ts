/** From the bytes that a terminal sends to the keys that are pressed, and to the lines on its screen. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { draw } from '../../src/tui/app.ts';
import type { Event } from '../../src/tui/update/step.ts';
import { update } from '../../src/tui/update/update.ts';
import { until } from '../support/wait.ts';
import { SIZE, screenText, serving } from './samples.ts';
import { VirtualScreen } from './virtual-screen.ts';

/** A keyboard: what it sends arrives in one read. */
class Keyboard extends Readable {
  readonly isTTY = true;
  isRaw = false;

  override _read(): void {}

  setRawMode(isRaw: boolean): this {
    this.isRaw = isRaw;
    return this;
  }

  ref(): void {}

  unref(): void {}
}

/** A dashboard without a state and a gateway: its updates, and nothing else. */
async function opened(t: TestContext, options = {}) {
  const terminal = new VirtualScreen(SIZE);
  const keyboard = new Keyboard();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const listeners = new Set<() => void>();
  const events: Event[] = [];
  const session = {
    model: serving(),
    ended,
    end,
    subscribe: (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    dispatch: (event: Event) => {
      events.push(event);
      session.model = update(session.model, event).model;
      for (const listener of listeners) listener();
    },
  };
  const signals = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((name) => ({ name, before: process.listeners(name) }));
  const output = terminal as unknown as NodeJS.WriteStream;
  const drawn = draw(session, { input: keyboard, output }, options);
  t.after(async () => {
    end();
    await drawn;
    for (const { name, before } of signals) {
      for (const listener of process.listeners(name)) if (!before.includes(listener)) process.off(name, listener);
    }
  });
  await until(() => keyboard.isRaw && terminal.modes.has('2004'));
  const send = async (bytes: string) => {
    events.length = 0;
    keyboard.push(bytes);
    await once(keyboard, 'readable');
    await turn();
  };
  const shows = () => until(() => terminal.text() === screenText(session.model));
  return { terminal, keyboard, session, events, send, shows, drawn };
}

test('keys and pastes are told apart, however many bytes arrive at once', async (t) => {
  const { events, send } = await opened(t);
  const cases: readonly (readonly [what: string, bytes: string, keys: readonly string[]])[] = [
    ['a flood of keys', 'jj\rk', ['j', 'j', 'enter', 'k']],
    ['Esc and a letter', '\u001bq', ['escape', 'q']],
    ['Esc twice', '\u001b\u001b', ['escape', 'escape']],
    ['Esc and an arrow', '\u001b\u001b[B', ['escape', 'down']],
    ['Esc and Enter', '\u001b\r', ['escape', 'enter']],
    ['Esc and Ctrl-C', '\u001b\u0003', ['escape', 'ctrl+c']],
    ['Esc and an umlaut', '\u001bü', ['escape', 'ü']],
    ['Alt and an arrow, which is no Esc', '\u001b[1;3B', ['down']],
    ['Backspace and Delete', '\u007f\u001b[3~\b', ['backspace', 'delete', 'backspace']],
    ['Esc and Delete', '\u001b\u001b[3~', ['escape', 'delete']],
    ['a report of the mouse that nobody asked for', 'a\u001b[<0;1;2Mb', ['a', 'b']],
    ['Ctrl-S and Ctrl-Q', '\u0013\u0011', ['ctrl+s', 'ctrl+q']],
  ];
  for (const [what, bytes, keys] of cases) {
    await send(bytes);
    // Ink waits for what may follow an Esc.
    await until(() => events.length >= keys.length);
    assert.deepEqual(
      events.map((event) => (event.kind === 'key' ? event.key : event.kind)),
      keys,
      what,
    );
  }
  await send('\u001b[200~q\u001b\r\u0003D\u001b[201~');
  assert.deepEqual(events, [{ kind: 'paste', text: 'q\u001b\r\u0003D' }]);
});

describe('with the mouse', () => {
  const told = (events: readonly Event[]) =>
    events.map((event) => {
      if (event.kind === 'key') return event.key;
      return event.kind === 'mouse' ? `${event.action} on ${JSON.stringify(event.on)}` : event.kind;
    });

  test('clicks and the wheel are reported beside keys, also in parts', async (t) => {
    const { events, send } = await opened(t, { hasMouse: true });
    await send('a\u001b[<0;11;2M\u001b[<0;11;2mb\u001b[<65;1;1M\u001b[<64;300;1Mc');
    await until(() => events.length >= 6);
    assert.deepEqual(told(events), [
      'click on {"on":"view","which":"overview"}',
      'wheel_down on undefined',
      'wheel_up on undefined',
      'a',
      'b',
      'c',
    ]);
    await send('\u001b[<0;1');
    await send('3;2Mx');
    await until(() => events.length >= 2);
    assert.deepEqual(told(events), ['click on {"on":"view","which":"keys"}', 'x']);
    await send('\u001b[<4;1;1M\u001b[<2;1;1M\u001b[<32;1;1My');
    await until(() => events.length >= 1);
    assert.deepEqual(told(events), ['y']);
  });

  test('the terminal reports it only as long as the dashboard is shown', async (t) => {
    const { terminal, session, drawn } = await opened(t, { hasMouse: true });
    const isOn = () => ['1000', '1006'].map((mode) => terminal.modes.has(mode));
    await until(() => terminal.modes.has('1049'));
    assert.deepEqual(isOn(), [true, true]);
    session.end();
    await drawn;
    assert.deepEqual(isOn(), [false, false]);
  });

  test('which nobody hears of who did not ask for it', async (t) => {
    const { terminal, shows } = await opened(t);
    await shows();
    assert.ok(!terminal.modes.has('1000'));
  });
});

describe('on a terminal', () => {
  test('the frame is drawn in place, over what others write, and after the window has changed', async (t) => {
    const { terminal, session, send, shows } = await opened(t);
    await shows();
    terminal.write('\r\nBroadcast message\r\nfrom root');
    await send('\u000c');
    await shows();
    for (const [columns, rows] of [
      [200, 60],
      [40, 15],
      [61, 17],
      [80, 24],
    ] as const) {
      terminal.resize(columns, rows);
      await shows();
    }
    assert.deepEqual([session.model.columns, session.model.rows], [80, 24]);
  });

  test('one that goes away ends the session', async (t) => {
    const away: readonly (readonly [what: string, leave: (desk: Awaited<ReturnType<typeof opened>>) => unknown])[] = [
      ['EPIPE', ({ terminal }) => terminal.emit('error', new Error('write EPIPE'))],
      ['EIO', ({ keyboard }) => keyboard.destroy(new Error('read EIO'))],
      ['the end of the input', ({ keyboard }) => keyboard.push(null)],
    ];
    for (const [what, leave] of away) {
      await t.test(what, async (t) => {
        const desk = await opened(t);
        leave(desk);
        await desk.drawn;
        assert.deepEqual(
          { isRaw: desk.keyboard.isRaw, modes: [...desk.terminal.modes].toSorted() },
          { isRaw: false, modes: ['25', '7'] },
        );
      });
    }
  });
});
