/** Notices that npm, which started this process, has ended. */
import { isUnderNpm, PARENT_PID } from '../core/program.ts';

/** Reading the id of the parent is one system call. */
const CHECK_MS = 250;

/**
 * Calls `onGone` once the parent process is gone, if npm or npx started this one. They run it in a
 * shell, and a SIGTERM ends npm and that shell without reaching what runs in it. The system then
 * gives the process another parent, which is what is watched: stdin may stay open, and a process
 * without npm may outlive the shell that started it on purpose.
 */
export function watchNpm(onGone: () => void): void {
  if (!isUnderNpm) return;
  const timer = setInterval(() => {
    if (process.ppid === PARENT_PID) return;
    clearInterval(timer);
    onGone();
  }, CHECK_MS);
  timer.unref();
}
