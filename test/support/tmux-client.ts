/**
 * A client of tmux that stays connected (its control mode): to start one for each key and each look at the screen takes longer
 * than what it does.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';

/** Lines of a client are commands, which such characters would end or change. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are meant.
const CONTROL = /[\x00-\x1f\x7f]/;
/** Around the output of a command: its time and its number, which agree at the beginning and the end, and whose it is. */
const MARK = /^%(begin|end|error) (\d+ \d+) (\d)$/;
/** Of a command that came from this client. */
const OURS = '1';

/** Whether these words fit into a line. */
export function fitsLine(words: readonly string[]): boolean {
  return !words.some((word) => CONTROL.test(word));
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

export class TmuxClient {
  readonly #child: ChildProcess;
  /** Answers that commands wait for, in order. */
  readonly #waiting: PromiseWithResolvers<string>[] = [];
  #rest = '';
  /** The command whose output is being read, and its lines so far. */
  #open: { readonly id: string; readonly isOurs: boolean; readonly lines: string[] } | undefined;
  #hasEnded = false;

  /** `words`: how to run tmux on a server that has a session. */
  constructor([program = '', ...words]: readonly string[], options: SpawnOptions) {
    const attach = ['-C', 'attach-session', '-f', 'no-output,ignore-size'];
    this.#child = spawn(program, [...words, ...attach], { ...options, stdio: ['pipe', 'pipe', 'ignore'] });
    this.#child.stdin?.on('error', () => {});
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#read(text));
    this.#child.once('close', () => {
      this.#hasEnded = true;
      for (const { reject } of this.#waiting.splice(0)) reject(new Error('tmux has ended'));
    });
  }

  /** Runs a command, and returns its output. */
  run(words: readonly string[]): Promise<string> {
    if (this.#hasEnded) return Promise.reject(new Error('tmux has ended'));
    const answer = Promise.withResolvers<string>();
    this.#waiting.push(answer);
    this.#child.stdin?.write(`${words.map(quoted).join(' ')}\n`);
    return answer.promise;
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#readLine(line);
  }

  #readLine(line: string): void {
    const [, kind, id = '', whose] = MARK.exec(line) ?? [];
    if (this.#open === undefined) {
      if (kind === 'begin') this.#open = { id, isOurs: whose === OURS, lines: [] };
      return;
    }
    if (kind === undefined || kind === 'begin' || id !== this.#open.id) return void this.#open.lines.push(line);
    const { isOurs, lines } = this.#open;
    this.#open = undefined;
    if (!isOurs) return;
    const answer = this.#waiting.shift();
    if (kind === 'end') answer?.resolve(lines.map((each) => `${each}\n`).join(''));
    else answer?.reject(new Error(`tmux: ${lines.join('\n')}`));
  }
}
