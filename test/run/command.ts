/** Runs a command as `run` does, with nothing around it. */
import { runCommand, Signals } from '../../src/cli/run/child.ts';

const { status } = await runCommand(process.argv.slice(2), process.env, new Signals());
process.exit(status);
