/** A running gateway, in a process of its own or in that of the test: its log, its address, and requests to it. */
import type { ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import { bounded } from './wait.ts';

/** The lines of a text, without the empty one after the last line break. */
export function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

/** A log line of `serve`. */
export interface LogLine {
  readonly level: string;
  readonly time: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** How a process has ended. */
export interface End {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A gateway that runs, as `serve` runs it. */
export abstract class Serving {
  /** Its stderr so far. */
  text = '';
  /** Its stdout so far. */
  output = '';
  readonly #news = new EventEmitter();
  /** Its exit. */
  #end: string | undefined;
  #port: number | undefined;

  /** Resolves when it has ended and all its output has been read. */
  abstract readonly ended: Promise<End>;
  abstract readonly pid: number;
  abstract signal(signal: NodeJS.Signals): void;
  /** Ends it, whatever it is doing, unless it has ended. */
  abstract discard(): Promise<void>;

  protected noteLines(lines: string): void {
    this.text += lines;
    this.#news.emit('news');
  }

  protected noteEnd({ status, signal }: End): void {
    this.#end = signal ?? `status ${status}`;
    this.#news.emit('news');
  }

  /** The lines of the log. Lines that are not JSON, such as errors, are left out. */
  get log(): LogLine[] {
    return linesOf(this.text).flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as LogLine] : []));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Waits for a line of the log. Throws if the process exits without it. */
  async logged(pattern: RegExp): Promise<LogLine> {
    while (true) {
      const line = this.log.find(({ msg }) => pattern.test(msg));
      if (line !== undefined) return line;
      if (this.#end !== undefined) {
        throw new Error(`the process exited (${this.#end}) and never logged ${pattern}:\n${this.text}`);
      }
      await bounded(once(this.#news, 'news'), `a line of the log like ${pattern}:\n${this.text}`);
    }
  }

  /** Waits until it logs its address. */
  async listening(): Promise<this> {
    this.#port = (await this.logged(/^listening on /)).port as number;
    return this;
  }

  /** Stops it, and returns its exit status. */
  async stop(): Promise<number | null> {
    this.signal('SIGTERM');
    return (await this.ended).status;
  }

  /** Sends a chat completion. */
  chat(key: string, fields: Record<string, unknown> = {}): Promise<Response> {
    const body = { model: 'mock/echo', messages: [{ role: 'user', content: 'hello' }], ...fields };
    return fetch(`${this.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  }

  /** The status of a chat completion, and its error code if it failed. */
  async chatOutcome(key: string, fields: Record<string, unknown> = {}): Promise<string> {
    const response = await this.chat(key, fields);
    const body = (await response.json()) as { error?: { code: string } };
    return body.error === undefined ? String(response.status) : `${response.status} ${body.error.code}`;
  }
}

/** One in a process of its own: `serve`, or another program that ends up serving. */
export class ServingProcess extends Serving {
  readonly ended: Promise<End>;
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    super();
    this.#child = child;
    this.ended = once(child, 'close').then(([status, signal]: unknown[]) => {
      const end = { status, signal } as End;
      this.noteEnd(end);
      return end;
    });
    child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
      this.output += piece;
    });
    if (child.stderr === null) return;
    createInterface({ input: child.stderr }).on('line', (line) => this.noteLines(`${line}\n`));
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async discard(): Promise<void> {
    this.signal('SIGKILL');
    await this.ended;
  }
}
