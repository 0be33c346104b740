/** The terminal: Ink sets its modes and reports the keys that are pressed; the screen draws the lines of the frame. */
import { render, useApp, useInput, usePaste } from 'ink';
import { createElement, useEffect, useRef } from 'react';
import { showsUtf8 } from './draw/ascii.ts';
import { type Abilities, painted } from './draw/paint.ts';
import { frame } from './frame.ts';
import { namesOf } from './key-names.ts';
import { type MouseReport, withoutMouse } from './mouse.ts';
import { type Output, Screen } from './screen.ts';
import type { Session } from './session.ts';
import { Suspension } from './suspension.ts';

const ABILITIES: Abilities = {
  /** As https://no-color.org asks. */
  hasColours: (process.env.NO_COLOR ?? '') === '',
  isAscii: !showsUtf8(process.env),
};
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
  const onMouse = (report: MouseReport) => session.dispatch({ kind: 'mouse', report });
  const onResize = () => {
    screen.forget();
    session.dispatch({ kind: 'resize', columns: screen.columns, rows: screen.rows });
  };
  // Not by Ink, which would take each character of each frame apart: ten times as much as all the rest.
  const show = () => screen.show(frame(session.model).map((line) => painted(line, ABILITIES).trimEnd()));
  const unsubscribe = session.subscribe(show);
  onResize();
  const app = render(createElement(Keyboard, { session, screen }), {
    stdin: hasMouse ? withoutMouse(input, onMouse) : input,
    stdout: screen as unknown as NodeJS.WriteStream,
    alternateScreen: true,
    // It leaves the screen alone then.
    debug: true,
    exitOnCtrlC: false,
    patchConsole: false,
    interactive: true,
  });
  // Whatever happens, the terminal is restored.
  const onError = (error: Error) => {
    app.unmount();
    process.stderr.write(`error: internal error: ${error.stack ?? error.message}\n`);
    process.exit(1);
  };
  process.once('uncaughtException', onError);
  const onSignal = () => session.end();
  process.once('SIGTERM', onSignal).once('SIGHUP', onSignal);
  // A terminal that goes away may fail before the signal comes, or without one.
  output.on('resize', onResize).on('error', onSignal);
  input.on('error', onSignal).on('end', onSignal);
  const repaint = setInterval(() => screen.repaint(), REPAINT_MS);
  // Ink unmounts by itself if rendering throws.
  await Promise.race([session.ended, app.waitUntilExit()]).catch(onError);
  clearInterval(repaint);
  output.off('resize', onResize);
  unsubscribe();
  app.unmount();
  await app.waitUntilExit();
  process.off('uncaughtException', onError);
}

/** Draws nothing itself. */
function Keyboard({ session, screen }: { session: Drawn; screen: Screen }): null {
  const { suspendTerminal } = useApp();
  const suspension = useRef<Suspension>(undefined);
  useEffect(() => {
    suspension.current = new Suspension(suspendTerminal);
    return () => suspension.current?.close();
  }, [suspendTerminal]);
  const press = (name: string) => {
    if (name === 'ctrl+l') screen.repaint();
    else if (name === 'ctrl+z') void suspension.current?.stop();
    else session.dispatch({ kind: 'key', key: name });
  };
  useInput((input, key) => namesOf(input, key).forEach(press));
  usePaste((text) => session.dispatch({ kind: 'paste', text }));
  return null;
}
