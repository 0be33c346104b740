/** The command line: gathers the commands, and turns what goes wrong into one line and an exit status. */
import { Command, CommanderError } from 'commander';
import { UserError } from '../core/errors.ts';
import { VERSION } from '../program.ts';
import { registerAllowlist } from './allowlist.ts';
import { registerAudit } from './audit.ts';
import { registerConfig } from './config.ts';
import { registerCredit } from './credit.ts';
import { registerKeys } from './keys.ts';
import { registerLimits } from './limits.ts';
import { registerModels } from './models.ts';
import { notice } from './output.ts';
import { registerRequests } from './requests.ts';
import { registerServe } from './serve.ts';
import { registerStatus } from './status.ts';
import { registerTui } from './tui.ts';
import { registerUsage } from './usage.ts';

const FAILED = 1;
const WRONG_WORDS = 2;

/** The program with all its commands. */
export function buildProgram(): Command {
  const program = new Command('inf-gw')
    .description('A self-hosted gateway to language models: exact limits, durable spend, one process and one file.')
    .version(VERSION, '-V, --version', 'print the version')
    .option('-c, --config <file>', 'the config file (default: $INF_GW_CONFIG, then ./config.yaml)')
    .option('--json', 'print one JSON document')
    .configureOutput({
      // Suggestions come on lines of their own; a fault is one line.
      outputError: (text, write) =>
        write(`${text.trim().replaceAll(/\s*\n\s*/g, ' ')} (add --help for what there is)\n`),
    })
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .addHelpText(
      'after',
      '\nExamples:\n  inf-gw serve                        run the gateway\n  inf-gw keys create my-app           make a key\n  inf-gw credit add 25                pay for requests\n  inf-gw usage --by key --since 7d    see who used what',
    );
  registerServe(program);
  registerStatus(program);
  registerTui(program);
  registerKeys(program);
  registerLimits(program);
  registerAllowlist(program);
  registerCredit(program);
  registerUsage(program);
  registerRequests(program);
  registerModels(program);
  registerConfig(program);
  registerAudit(program);
  return program;
}

/** Runs the command that the words name, and sets the exit status. */
export async function main(words: readonly string[]): Promise<void> {
  // A reader that has seen enough, such as head, closes the pipe: no fault.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : FAILED));
  try {
    await buildProgram().parseAsync(words, { from: 'user' });
  } catch (error) {
    process.exitCode = exitStatusOf(error);
  }
}

function exitStatusOf(error: unknown): number {
  // Commander has printed its own message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_WORDS;
  if (error instanceof UserError) for (const line of error.lines) notice(`error: ${line}`);
  else
    notice(`error: fault of the program: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return FAILED;
}
