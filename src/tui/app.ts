/** The terminal: Ink draws the dashboard of a session and reads its keys, until the session ends. */
import { type RenderOptions, render, usePaste, useWindowSize } from 'ink';
import { createElement as h, type ReactNode, useEffect, useRef } from 'react';
import { type Clicks, ClicksContext, clickAt, useMouse } from './components/clickable.ts';
import { Dashboard } from './components/dashboard.ts';
import { LookContext } from './components/styled.ts';
import { useKeys } from './components/use-keys.ts';
import { useModel } from './components/use-model.ts';
import { useTerminal } from './components/use-terminal.ts';
import type { Session } from './session.ts';
import { type Look, lookOf } from './theme.ts';

/** Maximum frame rate of Ink: a key press waits for the next frame. */
const MAX_FPS = 60;
export interface Streams {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/** The parts of a session that drawing needs. */
export type Drawn = Pick<Session, 'model' | 'subscribe' | 'dispatch' | 'end' | 'ended'>;

interface DrawOptions {
  readonly hasMouse?: boolean;
  readonly isScreenReader?: boolean;
  readonly look?: Look;
}

/** Draws the dashboard until the session ends. */
export async function draw(
  session: Drawn,
  { input, output }: Streams = { input: process.stdin, output: process.stdout },
  { hasMouse = false, isScreenReader = false, look = lookOf(process.env, 'dark') }: DrawOptions = {},
): Promise<void> {
  const options: RenderOptions = {
    stdin: input,
    stdout: output,
    // Otherwise Ink turns drawing off if the environment has a variable CI.
    interactive: true,
    // On the main screen a screen reader can also read the scrollback.
    alternateScreen: !isScreenReader,
    incrementalRendering: true,
    maxFps: MAX_FPS,
    exitOnCtrlC: false,
    patchConsole: false,
    isScreenReaderEnabled: isScreenReader,
  };
  const app = render(h(LookContext, { value: look }, h(App, { session, hasMouse, isScreenReader })), options);
  // Restores the terminal after an error.
  const onError = (error: Error) => {
    app.unmount();
    process.stderr.write(`error: internal error: ${error.stack ?? error.message}\n`);
    process.exit(1);
  };
  app.waitUntilExit().catch(onError);
  process.once('uncaughtException', onError);
  const onEnd = () => session.end();
  // Until Ink puts the terminal into raw mode, Ctrl-C raises SIGINT.
  process.once('SIGINT', onEnd).once('SIGTERM', onEnd).once('SIGHUP', onEnd);
  // Writing to a closed terminal can fail before SIGHUP arrives, or without it.
  output.on('error', onEnd);
  input.on('error', onEnd).on('end', onEnd);
  await session.ended;
  app.unmount();
  await app.waitUntilExit();
  process.off('uncaughtException', onError);
}

interface AppProps {
  readonly session: Drawn;
  readonly hasMouse: boolean;
  readonly isScreenReader: boolean;
}

function App({ session, hasMouse, isScreenReader }: AppProps): ReactNode {
  const { model, refresh } = useModel(session, isScreenReader);
  const clicks = useRef<Clicks>(new Map());
  const { columns, rows } = useWindowSize();
  const { repaint, suspend } = useTerminal({ hasMouse, isScreenReader });
  useEffect(() => {
    session.dispatch({ kind: 'resize', columns, rows });
    repaint();
  }, [session, columns, rows, repaint]);
  useKeys((key) => {
    if (key === 'ctrl+l') {
      refresh();
      repaint();
    } else if (key === 'ctrl+z') void suspend();
    else session.dispatch({ kind: 'key', key });
  });
  usePaste((text) => session.dispatch({ kind: 'paste', text }));
  useMouse((action, column, row) => {
    session.dispatch({ kind: 'mouse', action, on: clickAt(clicks.current, column, row) });
  }, hasMouse);
  return h(ClicksContext, { value: clicks.current }, h(Dashboard, { model }));
}
