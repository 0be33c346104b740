/** Runs a command as a shell would: with this terminal, the signals that are meant for it, and its exit status. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';

/** How a command ended, with the status that a shell would give. */
export interface Ending {
  readonly status: number;
  /** What ended it, if a signal did. */
  readonly signal: NodeJS.Signals | undefined;
  /** Why it could not be started, if so. */
  readonly problem: string | undefined;
}

const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

export function statusOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** Runs a command, and passes on the signals that this process gets meanwhile. */
export async function runCommand(
  [file = '', ...args]: readonly string[],
  environment: NodeJS.ProcessEnv,
  signals: Pick<Signals, 'attach'>,
): Promise<Ending> {
  try {
    const child = spawn(file, args, { stdio: 'inherit', env: environment });
    const detach = signals.attach(child);
    try {
      return await new Promise((resolve, reject) => {
        child.once('error', reject);
        child.once('exit', (code, signal) =>
          resolve({
            status: signal === null ? (code ?? 1) : statusOf(signal),
            signal: signal ?? undefined,
            problem: undefined,
          }),
        );
      });
    } finally {
      detach();
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { status: NOT_FOUND, signal: undefined, problem: 'command not found' };
    const problem = code === 'EACCES' ? 'permission denied, or not a program' : message;
    return { status: NOT_EXECUTABLE, signal: undefined, problem };
  }
}

/** A terminal sends these to all processes in its foreground, so the command has them as well. */
const OF_TERMINALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT', 'SIGTSTP', 'SIGWINCH'];
const OTHERS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGCONT'];
/** They ask this process to end when there is no command to pass them to. */
const STOPS: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP']);

/** The signals of this process: none of them ends it from now on. */
export class Signals {
  #child: ChildProcess | undefined;
  /** Whether the command was told to stop by this process, rather than by its terminal. */
  #hasSuspended = false;
  readonly #hasTerminal = [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY);
  /** Called for each signal that asks to stop while no command runs. */
  onStop: (signal: NodeJS.Signals) => void = () => {};

  constructor() {
    for (const signal of [...OF_TERMINALS, ...OTHERS]) process.on(signal, () => this.#onSignal(signal));
    process.on('SIGCHLD', () => this.#onChildChange());
  }

  /** Signals go to a command from now on. Returns how to end that. */
  attach(child: ChildProcess): () => void {
    this.#child = child;
    return () => {
      this.#child = undefined;
    };
  }

  #onSignal(signal: NodeJS.Signals): void {
    const child = this.#child;
    if (child === undefined) {
      if (signal === 'SIGTSTP') suspendSelf();
      else if (STOPS.has(signal)) this.onStop(signal);
      return;
    }
    if (OF_TERMINALS.includes(signal) && isInForeground()) {
      if (signal === 'SIGTSTP' && !CAN_SEE_STOPS) suspendSelf();
      return;
    }
    this.#hasSuspended ||= signal === 'SIGTSTP';
    child.kill(signal);
  }

  /**
   * A command that has stopped, by Ctrl-Z say, takes this process with it: the shell waits for this one, and would
   * never give its prompt. Not before the command has stopped, since it may have to restore the terminal first.
   */
  #onChildChange(): void {
    const pid = this.#child?.pid;
    if (pid === undefined || !(this.#hasTerminal || this.#hasSuspended) || !isStopped(pid)) return;
    this.#hasSuspended = false;
    suspendSelf();
  }
}

/** Until SIGCONT. */
function suspendSelf(): void {
  process.kill(process.pid, 'SIGSTOP');
}

/** Where the system has no /proc, nothing tells that a command has stopped by itself. */
const CAN_SEE_STOPS = process.platform === 'linux';

function isStopped(pid: number): boolean {
  return statOf(pid)?.[0] === 'T';
}

/** Whether this process gets what its terminal sends. */
function isInForeground(): boolean {
  const [, , group, , terminal, foreground] = statOf('self') ?? [];
  if (group === undefined) return process.stdin.isTTY;
  return terminal !== '0' && group === foreground;
}

/** From /proc: state, parent, process group, session, terminal, the foreground group of that, and more. */
function statOf(pid: number | 'self'): readonly string[] | undefined {
  try {
    // The name of the program stands before them in parentheses, and may contain any character.
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
  } catch {
    return undefined;
  }
}
