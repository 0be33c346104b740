/** The version of this program, how to type its name, and what started it. */
import { readFileSync } from 'node:fs';
import { isSea } from 'node:sea';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { shellWord } from './shell-word.ts';

/** Put here by the build. */
declare const BUILT_VERSION: string | undefined;

/** The version in package.json. */
export const VERSION: string =
  typeof BUILT_VERSION === 'string'
    ? BUILT_VERSION
    : JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;

/** Whether npm or npx started this process. */
export const isUnderNpm = process.env.npm_lifecycle_event !== undefined;

/** The process that started this one. Read early: it may end at any moment. */
export const PARENT_PID = process.ppid;

/**
 * The command for this program. Under `npm start` and the like it runs from a checkout, so it is
 * not on the PATH.
 */
export const PROGRAM = isUnderNpm ? 'npx inf-gw' : 'inf-gw';

/** What starts this program once more: the file to run, and the arguments before its own. */
export function ownCommand(): readonly [file: string, ...start: string[]] {
  const { execPath, argv } = process;
  // The executable is Node and the program in one.
  return isSea() ? [execPath] : [execPath, argv[1] as string];
}

/** Threads that start later have it, too. */
const GIVEN_CONFIG = 'inf-gw config';

/** Keeps the `-c` of this process's command for {@link program}; undefined for none. */
export function rememberConfig(path: string | undefined): void {
  setEnvironmentData(GIVEN_CONFIG, path);
}

/**
 * A command for the same installation, with the `-c` that this command was given, as it is typed in a shell. Without words:
 * how such a command begins. All messages name commands by this function.
 */
export function program(...words: string[]): string {
  return commandLine(words, getEnvironmentData(GIVEN_CONFIG) as string | undefined);
}

/** A command of this program as it is typed in a shell. `config`: at which path; the default one in this folder needs no mention. */
export function commandLine(words: readonly string[], config: string | undefined): string {
  const isDefault = config === undefined || config === `${process.cwd()}/config.yaml`;
  const all = isDefault ? words : ['-c', config, ...words];
  return [PROGRAM, ...all.map(shellWord)].join(' ');
}
