/**
 * Runs the real command line and the real `serve` in a directory of their own, as in a terminal.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runShared } from './commands.ts';
import { type Serving, ServingProcess } from './serving.ts';

export { type LogLine, linesOf, type Serving } from './serving.ts';

export const PROGRAM = fileURLToPath(new URL('../../bin/inf-gw.js', import.meta.url));
/** What Node is told to serve, in a process of its own. */
export const SERVE: readonly string[] = [PROGRAM, 'serve'];
/** The program, built so that a preload can import some of its modules and change them. */
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
      await Promise.all(this.#servings.map((serving) => serving.discard()));
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

  /** Runs a command. One that serves has a process of its own. */
  run(words: readonly string[], input = ''): Promise<Result> {
    if (words[0] === 'serve') return this.runAlone(words, input);
    const { directory } = this;
    return runShared({ words, directory, environment: { ...PATHS, ...this.environment }, input });
  }

  /** Runs a command in a process of its own. */
  runAlone(words: readonly string[], input?: string): Promise<Result> {
    const { directory, environment } = this;
    return runNode([PROGRAM, ...words], { directory, environment, ...(input !== undefined && { input }) });
  }

  /** Runs a `serve` that must not start, in the process of the commands. */
  serveInVain(...options: string[]): Promise<Result> {
    const { directory } = this;
    const environment = { ...PATHS, ...this.environment };
    return runShared({ words: ['serve', ...options], directory, environment, input: '' });
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

  /** Creates keys with these names and options, one after the other. */
  async createKeys<Name extends string>(options: Readonly<Record<Name, readonly string[]>>) {
    const made: [string, NewKeyJson][] = [];
    for (const [name, own] of Object.entries<readonly string[]>(options)) {
      made.push([name, await this.createKey(name, ...own)]);
    }
    return Object.fromEntries(made) as Record<Name, NewKeyJson>;
  }

  /** Starts `serve`, or these words of Node, in a process of its own, and waits until it listens. */
  serve(words: readonly string[] = SERVE): Promise<Serving> {
    return this.launch(words).listening();
  }

  /**
   * Starts what `serve` runs in the process of the test, and waits until it listens: a quarter of the work. While it serves, this
   * process must not read the state file otherwise than through `openDatabase`: whoever closes a file drops all locks that its
   * process has on it, and the gateway's are among them. The auditor has a SQLite of its own, for one.
   */
  async serveHere(config?: string): Promise<Serving> {
    const { directory, environment } = this;
    // Not loaded by tests that start none: it is the whole program.
    const { ServingHere } = await import('./serving-here.ts');
    const serving = await ServingHere.start({ path: config, directory, environment: { ...PATHS, ...environment } });
    this.#servings.push(serving);
    return serving.listening();
  }

  /** Like `serve`, without waiting. */
  launch(words: readonly string[]): Serving {
    const serving = new ServingProcess(startNode(words, this));
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
  readonly budgets: readonly {
    readonly period: string;
    readonly limit_usd: string;
    readonly spent_usd: string;
    readonly resets_at: string | null;
  }[];
  readonly expires_at: string | null;
  readonly allowlist: readonly string[] | null;
  readonly group: string | null;
  readonly user_limits: UserLimitsJson | null;
  readonly created_at: string;
  readonly month: { readonly requests: number; readonly tokens: number; readonly cost_usd: string };
}

export interface UserLimitsJson {
  readonly rpm: number | null;
  readonly tpm: number | null;
  readonly concurrency: number | null;
  readonly spend_limit_usd: string | null;
  readonly budgets: readonly { readonly period: string; readonly limit_usd: string }[];
  readonly required: boolean;
}

/** A limit that is not set is null: groups have no tier. */
export interface GroupJson extends Omit<KeyJson, 'preview' | 'expires_at' | 'limits'> {
  readonly limits: { readonly [Name in keyof KeyJson['limits']]: number | null };
  readonly keys: number;
}

export interface UserJson extends Pick<GroupJson, 'state' | 'limits' | 'spend_limit_usd' | 'budgets' | 'month'> {
  readonly user: string;
  readonly own: Omit<UserLimitsJson, 'required'> | null;
}

export interface NewKeyJson extends KeyJson {
  readonly key: string;
}

export interface BalanceJson {
  readonly balance_usd: string;
  readonly held_usd: string;
  readonly available_usd: string;
}
