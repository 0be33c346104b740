/**
 * Real terminals: a shell in tmux. Tests start the dashboard in it, press keys, and read the
 * screen.
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { PATHS, PROGRAM, Workplace } from './cli.ts';
import { fitsLine, TmuxClient } from './tmux-client.ts';
import { until } from './wait.ts';

const run = promisify(execFile);

/** Much longer than it takes to draw anything, even on a busy machine. */
const LIMIT_MS = 60_000;
/** The time between two reads of the screen, initial and maximal: long enough for most redraws. */
const FIRST_PAUSE_MS = 30;
const MOST_PAUSE_MS = 100;
/** The prompt of the shell. */
const PROMPT = 'ready>';
/** Starts the dashboard, writes down its process id, and prints its exit status. */
const SCRIPT = `sh -c 'echo $$ > dashboard.pid; exec "$NODE" $NODE_FLAGS "$PROGRAM" tui'
echo "the dashboard ended with $?"
`;

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export const SMALL: Size = { columns: 80, rows: 24 };
export const LARGE: Size = { columns: 160, rows: 50 };

/** State of the terminal that a program can leave behind. */
export interface Settings {
  readonly alternateScreen: boolean;
  readonly cursorVisible: boolean;
  readonly mouse: boolean;
  readonly applicationKeys: boolean;
}

/** Anything that runs clean-ups at its end: a test, or a suite. */
interface Scope {
  after(cleanUp: () => void | Promise<void>): void;
}

/** A workplace with a terminal. */
export class Desk {
  readonly place: Workplace;
  readonly #socket: string;
  #client: TmuxClient | undefined;

  /** Opens the terminal, with a shell that waits for commands. */
  static async open(scope: Scope, size: Size = SMALL, config?: string): Promise<Desk> {
    const desk = new Desk(scope, config);
    await desk.#start(size);
    return desk;
  }

  private constructor(scope: Scope, config?: string) {
    // All processes in the directory must have exited before the workplace removes it.
    scope.after(() => this.close());
    this.place = new Workplace(scope, config);
    this.#socket = join(this.place.directory, 'tmux.sock');
  }

