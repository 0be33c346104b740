/** Shows how far slow work has come, on one line that is updated in place where a person is watching. */
import { count } from '../operator/format.ts';

/** Less is done too quickly for progress to be worth showing. */
const MANY_ROWS = 200_000;

/** Such as `read 1,000 of 2,000 journal rows`. Ends the line when all are done. */
export function showProgress(verb: string, done: number, of: number, noun: string): void {
  // The dashboard starts commands with a channel, and draws this itself.
  process.send?.({ done, of });
  if (of < MANY_ROWS || !process.stderr.isTTY) return;
  process.stderr.write(`\r${verb} ${count(done)} of ${count(of)} ${noun}${done >= of ? '\n' : ''}`);
}
