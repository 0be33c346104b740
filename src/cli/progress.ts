/** Shows the progress of slow work on one line, which is updated in place on a terminal. */
import { count } from '../operator/format.ts';

/** Smaller amounts of work finish before progress is readable. */
const MANY_ROWS = 200_000;

/** Shows `read 1,000 of 2,000 journal rows`, and ends the line when all work is done. */
export function showProgress(verb: string, done: number, of: number, noun: string): void {
  // The dashboard starts commands with a channel, and draws the progress itself.
  process.send?.({ done, of });
  if (of < MANY_ROWS || !process.stderr.isTTY) return;
  process.stderr.write(`\r${verb} ${count(done)} of ${count(of)} ${noun}${done >= of ? '\n' : ''}`);
}
