/**
 * The load generator and the upstream in C, where there is a compiler: in Node they take so much of
 * two cores that they hide what a server costs. They use Linux's epoll.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { LoadJob, LoadResult, StreamShape, Usage } from '../messages.ts';
import { OutsideProcess } from '../outside-process.ts';
import { completionBytes, requestBytes, streamPieces } from '../payloads.ts';

const run = promisify(execFile);
/** How the C programs spell what has no number. */
const NONE = -1;

/** The compiled programs, in a directory that is removed with this process. */
export interface NativeTools {
  readonly directory: string;
  readonly load: string;
  readonly upstream: string;
}

/** Compiles both. Undefined where there is no compiler, or another system than Linux. */
export async function buildNativeTools(): Promise<NativeTools | undefined> {
  if (process.platform !== 'linux') return undefined;
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-bench-native-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const compile = async (name: string) => {
    const source = fileURLToPath(new URL(`./${name}.c`, import.meta.url));
    await run('cc', ['-O2', '-o', join(directory, name), source]);
    return join(directory, name);
  };
  try {
    const [load, upstream] = await Promise.all([compile('load'), compile('upstream')]);
    return { directory, load, upstream };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Runs the load generator, a process for each run. */
export class NativeLoad {
  readonly #tools: NativeTools;
  #cpuMicroseconds = 0;

  constructor(tools: NativeTools) {
    this.#tools = tools;
  }

  async run(job: LoadJob): Promise<LoadResult> {
    const { arrivals, length, port } = job;
    const { directory, load } = this.#tools;
    const request = join(directory, 'request');
    writeFileSync(request, requestBytes(job));
    const how = arrivals.kind === 'closed' ? ['closed', arrivals.connections] : ['open', arrivals.perSecond];
    const until = 'milliseconds' in length ? ['ms', length.milliseconds] : ['requests', length.requests];
    const { stdout } = await run(load, [...how, ...until, port, request].map(String));
    const { cpuMicroseconds, failure, ...result } = JSON.parse(stdout);
    this.#cpuMicroseconds += cpuMicroseconds;
    return { ...result, failure: failure === '' ? undefined : failure };
  }

  usage(): Usage {
    return { cpuMicroseconds: this.#cpuMicroseconds, rssBytes: 0 };
  }
}

/** The upstream, which takes orders by lines. */
export class NativeUpstream {
  readonly port: number;
  readonly #process: OutsideProcess;
  readonly #ask: (order: string) => Promise<number>;

  private constructor(port: number, process: OutsideProcess, ask: (order: string) => Promise<number>) {
    this.port = port;
    this.#process = process;
    this.#ask = ask;
  }

  static async start({ directory, upstream }: NativeTools): Promise<NativeUpstream> {
    const { head, event, end } = streamPieces();
    const files = { completion: completionBytes(), first: Buffer.concat([head, event]), event, end };
    const paths = Object.entries(files).map(([name, bytes]) => {
      const path = join(directory, name);
      writeFileSync(path, bytes);
      return path;
    });
    const child = spawn(upstream, paths, { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const nextNumber = async () => Number((await lines.next()).value);
    const ask = (order: string) => {
      child.stdin.write(`${order}\n`);
      return nextNumber();
    };
    return new NativeUpstream(await nextNumber(), new OutsideProcess(child), ask);
  }

  async shapeStreams({ events, paceMs }: StreamShape): Promise<void> {
    const paceUs = paceMs === undefined ? NONE : Math.round(paceMs * 1_000);
    await this.#ask(`shape ${events === 'endless' ? NONE : events} ${paceUs}`);
  }

  endStreams(): Promise<number> {
    return this.#ask('end');
  }

  usage(): Promise<Usage> {
    return this.#process.usage();
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }
}
