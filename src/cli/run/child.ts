/** Runs a command as a shell would: with this terminal, its signals and its exit status. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';

/** The end of a command, with the exit status that a shell would report. */
export interface Ending {
  readonly status: number;
  /** The signal that ended it, if any. */
  readonly signal: NodeJS.Signals | undefined;
  /** The reason why it could not be started, if so. */
  readonly problem: string | undefined;
}

const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

export function statusOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** Runs a command, and forwards the signals that this process receives. */
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

/** A terminal sends these signals to all processes in its foreground, so the command receives them directly. */
const OF_TERMINALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT', 'SIGTSTP', 'SIGWINCH'];
const OTHERS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGCONT'];
/** Signals that end this process if no command runs to receive them. */
const STOPS: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP']);

/** Handles the signals of this process: from its creation on, no signal ends the process directly. */
export class Signals {
  #child: ChildProcess | undefined;
  /** Whether this process stopped the command, rather than the terminal. */
  #hasSuspended = false;
  readonly #hasTerminal = [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY);
  /** Called for each signal that ends the run while no command runs. */
  onStop: (signal: NodeJS.Signals) => void = () => {};

  constructor() {
    for (const signal of [...OF_TERMINALS, ...OTHERS]) process.on(signal, () => this.#onSignal(signal));
    process.on('SIGCHLD', () => this.#onChildChange());
  }

  /** Forwards signals to a command from now on. Returns a function that ends this. */
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
   * A command that is suspended, for example by Ctrl-Z, suspends this process too: otherwise the shell would wait for it
   * without a prompt. The command comes first, since it may restore the terminal.
   */
  #onChildChange(): void {
    const pid = this.#child?.pid;
    if (pid === undefined || !(this.#hasTerminal || this.#hasSuspended) || !isStopped(pid)) return;
    this.#hasSuspended = false;
    suspendSelf();
  }
}

/** Suspends this process until SIGCONT. */
function suspendSelf(): void {
  process.kill(process.pid, 'SIGSTOP');
}

/** A system without /proc does not show that a command has suspended itself. */
const CAN_SEE_STOPS = process.platform === 'linux';

function isStopped(pid: number): boolean {
  return statOf(pid)?.[0] === 'T';
}

/** Whether the terminal sends its signals to this process. */
function isInForeground(): boolean {
  const [, , group, , terminal, foreground] = statOf('self') ?? [];
  if (group === undefined) return process.stdin.isTTY;
  return terminal !== '0' && group === foreground;
}

/** Fields of /proc/PID/stat: state, parent, process group, session, terminal, the terminal's foreground group, and more. */
function statOf(pid: number | 'self'): readonly string[] | undefined {
  try {
    // The program's name precedes these fields in parentheses, and may contain any character.
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
  } catch {
    return undefined;
  }
}
