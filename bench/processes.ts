/** The processes of the benchmark: how each is started, asked, and ended. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { ASK_USAGE, type LoadJob, type LoadResult, type StreamShape, type Usage } from './messages.ts';
import { requestBytes } from './payloads.ts';

const PROBE = new URL('./probe.js', import.meta.url).href;
/** How long a process may take for its first 200, and to end. */
const PATIENCE_MS = 15_000;
/** Between two looks at whether a server answers. */
const LOOK_AGAIN_MS = 2;

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A process that answers one message at a time over IPC. */
export class Helper {
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
    running.add(child);
    child.once('exit', () => running.delete(child));
  }

  ask<T>(message: LoadJob | StreamShape | typeof ASK_USAGE): Promise<T> {
    const answer = this.nextMessage<T>();
    this.#child.send(message);
    return answer;
  }

  nextMessage<T>(): Promise<T> {
    return new Promise((resolve, reject) => {
      const onExit = () => reject(new Error(`${this.#child.spawnargs.join(' ')} has ended`));
      this.#child.once('exit', onExit);
      this.#child.once('message', (message) => {
        this.#child.off('exit', onExit);
        resolve(message as T);
      });
    });
  }

  usage(): Promise<Usage> {
    return this.ask(ASK_USAGE);
  }

  /** Asks it to end, and waits until it has. */
  async stop(): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    const impatience = setTimeout(() => this.#child.kill('SIGKILL'), PATIENCE_MS);
    this.#child.kill('SIGTERM');
    await ended;
    clearTimeout(impatience);
  }
}

/** Starts one of the modules beside this one, and waits for its first message. */
async function startModule<T>(file: string): Promise<{ helper: Helper; first: T }> {
  const helper = new Helper(fork(fileURLToPath(new URL(file, import.meta.url))));
  return { helper, first: await helper.nextMessage<T>() };
}

export class Load {
  readonly #helper: Helper;

  constructor(helper: Helper) {
    this.#helper = helper;
  }

  static async start(): Promise<Load> {
    return new Load((await startModule('./load.ts')).helper);
  }

  /** Runs a job. Throws when a single answer was not as it should be. */
  async run(job: LoadJob): Promise<LoadResult> {
    const result = await this.#helper.ask<LoadResult>(job);
    if (result.failure !== undefined) throw new Error(`port ${job.port}: ${result.failure}`);
    return result;
  }

  stop(): Promise<void> {
    return this.#helper.stop();
  }
}

export class Upstream {
  readonly port: number;
  readonly #helper: Helper;

  constructor(helper: Helper, port: number) {
    this.#helper = helper;
    this.port = port;
  }

  static async start(): Promise<Upstream> {
    const { helper, first } = await startModule<{ port: number }>('./upstream.ts');
    return new Upstream(helper, first.port);
  }

  async shapeStreams(shape: StreamShape): Promise<void> {
    await this.#helper.ask(shape);
  }

  stop(): Promise<void> {
    return this.#helper.stop();
  }
}

/** A server that was started, and how long it took until it answered a request with a 200. */
export interface Started {
  readonly helper: Helper;
  readonly startUpMs: number;
}

/** Starts a program, with the probe in it, and waits for its first 200. What it writes to stderr goes to a file. */
export async function startServer(
  words: readonly string[],
  port: number,
  key: string,
  logPath: string,
): Promise<Started> {
  const log = openSync(logPath, 'a');
  const startedAtMs = performance.now();
  const child = spawn(process.execPath, ['--import', PROBE, ...words], { stdio: ['ignore', 'ignore', log, 'ipc'] });
  closeSync(log);
  const helper = new Helper(child);
  const request = requestBytes(port, key, false);
  while (!(await answersOk(port, request))) {
    if (child.exitCode !== null || performance.now() - startedAtMs > PATIENCE_MS) {
      await helper.stop();
      throw new Error(`${words.join(' ')} does not answer:\n${readFileSync(logPath, 'utf8').slice(-2_000)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
  return { helper, startUpMs: performance.now() - startedAtMs };
}

function answersOk(port: number, request: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.once('data', (bytes) => {
      resolve(bytes.toString('latin1').startsWith('HTTP/1.1 200 '));
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
    socket.once('end', () => resolve(false));
  });
}

/** A port that is free at this moment. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => (address !== null && typeof address === 'object' ? resolve(address.port) : reject(address)));
    });
  });
}
