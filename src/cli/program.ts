/** Registers commands, and turns errors into lines and an exit status. */

import { type Command, CommanderError, Help } from 'commander';
import { hardenEnvironment } from '../core/environment.ts';
import { UserError } from '../core/errors.ts';
import { nearestWord } from '../core/likeness.ts';
import { rememberConfig, VERSION } from '../core/program.ts';
import { optionsOfDefault } from './command-tree.ts';
import { notice, printHelp } from './output.ts';
import { ThoroughCommand } from './thorough-command.ts';

export type Register = (program: Command) => void;
/** The loaders of commands by name, in the order of the help. */
export type Commands = Readonly<Record<string, () => Promise<Register>>>;

const FAILED = 1;
const USAGE_ERROR = 2;

/** Before a command, these options print the help of the whole program. */
const HELP = ['-h', '--help'];
/** This option needs no command. */
const VERSION_OPTIONS = ['-V', '--version'];

/** The program with the command that `args` name. Without one, or for the help, it has all given commands. */
export async function programOf(commands: Commands, args: readonly string[]): Promise<Command> {
  const program = new ThoroughCommand('inf-gw')
    .description('A self-hosted gateway to language models: exact limits, durable spend, one process and one file.')
    .version(VERSION, VERSION_OPTIONS.join(', '), 'print the version')
    .option('-c, --config <file>', 'the config file (default: $INF_GW_CONFIG, then ./config.yaml)')
    .option('--json', 'print one JSON document')
    .configureOutput({
      writeOut: printHelp,
      // A value may contain line breaks, and an error is one line.
      outputError: (text) => {
        const line = text.trim().replaceAll(/\s*\n\s*/g, ' ');
        notice(`${line} (see --help)`);
      },
    })
    .configureHelp({
      showGlobalOptions: true,
      visibleOptions: (command) => [...optionsOfDefault(command), ...new Help().visibleOptions(command)],
    })
    .exitOverride()
    .addHelpText(
      'after',
      '\nExamples:\n  inf-gw init                         write a first config\n  inf-gw serve                        run the gateway\n  inf-gw keys create my-app           create a key\n  inf-gw credit add 25                add credit to pay for requests\n  inf-gw usage --by key --since 7d    see who used what',
    );
  const own = ownWords(args);
  const name = own.some((arg) => HELP.includes(arg)) ? undefined : operandsOf(own)[0];
  const isAlone = name !== undefined && Object.hasOwn(commands, name);
  const isVersion = VERSION_OPTIONS.includes(own[0] ?? '');
  const needed = isAlone ? [name] : isVersion ? [] : Object.keys(commands);
  for (const each of needed) (await (commands[each] as () => Promise<Register>)())(program);
  for (const group of program.commands) group.commands.find((each) => each.name() === 'list')?.alias('ls');
  return program;
}

/** The arguments before the command that `run` starts. */
function ownWords(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return end < 0 ? args : args.slice(0, end);
}

/** The arguments without options and the values of global options. */
function operandsOf(args: readonly string[]): string[] {
  return args.filter((arg, i) => !arg.startsWith('-') && !['-c', '--config'].includes(args[i - 1] ?? ''));
}

/** Ends with a usage error if `args` name a command that does not exist. */
function refuseUnknown(program: Command, args: readonly string[]): void {
  const own = ownWords(args);
  const options = own.findIndex((arg) => arg.startsWith('-') && !isGlobal(arg));
  let command = program;
  for (const word of operandsOf(options < 0 ? own : own.slice(0, options))) {
    // After a command without subcommands, further words are arguments.
    if (command.commands.length === 0) return;
    if (word === 'help') continue;
    const found = command.commands.find((each) => each.name() === word || each.aliases().includes(word));
    if (found === undefined) return unknownCommand(command, word);
    command = found;
  }
}

/** Commander would pass the word to the default subcommand, or print the help as if the command were valid. */
function unknownCommand(group: Command, word: string): void {
  const names = group.commands.map((each) => each.name());
  const meant = nearestWord(word.toLowerCase(), names);
  const place = group.parent === null ? '' : ` of ${group.name()}, which has ${names.join(', ')}`;
  group.error(`error: unknown command '${word}'${meant === undefined ? place : `; did you mean ${meant}?`}`);
}

function isGlobal(option: string): boolean {
  return option === '--json' || option === '-c' || option.startsWith('--config');
}

/** Must be called before any other output. */
export function prepareProcess(): void {
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    // A reader such as `head` closes the pipe early, which is not an error.
    if (code === 'EPIPE') process.exit(0);
    notice(`error: cannot write to standard output (${code ?? message}); what the command has changed stands`);
    process.exit(FAILED);
  });
}

/** Runs the command that the arguments name, and sets the exit status. */
export async function run(commands: Commands, args: readonly string[]): Promise<void> {
  try {
    for (const line of await hardenEnvironment()) notice(line);
    const program = await programOf(commands, args);
    program.hook('preAction', (_, command) => rememberConfig(command.optsWithGlobals<{ config?: string }>().config));
    refuseUnknown(program, args);
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    process.exitCode = exitStatusOf(error);
  } finally {
    rememberConfig(undefined);
  }
}

function exitStatusOf(error: unknown): number {
  // Commander has already printed its message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_ERROR;
  if (error instanceof UserError) for (const line of error.lines) notice(`error: ${line}`);
  else for (const line of internalError(error).split('\n')) notice(line);
  return FAILED;
}

function internalError(error: unknown): string {
  return `error: internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
