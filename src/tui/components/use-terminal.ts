/** Terminal handling other than frames: repaints over other programs' output, and suspending to the shell. */
import { once } from 'node:events';
import { useApp, useStdout } from 'ink';
import { useCallback, useEffect, useRef } from 'react';
import { MOUSE_OFF, MOUSE_ON } from './clickable.ts';

/**
 * Interval of full repaints, which remove text that other programs wrote. It is long because drawing clears a
 * selection.
 */
const REPAINT_MS = 30_000;
/** Disables line wrapping: the terminal may draw a character wider than Ink measures it. */
const WRAP_OFF = '\u001b[?7l';
const WRAP_ON = '\u001b[?7h';
/**
 * Resets the terminal before a full repaint: another program may have shown the cursor, set a scroll region, switched
 * the character set, or disabled bracketed paste.
 */
const RECLAIM = `\u001b[0m\u001b[?25l\u001b[r\u001b(B\u000f\u001b[?2004h${WRAP_OFF}\u001b[H\u001b[J`;
/** A process group without a controlling shell cannot be stopped; the dashboard resumes after this time. */
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
  /** Restores the terminal, runs `whileAway`, and takes the terminal again. */
  const leave = useCallback(
    async (whileAway: () => Promise<void>) => {
      if (isAway.current) return;
      isAway.current = true;
      stdout.write(hasMouse ? MOUSE_OFF + WRAP_ON : WRAP_ON);
      await suspendTerminal(whileAway);
      isAway.current = false;
      if (hasMouse) stdout.write(MOUSE_ON);
      repaint();
      // A resize signals only the foreground process group, so the dashboard missed any while it was suspended.
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
 * Stops the program on Ctrl-Z and SIGTSTP. Takes the terminal back whenever the program continues: SIGSTOP gives no
 * warning, and the shell has written to the screen since.
 */
function useSuspension(leave: (whileAway: () => Promise<void>) => Promise<void>): () => Promise<void> {
  const stop = useRef(async () => {});
  useEffect(() => {
    const onStop = () => void stop.current();
    const onContinue = () => void leave(async () => {});
    stop.current = () =>
      leave(async () => {
        // A process with a listener for the signal does not stop.
        process.off('SIGTSTP', onStop);
        const continued = once(process, 'SIGCONT', { signal: AbortSignal.timeout(NOT_STOPPED_MS) }).catch(() => {});
        // Signals the whole process group, as the terminal itself would: a parent program that waits for this one
        // stops as well.
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