  async #start({ columns, rows }: Size): Promise<void> {
    this.place.write('dashboard', SCRIPT);
    this.place.write('profile', `PS1='${PROMPT} '\n`);
    const options = ['status off', 'set-clipboard on', 'default-terminal tmux-256color'];
    const settings = options.flatMap((option) => ['set-option', '-g', ...option.split(' '), ';']);
    const session = ['new-session', '-d', '-x', String(columns), '-y', String(rows), 'sh'];
    await this.#tmux('start-server', ';', ...settings, ...session);
    this.#client = new TmuxClient(this.#command, this.#options);
    await this.shows(new RegExp(`^${PROMPT}`, 'm'));
  }

  /** Closes the window, as a click would. Throws if a process is left in it after a minute. */
  async close(): Promise<void> {
    const processes = await this.#tmux('display-message', '-p', '#{pane_pid}').catch(() => '');
    await this.#tmux('kill-server').catch(() => {});
    const left = [Number(processes), this.#pid].filter((pid) => pid > 0);
    await until(() => !left.some(isAlive));
  }

  /** Types a line into the shell. */
  async command(line: string): Promise<void> {
    await this.type(line);
    await this.press('Enter');
  }

  /** Waits for the shell. What is typed before its prompt stands above it. */
  async prompts(): Promise<void> {
    await this.shows(new RegExp(`(?:^|\n)${PROMPT}\\s*$`));
  }

  /** Starts the dashboard, and waits until it has drawn its screen. */
  async dashboard(assignments = ''): Promise<void> {
    await this.prompts();
    await this.command(`${assignments} sh dashboard`.trim());
    await this.shows(/1 Overview/);
  }

  /** The process id of the dashboard that was started last. */
  get pid(): number {
    return Number(this.place.read('dashboard.pid'));
  }

  /** Types a text, faster than any keyboard. */
  async type(text: string): Promise<void> {
    await this.#ask('send-keys', '-l', '--', text);
  }

  /** Presses keys one after another, by their names in tmux. */
  async press(...keys: string[]): Promise<void> {
    await this.#ask('send-keys', '--', ...keys);
  }

  /** Writes to the terminal as another process would. */
  async writtenByOthers(text: string): Promise<void> {
    writeFileSync((await this.#ask('display-message', '-p', '#{pane_tty}')).trim(), text);
  }

  async resize({ columns, rows }: Size): Promise<void> {
    await this.#ask('resize-window', '-x', String(columns), '-y', String(rows));
  }

  /** The lines of the screen. */
  screen(): Promise<string> {
    return this.#ask('capture-pane', '-p');
  }

  /** Like `screen`, with the escape sequences for colours and the like. */
  styledScreen(): Promise<string> {
    return this.#ask('capture-pane', '-p', '-e');
  }

  /** Waits until the screen matches the pattern, and returns it. */
  shows(pattern: RegExp): Promise<string> {
    return this.#seen((screen) => pattern.test(screen), `shows ${pattern}`);
  }

  /** Waits until the screen no longer matches the pattern, and returns it. */
  hides(pattern: RegExp): Promise<string> {
    return this.#seen((screen) => !pattern.test(screen), `hides ${pattern}`);
  }

  async #seen(test: (screen: string) => boolean, what: string): Promise<string> {
    const deadline = performance.now() + LIMIT_MS;
    let last = '';
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(1.5 * pauseMs, MOST_PAUSE_MS)) {
      const screen = await this.screen();
      // A read may happen in the middle of a redraw.
      if (screen === last && test(screen)) return screen;
      last = screen;
      if (performance.now() > deadline) throw new Error(`no screen within ${LIMIT_MS} ms that ${what}:\n${screen}`);
      await pause(pauseMs);
    }
  }

  /** Waits until the shell is back, and returns the exit status of the dashboard. */
  async left(): Promise<number> {
    const screen = await this.shows(new RegExp(`the dashboard ended with \\d+\n${PROMPT}`));
    return Number(/.*the dashboard ended with (\d+)/s.exec(screen)?.[1]);
  }

  async settings(): Promise<Settings> {
    const fields = ['alternate_on', 'cursor_flag', 'mouse_any_flag', 'keypad_cursor_flag'];
    const text = await this.#ask('display-message', '-p', fields.map((field) => `#{${field}}`).join(' '));
    const [alternateScreen, cursorVisible, mouse, applicationKeys] = text.split(' ').map((flag) => Number(flag) === 1);
    return { alternateScreen, cursorVisible, mouse, applicationKeys } as Settings;
  }

  /** The contents of the clipboard. */
  clipboard(): Promise<string> {
    return this.#tmux('show-buffer');
  }

  get #pid(): number {
    try {
      return Number(readFileSync(join(this.place.directory, 'dashboard.pid'), 'utf8'));
    } catch {
      return 0;
    }
  }

  get #command(): string[] {
    return ['tmux', '-u', '-S', this.#socket, '-f', '/dev/null'];
  }

  get #options() {
    // An interactive shell reads ENV first.
    const env = { ...PATHS, LANG: 'C.UTF-8', NODE: process.execPath, PROGRAM, ENV: 'profile' };
    return { cwd: this.place.directory, env };
  }

  /** Runs a command of tmux in a process of its own. */
  async #tmux(...words: string[]): Promise<string> {
    const [program = '', ...own] = this.#command;
    return (await run(program, [...own, ...words], this.#options)).stdout;
  }

  /** Runs a command of tmux by the client that is connected, if it can. */
  #ask(...words: string[]): Promise<string> {
    return this.#client !== undefined && fitsLine(words) ? this.#client.run(words) : this.#tmux(...words);
  }
}

/** Whether a process is running. A zombie has exited. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !existsSync('/proc/self/stat') || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
