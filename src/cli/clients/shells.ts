/** Formats variables and command arguments as lines for a shell. Pure. */
import { quoted } from '../../core/shell-word.ts';
import { KEY_VARIABLE } from './clients.ts';

export const SHELLS = ['bash', 'fish', 'powershell'] as const;
export type Shell = (typeof SHELLS)[number];

/** A placeholder for the key, which only the shell knows. */
export const KEY_OF_SHELL = `$${KEY_VARIABLE}`;

interface Syntax {
  /** `value` is quoted for the shell. */
  set(name: string, value: string): string;
  unset(name: string): string;
  word(text: string): string;
  /** A reference to the variable with the key. */
  readonly key: string;
  /** Defines a command of this name that gets `words` before its arguments. */
  command(name: string, words: readonly string[]): string;
}

const SYNTAX: Readonly<Record<Shell, Syntax>> = {
  bash: {
    set: (name, value) => `export ${name}=${value}`,
    unset: (name) => `unset ${name}`,
    word: quoted,
    key: `"$${KEY_VARIABLE}"`,
    command: (name, words) => `alias ${name}=${quoted([name, ...words.map(quoted)].join(' '))}`,
  },
  fish: {
    set: (name, value) => `set -gx ${name} ${value}`,
    // Erasing a universal variable is permanent and affects all shells. An empty one hides it, and clients treat it as
    // unset.
    unset: (name) => `set -eg ${name}; set -q ${name}; and set -gx ${name} ''`,
    word: fishWord,
    key: `"$${KEY_VARIABLE}"`,
    command: (name, words) => `alias ${name} ${fishWord([name, ...words.map(fishWord)].join(' '))}`,
  },
  powershell: {
    set: (name, value) => `$env:${name} = ${value}`,
    unset: (name) => `Remove-Item Env:${name} -ErrorAction Ignore`,
    word: powershellWord,
    key: `$env:${KEY_VARIABLE}`,
    command: (name, words) =>
      `function ${name} { & (Get-Command -CommandType Application ${name})[0] ${words.map(powershellWord).join(' ')} @args }`,
  },
};

/** The setup of a shell for a command. */
export interface ShellSetup {
  readonly variables: Readonly<Record<string, string>>;
  /** Variables to unset. */
  readonly without: readonly string[];
  /** Variables to set. */
  readonly name: string;
  /** Arguments to place before the user's. */
  readonly words: readonly string[];
}

export function shellLines(shell: Shell, { variables, without, name, words }: ShellSetup): string[] {
  const syntax = SYNTAX[shell];
  return [
    ...without.map((variable) => syntax.unset(variable)),
    ...Object.entries(variables).map(([variable, value]) =>
      syntax.set(variable, value === KEY_OF_SHELL ? syntax.key : syntax.word(value)),
    ),
    ...(words.length === 0 ? [] : [syntax.command(name, words)]),
  ];
}

function fishWord(text: string): string {
  return `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
}

function powershellWord(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
