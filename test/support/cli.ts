/**
 * Runs the real command line and the real `serve` in a directory of their own, as in a terminal.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { runShared } from './commands.ts';
import { bounded } from './wait.ts';

export const PROGRAM = fileURLToPath(new URL('../../bin/inf-gw.js', import.meta.url));
/** The same, built so that a preload can import some of its modules and change them. */
export const CHANGEABLE_PROGRAM = fileURLToPath(new URL('./changeable-program.js', import.meta.url));
/** Longer than any command takes, even on a busy machine. */
const COMMAND_TIMEOUT_MS = 60_000;

/** Where programs are, where temporary files go, and where Node caches compiled code. */
export const PATHS: Readonly<Record<string, string>> = Object.fromEntries(
  ['PATH', 'TMPDIR', 'NODE_COMPILE_CACHE'].flatMap((name) => {
    const path = process.env[name];
    return path === undefined ? [] : [[name, path] as const];
  }),
);

/** How many tests of a file run at the same time if they mostly wait for processes. */
export const CONCURRENCY = availableParallelism();

/**
 * A free and a paid model, both of the built-in provider, on a port that the system chooses. On a
 * busy machine nothing may be refused for it.
 */
export const CONFIG = `listen: 127.0.0.1:0
state: ./state.db
overload: { loop_delay: off }
providers:
  mock:
    kind: mock
    models:
      echo: { input: 0, output: 0 }
      paid: { input: 1000, output: 2000, max_output: 1000 }
`;

/** The output and exit of a program. */
export interface Result {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The lines of a text, without the empty one after the last line break. */
export function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

interface Surroundings {
  readonly directory: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** The stdin of the program; empty by default. */
  readonly input?: string;
}

/**
 * Runs Node with these arguments. It inherits the paths of the environment, but nothing that the
 * program reads.
 */
export async function runNode(words: readonly string[], surroundings: Surroundings): Promise<Result> {
  const child = startNode(words, surroundings);
  child.stdin?.on('error', () => {}).end(surroundings.input ?? '');
  const timer = setTimeout(() => child.kill('SIGKILL'), COMMAND_TIMEOUT_MS);
  const [stdout, stderr, [status]] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  clearTimeout(timer);
  return { status, stdout, stderr };
}

function startNode(words: readonly string[], { directory, environment = {} }: Surroundings): ChildProcess {
  const env = { ...PATHS, ...environment };
  return spawn(process.execPath, words, { cwd: directory, env, stdio: 'pipe' });
}

async function textOf(stream: ChildProcess['stdout']): Promise<string> {
  let text = '';
  for await (const piece of stream?.setEncoding('utf8') ?? []) text += piece;
  return text;
}

/** Works on all items, a few at a time. Returns the results in the order of the items. */
export async function inParallel<Item, Outcome>(
  items: readonly Item[],
  work: (item: Item) => Promise<Outcome>,
  atOnce = CONCURRENCY,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue) outcomes[index] = await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return outcomes;
}

/** A log line of `serve`. */
export interface LogLine {
  readonly level: string;
  readonly time: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A running `serve`, or another program that ends up serving. */
export class Serving {
  /** Its stderr so far. */
  text = '';
  /** Its stdout so far. */
  output = '';
  /** Resolves when the process has exited and all its output has been read. */
  readonly ended: Promise<{ status: number | null; signal: NodeJS.Signals | null }>;
  readonly #child: ChildProcess;
  readonly #news = new EventEmitter();
  /** Its exit. */
  #end: string | undefined;
  #port: number | undefined;

  constructor(child: ChildProcess) {
    this.#child = child;
    this.ended = once(child, 'close').then(([status, signal]) => {
      this.#end = signal ?? `status ${status}`;
      this.#news.emit('news');
      return { status, signal };
    });
    child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
      this.output += piece;
    });
    if (child.stderr === null) return;
    createInterface({ input: child.stderr }).on('line', (line) => {
      this.text += `${line}\n`;
      this.#news.emit('news');
    });
  }

  /** The lines of the log. Lines that are not JSON, such as errors, are left out. */
  get log(): LogLine[] {
    return linesOf(this.text).flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as LogLine] : []));
  }

  get pid(): number {
    return this.#child.pid as number;
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

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
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

/** Anything that runs clean-ups at its end, such as a test. */
interface Scope {
  after(cleanUp: () => void | Promise<void>): void;
}

/** A directory with a config, in which commands and gateways run. */
export class Workplace {
  readonly directory = mkdtempSync(join(tmpdir(), 'inf-gw-cli-'));
  readonly statePath = join(this.directory, 'state.db');
  readonly environment: Record<string, string> = {};
  readonly #servings: Serving[] = [];

  /** Null means no config file. */
  constructor(scope: Scope, config: string | null = CONFIG) {
    if (config !== null) this.write('config.yaml', config);
    scope.after(async () => {
      for (const serving of this.#servings) serving.signal('SIGKILL');
      await Promise.all(this.#servings.map(({ ended }) => ended));
      rmSync(this.directory, { recursive: true });
    });
  }

  write(file: string, text: string): string {
    const path = join(this.directory, file);
    writeFileSync(path, text);
    return path;
  }

  read(file: string): Buffer {
    return readFileSync(join(this.directory, file));
  }

  /** Runs a command. One that reads from stdin, or that serves, has a process of its own. */
  run(words: readonly string[], input?: string): Promise<Result> {
    if (input !== undefined || words[0] === 'serve') return this.runAlone(words, input);
    const { directory } = this;
    return runShared({ words, directory, environment: { ...PATHS, ...this.environment } });
  }

  /** Runs a command in a process of its own. */
  runAlone(words: readonly string[], input?: string): Promise<Result> {
    const { directory, environment } = this;
    return runNode([PROGRAM, ...words], { directory, environment, ...(input !== undefined && { input }) });
  }

  /** Runs commands one after another. */
  async runAll(rows: readonly (readonly string[])[]): Promise<Result[]> {
    const results: Result[] = [];
    for (const words of rows) results.push(await this.run(words));
    return results;
  }

  /** Runs a command with `--json`, which must succeed. Returns the document that it printed. */
  async json<Document>(...words: string[]): Promise<Document> {
    const { status, stdout, stderr } = await this.run([...words, '--json']);
    assert.equal(status, 0, `inf-gw ${words.join(' ')}: ${stderr}`);
    return JSON.parse(stdout) as Document;
  }

  /** Creates a key. */
  createKey(name: string, ...options: string[]): Promise<NewKeyJson> {
    return this.json<NewKeyJson>('keys', 'create', name, ...options);
  }

  /** Starts `serve`, or the script in `args`, and waits until it listens. */
  serve(words: readonly string[] = [PROGRAM, 'serve']): Promise<Serving> {
    return this.launch(words).listening();
  }

  /** Like `serve`, without waiting. */
  launch(words: readonly string[]): Serving {
    const serving = new Serving(startNode(words, this));
    this.#servings.push(serving);
    return serving;
  }
}

export interface KeyJson {
  readonly id: string;
  readonly name: string;
  readonly preview: string;
  readonly state: 'enabled' | 'disabled' | 'deleted';
  readonly limits: { readonly rpm: number; readonly tpm: number; readonly concurrency: number };
  readonly spend_limit_usd: string | null;
  readonly allowlist: readonly string[] | null;
  readonly created_at: string;
  readonly month: { readonly requests: number; readonly tokens: number; readonly cost_usd: string };
}

export interface NewKeyJson extends KeyJson {
  readonly key: string;
}

export interface BalanceJson {
  readonly balance_usd: string;
  readonly held_usd: string;
  readonly available_usd: string;
}
