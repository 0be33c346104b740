/** The terminal: Ink draws the lines of the frame and reports the keys that are pressed. */
import { Box, type Key, render, Text, useInput, usePaste, useWindowSize } from 'ink';
import { createElement, memo, type ReactElement, useEffect, useSyncExternalStore } from 'react';
import type { Line } from './draw/line.ts';
import { painted } from './draw/paint.ts';
import { frame } from './frame.ts';
import type { Session } from './session.ts';

/** As https://no-color.org asks. */
const HAS_COLOURS = (process.env.NO_COLOR ?? '') === '';

/** Draws until the session ends. */
export async function draw(session: Session): Promise<void> {
  // The alternate screen keeps the cursor's column, and the first line would start there.
  process.stdout.write('\r');
  const app = render(createElement(Screen, { session }), {
    alternateScreen: true,
    incrementalRendering: true,
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
  // Ink unmounts by itself if rendering throws.
  await Promise.race([session.ended, app.waitUntilExit()]).catch(onError);
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

/** One node for a line with all its styles: a node for each span would cost six times as much. */
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
  // What terminals send for the Backspace key.
  delete: 'backspace',
} as const;

/** The keys that were pressed: several at once if the program was busy or the link is slow. */
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
const CONTROL_TO_LETTER = 0x60;

function nameOf(character: string): string {
  if (character >= ' ' && character !== '\u007f') return character;
  return CONTROLS[character] ?? `ctrl+${String.fromCharCode(character.charCodeAt(0) + CONTROL_TO_LETTER)}`;
}
