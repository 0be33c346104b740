/**
 * Runs the commands that it is sent over IPC, one after the other, in their folders and with their
 * environments, and sends back what each printed and its exit status. It is the built program that
 * runs, as from a shell.
 */
import { Readable } from 'node:stream';
import type { Result } from './cli.ts';
import { setEnvironment } from './environment.ts';

export interface CommandOrder {
  readonly number: number;
  readonly words: readonly string[];
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  /** What it can read from stdin. */
  readonly input: string;
}

export interface CommandResult extends Result {
  readonly number: number;
}

const path = new URL('../../dist/cli/main.js', import.meta.url).href;
const { main } = (await import(path)) as typeof import('../../src/cli/main.ts');

let stdout = '';
let stderr = '';
process.stdout.write = (text) => {
  stdout += text;
  return true;
};
process.stderr.write = (text) => {
  stderr += text;
  return true;
};
// Each command adds a listener to stdout, and `serve` to the process, which usually ends with it.
process.stdout.setMaxListeners(0);
process.setMaxListeners(0);

async function run({ number, words, directory, environment, input }: CommandOrder): Promise<void> {
  Object.defineProperty(process, 'stdin', {
    value: Readable.from(input === '' ? [] : [Buffer.from(input)]),
    configurable: true,
  });
  process.chdir(directory);
  setEnvironment(environment);
  process.exitCode = 0;
  await main(words);
  const status = Number(process.exitCode);
  process.exitCode = 0;
  process.send?.({ number, status, stdout, stderr } satisfies CommandResult);
  stdout = '';
  stderr = '';
}

let last = Promise.resolve();
process.on('message', (order: CommandOrder) => {
  last = last.then(() => run(order));
});
