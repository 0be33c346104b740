/** The terminal: Ink reports the keys that are pressed; the screen draws the lines of the frame. */
import { once } from 'node:events';
import { render, useInput, usePaste } from 'ink';
import { createElement } from 'react';
import { clickAt, EMPTY, type Line } from './draw/line.ts';
import { abilitiesOf, painted } from './draw/paint.ts';
import { frame } from './frame.ts';
import { namesOf } from './key-names.ts';
import { type MouseReport, withoutMouse } from './mouse.ts';
import { type Output, Screen } from './screen.ts';
import type { Session } from './session.ts';

const ABILITIES = abilitiesOf(process.env);
/** What another program has written on the screen stays there for so long at most. Rarely: to draw ends a selection. */
const REPAINT_MS = 30_000;

export interface Streams {
  readonly input: NodeJS.ReadStream;
  readonly output: Output;
}

/** What is drawn of a session, and what it is told. */
export type Drawn = Pick<Session, 'model' | 'subscribe' | 'dispatch' | 'end' | 'ended'>;

/** Draws until the session ends. */
export async function draw(
  session: Drawn,
  { input, output }: Streams = { input: process.stdin, output: process.stdout },
  { hasMouse = false } = {},
): Promise<void> {
  const screen = new Screen(output, { hasMouse });
  let shown: readonly Line[] = [];
  const onMouse = ({ action, column, row }: MouseReport) =>
    session.dispatch({ kind: 'mouse', action, on: clickAt(shown[row] ?? EMPTY, column) });
  const onResize = () => {
    screen.forget();
    session.dispatch({ kind: 'resize', columns: screen.columns, rows: screen.rows });
  };
  const show = () => {
    shown = frame(session.model);
    screen.show(shown.map((line) => painted(line, ABILITIES).trimEnd()));
  };
  const unsubscribe = session.subscribe(show);
  onResize();
  // Ink writes no frames where it is not interactive: the screen draws them, at a tenth of the cost (docs/decisions.md).
  const options = {
    stdin: hasMouse ? withoutMouse(input, onMouse) : input,
    stdout: output as unknown as NodeJS.WriteStream,
    interactive: false,
    exitOnCtrlC: false,
    patchConsole: false,
  };
  const press = (name: string) => {
    if (name === 'ctrl+l') screen.repaint();
    else if (name === 'ctrl+z') void suspension.stop();
    else session.dispatch({ kind: 'key', key: name });
  };
  const paste = (text: string) => session.dispatch({ kind: 'paste', text });
  const takeKeys = () => {
    const taken = render(createElement(Keyboard, { press, paste }), options);
    taken.waitUntilExit().catch(onError);
    return taken;
  };
  const leaveKeys = async () => {
    keys.unmount();
    await keys.waitUntilExit();
  };
  // Whatever happens, the terminal is restored.
  const onExit = () => screen.close();
  const onError = (error: Error) => {
    keys.unmount();
    screen.close();
    process.stderr.write(`error: internal error: ${error.stack ?? error.message}\n`);
    process.exit(1);
  };
  const suspension = new Suspension(async (whileAway) => {
    await leaveKeys();
    screen.close();
    await whileAway();
    screen.open();
    keys = takeKeys();
  });
  screen.open();
  let keys = takeKeys();
  process.once('uncaughtException', onError).once('exit', onExit);
  const onSignal = () => session.end();
  // Before Ink has taken the keys, Ctrl-C is a signal as well.
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal).once('SIGHUP', onSignal);
  // A terminal that goes away may fail before the signal comes, or without one.
  output.on('resize', onResize).on('error', onSignal);
  input.on('error', onSignal).on('end', onSignal);
  const repaint = setInterval(() => screen.repaint(), REPAINT_MS);
  await session.ended;
  clearInterval(repaint);
  output.off('resize', onResize);
  unsubscribe();
  suspension.close();
  await leaveKeys();
  screen.close();
  process.off('uncaughtException', onError).off('exit', onExit);
}

interface KeyboardProps {
  /** Called with the name of each key. */
  readonly press: (name: string) => void;
  readonly paste: (text: string) => void;
}

function Keyboard({ press, paste }: KeyboardProps): null {
  useInput((input, key) => namesOf(input, key).forEach(press));
  usePaste(paste);
  return null;
}

/** A process group that no shell controls cannot be stopped. After this long without a stop it goes on. */
const NOT_STOPPED_MS = 100;

/** Restores the terminal, runs `whileAway`, and takes the terminal back with everything redrawn. */
type Suspend = (whileAway: () => Promise<void>) => Promise<void>;

/**
 * Stops the program when it is asked to, and takes the terminal back whenever it is continued: a
 * SIGSTOP gives no warning, and the shell has written to the screen since.
 */
class Suspension {
  readonly #suspend: Suspend;
  #isAway = false;
  readonly #onStop = () => void this.stop();
  readonly #onContinue = () => void this.#leave(async () => {});

  constructor(suspend: Suspend) {
    this.#suspend = suspend;
    process.on('SIGTSTP', this.#onStop).on('SIGCONT', this.#onContinue);
  }

  close(): void {
    process.off('SIGTSTP', this.#onStop).off('SIGCONT', this.#onContinue);
  }

  /** Returns once the program has been continued. */
  stop(): Promise<void> {
    return this.#leave(async () => {
      // Otherwise it would be told of the signal, and not stop.
      process.off('SIGTSTP', this.#onStop);
      const goOn = AbortSignal.timeout(NOT_STOPPED_MS);
      const continued = once(process, 'SIGCONT', { signal: goOn }).catch(() => {});
      // The whole group, as the terminal itself would: whatever has started this program waits for it.
      process.kill(0, 'SIGTSTP');
      await continued;
      process.on('SIGTSTP', this.#onStop);
    });
  }

  async #leave(whileAway: () => Promise<void>): Promise<void> {
    if (this.#isAway) return;
    this.#isAway = true;
    await this.#suspend(whileAway);
    this.#isAway = false;
    // Only the group in the foreground gets SIGWINCH.
    process.kill(process.pid, 'SIGWINCH');
  }
}
