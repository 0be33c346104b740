/**
 * Runs commands in a process that all commands of a test process share: to start one takes a hundred
 * times as long as a command.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Result } from './cli.ts';
import type { CommandOrder, CommandResult } from './command-process.ts';
import { bounded } from './wait.ts';

const SCRIPT = fileURLToPath(new URL('./command-process.ts', import.meta.url));

type Waiting = Map<number, PromiseWithResolvers<Result>>;

let shared: { readonly child: ChildProcess; readonly waiting: Waiting } | undefined;
let orders = 0;

/**
 * What the program prints, and its exit status. Throws when the process ends over it, or it takes
 * too long.
 */
export async function runShared(order: Omit<CommandOrder, 'number'>): Promise<Result> {
  shared ??= start();
  const { child, waiting } = shared;
  const number = ++orders;
  const result = Promise.withResolvers<Result>();
  waiting.set(number, result);
  hold(child, true);
  child.send({ ...order, number } satisfies CommandOrder);
  try {
    return await bounded(result.promise, `inf-gw ${order.words.join(' ')}`);
  } finally {
    waiting.delete(number);
    if (waiting.size === 0) hold(child, false);
  }
}

function start() {
  // What it prints itself belongs to the tests' output.
  const child = fork(SCRIPT, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], execArgv: [] });
  const waiting: Waiting = new Map();
  child.on('message', ({ number, status, stdout, stderr }: CommandResult) =>
    waiting.get(number)?.resolve({ status, stdout, stderr }),
  );
  child.once('exit', (status, signal) => {
    shared = undefined;
    for (const { reject } of waiting.values()) reject(new Error(`the commands' process ended: ${signal ?? status}`));
  });
  process.once('exit', () => child.kill('SIGKILL'));
  return { child, waiting };
}

/** Only while a command runs does its process keep the tests from ending. */
function hold(child: ChildProcess, isHeld: boolean): void {
  if (isHeld) {
    child.ref();
    child.channel?.ref();
  } else {
    child.unref();
    child.channel?.unref();
  }
}
