/** The version of this program, its command name, and the process that started it. */
import { readFileSync } from 'node:fs';
import { isSea } from 'node:sea';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { shellWord } from './shell-word.ts';

/** Defined by the build. */
declare const BUILT_VERSION: string | undefined;

/** The version in package.json. */
export const VERSION: string =
  typeof BUILT_VERSION === 'string'
    ? BUILT_VERSION
    : JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;

/** Whether npm or npx started this process. */
export const isUnderNpm = process.env.npm_lifecycle_event !== undefined;

/** The parent process. Read at startup: it may end at any moment. */
export const PARENT_PID = process.ppid;

/** The command name of this program. Under `npm start` and similar it runs from a checkout and is not on the PATH. */
export const PROGRAM = isUnderNpm ? 'npx inf-gw' : 'inf-gw';

/** Returns the command that restarts this program: the file to run, and the arguments that precede its own. */
export function ownCommand(): readonly [file: string, ...start: string[]] {
  const { execPath, argv } = process;
  // The executable contains both Node and the program.
  return isSea() ? [execPath] : [execPath, argv[1] as string];
}

/** Environment data is inherited by threads that start later. */
const GIVEN_CONFIG = 'inf-gw config';

/** Stores the `-c` of this process for {@link program}; undefined if not given. */
export function rememberConfig(path: string | undefined): void {
  setEnvironmentData(GIVEN_CONFIG, path);
}

/**
 * Formats a shell command for the same installation and the same `-c`. Without words it returns the beginning of a command. All
 * messages name commands through this function.
 */
export function program(...words: string[]): string {
  return commandLine(words, getEnvironmentData(GIVEN_CONFIG) as string | undefined);
}

/** Formats a shell command of this program. `config`: the path of the config, omitted if it is the default in this folder. */
export function commandLine(words: readonly string[], config: string | undefined): string {
  const isDefault = config === undefined || config === `${process.cwd()}/config.yaml`;
  const all = isDefault ? words : ['-c', config, ...words];
  return [PROGRAM, ...all.map(shellWord)].join(' ');
}
