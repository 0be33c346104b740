/**
 * The command line of `inf-gw serve` alone. The build makes one script of it: what it shares with the other commands would else
 * be in some forty modules more, which take a fifth of a start.
 */
import { prepareProcess, run } from './program.ts';
import { registerServe } from './serve.ts';

/** Serves, and sets the exit status. */
export async function main(args: readonly string[]): Promise<void> {
  prepareProcess();
  await run({ serve: async () => registerServe }, args);
}
