/** The command line: gathers the commands, and turns what goes wrong into one line and an exit status. */

import { Command, CommanderError } from 'commander';
import { UserError } from '../core/errors.ts';
import { VERSION } from '../core/program.ts';
import { notice } from './output.ts';

type Register = (program: Command) => void;

/** The commands, in the order in which they are listed. Each is loaded when it is asked for: together they take 50 ms. */
const COMMANDS: Readonly<Record<string, () => Promise<Register>>> = {
  serve: async () => (await import('./serve.ts')).registerServe,
  status: async () => (await import('./status.ts')).registerStatus,
  reload: async () => (await import('./status.ts')).registerReload,
  tui: async () => (await import('./tui.ts')).registerTui,
  keys: async () => (await import('./keys.ts')).registerKeys,
  limits: async () => (await import('./limits.ts')).registerLimits,
  allowlist: async () => (await import('./allowlist.ts')).registerAllowlist,
  credit: async () => (await import('./credit.ts')).registerCredit,
  usage: async () => (await import('./usage.ts')).registerUsage,
  requests: async () => (await import('./requests.ts')).registerRequests,
  models: async () => (await import('./models.ts')).registerModels,
  config: async () => (await import('./config.ts')).registerConfig,
  audit: async () => (await import('./audit.ts')).registerAudit,
};

const FAILED = 1;
const WRONG_WORDS = 2;

/** Before the name of a command, this is about all of them. */
const HELP = ['-h', '--help'];

/** The program with those of its commands that the words need: all of them, unless they begin with the name of one. */
export async function buildProgram(words: readonly string[] = []): Promise<Command> {
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
  const name = words.some((word) => HELP.includes(word)) ? undefined : firstWord(words);
  const needed = name !== undefined && Object.hasOwn(COMMANDS, name) ? [name] : Object.keys(COMMANDS);
  for (const each of needed) (await (COMMANDS[each] as () => Promise<Register>)())(program);
  return program;
}

/** The first word that is no option, and not the value of one. */
function firstWord(words: readonly string[]): string | undefined {
  return words.find((word, i) => !word.startsWith('-') && !['-c', '--config'].includes(words[i - 1] ?? ''));
}

/** Runs the command that the words name, and sets the exit status. */
export async function main(words: readonly string[]): Promise<void> {
  // A reader that has seen enough, such as head, closes the pipe: no fault.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : FAILED));
  try {
    const program = await buildProgram(words);
    await program.parseAsync(words, { from: 'user' });
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
