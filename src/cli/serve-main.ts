/**
 * The command line of `inf-gw serve`, which the build bundles into one script. Split modules shared with other commands
 * would make a start a fifth slower.
 */
import { prepareProcess, run } from './program.ts';
import { registerServe } from './serve.ts';

/** Serves, and sets the exit status. */
export async function main(args: readonly string[]): Promise<void> {
  prepareProcess();
  await run({ serve: async () => registerServe }, args);
}
