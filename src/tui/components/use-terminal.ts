/** The needs of a terminal besides frames: repaints over the text of other programs, and the way to the shell and back. */
import { once } from 'node:events';
import { useApp, useStdout } from 'ink';
import { useCallback, useEffect, useRef } from 'react';
import { MOUSE_OFF, MOUSE_ON } from './clickable.ts';

/** Text that another program has written on the screen stays there at most so long. Rarely: to draw ends a selection. */
const REPAINT_MS = 30_000;
/** No line wraps: a terminal may show a character wider than it is here. */
const WRAP_OFF = '\u001b[?7l';
const WRAP_ON = '\u001b[?7h';
/**
 * Before a full repaint: another program may have shown the cursor, set a scroll region, switched to another character
 * set, or turned off the marks around pasted text.
 */
const RECLAIM = `\u001b[0m\u001b[?25l\u001b[r\u001b(B\u000f\u001b[?2004h${WRAP_OFF}\u001b[H\u001b[J`;
/** A process group that no shell controls cannot be stopped. After this long without a stop it goes on. */
const NOT_STOPPED_MS = 100;

interface TerminalOptions {
  readonly hasMouse: boolean;
  readonly isScreenReader: boolean;
}

/** Ink's `write` draws the whole frame after these bytes. */
export function useTerminal({ hasMouse, isScreenReader }: TerminalOptions) {
  const { suspendTerminal } = useApp();
  const { stdout, write } = useStdout();
  const isAway = useRef(false);
  const repaint = useCallback(() => {
    if (!isScreenReader && !isAway.current) write(RECLAIM);
  }, [write, isScreenReader]);
  /** Gives the terminal back as it was, and takes it again after `whileAway`. */
  const leave = useCallback(
    async (whileAway: () => Promise<void>) => {
      if (isAway.current) return;
      isAway.current = true;
      stdout.write(hasMouse ? MOUSE_OFF + WRAP_ON : WRAP_ON);
      await suspendTerminal(whileAway);
      isAway.current = false;
      if (hasMouse) stdout.write(MOUSE_ON);
      repaint();
      // Only the group in the foreground gets SIGWINCH.
      process.kill(process.pid, 'SIGWINCH');
    },
    [suspendTerminal, stdout, hasMouse, repaint],
  );
  const suspend = useSuspension(leave);
  useEffect(() => {
    const timer = setInterval(repaint, REPAINT_MS);
    return () => {
      clearInterval(timer);
      stdout.write(WRAP_ON);
    };
  }, [stdout, repaint]);
  return { repaint, suspend };
}

/**
 * Stops the program on Ctrl-Z and SIGTSTP, and takes the terminal back whenever the program is continued: a SIGSTOP
 * gives no warning, and the shell has written to the screen since.
 */
function useSuspension(leave: (whileAway: () => Promise<void>) => Promise<void>): () => Promise<void> {
  const stop = useRef(async () => {});
  useEffect(() => {
    const onStop = () => void stop.current();
    const onContinue = () => void leave(async () => {});
    stop.current = () =>
      leave(async () => {
        // A process that listens to the signal does not stop.
        process.off('SIGTSTP', onStop);
        const continued = once(process, 'SIGCONT', { signal: AbortSignal.timeout(NOT_STOPPED_MS) }).catch(() => {});
        // The whole group, as the terminal itself would: a program that has started this one waits for it.
        process.kill(0, 'SIGTSTP');
        await continued;
        process.on('SIGTSTP', onStop);
      });
    process.on('SIGTSTP', onStop).on('SIGCONT', onContinue);
    return () => {
      process.off('SIGTSTP', onStop).off('SIGCONT', onContinue);
    };
  }, [leave]);
  return useCallback(() => stop.current(), []);
}
