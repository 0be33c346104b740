/** The screen itself: Ink draws the lines of the frame, and hands over the keys that are pressed. */
import { Box, type Key, render, Text, useInput, usePaste, useWindowSize } from 'ink';
import { createElement, memo, type ReactElement, useEffect, useSyncExternalStore } from 'react';
import type { Line } from './draw/line.ts';
import { painted } from './draw/paint.ts';
import { frame } from './frame.ts';
import type { Session } from './session.ts';

const HAS_COLOURS = (process.env.NO_COLOR ?? '') === '';

/** Draws until the session ends. */
export async function draw(session: Session): Promise<void> {
  // The other screen keeps the column of this one, and the first line would begin there.
  process.stdout.write('\r');
  const app = render(createElement(Screen, { session }), {
    alternateScreen: true,
    incrementalRendering: true,
    exitOnCtrlC: false,
    patchConsole: false,
    interactive: true,
  });
  // Whatever happens, the terminal is left as it was found.
  const onFault = (error: Error) => {
    app.unmount();
    process.stderr.write(`error: fault of the program: ${error.stack ?? error.message}\n`);
    process.exit(1);
  };
  process.once('uncaughtException', onFault);
  const onSignal = () => session.end();
  process.once('SIGTERM', onSignal).once('SIGHUP', onSignal);
  // A fault while drawing ends the screen by itself.
  await Promise.race([session.ended, app.waitUntilExit()]).catch(onFault);
  app.unmount();
  await app.waitUntilExit();
}

function Screen({ session }: { session: Session }): ReactElement {
  const { columns, rows } = useWindowSize();
  const model = useSyncExternalStore(
    (listener) => session.subscribe(listener),
    () => session.model,
  );
  useEffect(() => session.dispatch({ kind: 'resize', columns, rows }), [session, columns, rows]);
  useInput((input, key) => {
    for (const name of namesOf(input, key)) session.dispatch({ kind: 'key', key: name });
  });
  usePaste((text) => session.dispatch({ kind: 'paste', text }));
  const drawn = (line: Line, key: number) => createElement(DrawnLine, { key, drawing: painted(line, HAS_COLOURS) });
  const lines = frame(model).map(drawn);
  return createElement(Box, { flexDirection: 'column', width: columns, height: rows }, lines);
}

/** A whole line with its styles is one node: a node for each of its spans would cost six times as much. */
const DrawnLine = memo(
  ({ drawing }: { drawing: string }): ReactElement => createElement(Text, { wrap: 'truncate' }, drawing),
);

const NAMED = {
  upArrow: 'up',
  downArrow: 'down',
  leftArrow: 'left',
  rightArrow: 'right',
  pageUp: 'pageup',
  pageDown: 'pagedown',
  home: 'home',
  end: 'end',
  return: 'enter',
  escape: 'escape',
  backspace: 'backspace',
  // What terminals send for the key above Enter.
  delete: 'backspace',
} as const;

/** The names of the keys that were pressed: where the program was busy or the line is slow, several come in one piece. */
function namesOf(input: string, key: Key): string[] {
  if (key.tab) return [key.shift ? 'shift+tab' : 'tab'];
  for (const [field, name] of Object.entries(NAMED)) if (key[field as keyof typeof NAMED]) return [name];
  if (key.ctrl) return [`ctrl+${input}`];
  return key.meta ? [] : [...input].map(nameOf);
}

const CONTROLS: Readonly<Record<string, string>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\b': 'backspace',
  '\u007f': 'backspace',
};
/** Ctrl-A is 1, Ctrl-Z is 26. */
const LETTERS_OF_CONTROLS = 0x60;

function nameOf(character: string): string {
  if (character >= ' ' && character !== '\u007f') return character;
  return CONTROLS[character] ?? `ctrl+${String.fromCharCode(character.charCodeAt(0) + LETTERS_OF_CONTROLS)}`;
}
