/**
 * The helpers of a benchmark, which are processes of their own: the load generator and the upstream.
 * Where there is a C compiler, those in C measure; streams that are held open are Node's anyway.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Helper, PROBE } from './children.ts';
import type { HoldResult, LoadJob, LoadResult, RequestSpec, StreamShape, Usage } from './messages.ts';
import { buildNativeTools, NativeLoad, NativeUpstream } from './native/native.ts';

/** An unexpected answer: the run is void. */
export class LoadFailure extends Error {}

/** Starts a module of the benchmark, and waits for its first message. */
async function startModule<T>(file: string): Promise<{ helper: Helper; first: T }> {
  const helper = new Helper(fork(fileURLToPath(new URL(file, import.meta.url)), { execArgv: ['--import', PROBE] }));
  return { helper, first: await helper.nextMessage<T>() };
}

function checked<T extends { readonly failure: string | undefined }>(result: T): T {
  if (result.failure !== undefined) throw new LoadFailure(result.failure);
  return result;
}

export class Load {
  readonly #helper: Helper;
  readonly #native: NativeLoad | undefined;

  private constructor(helper: Helper, native: NativeLoad | undefined) {
    this.#helper = helper;
    this.#native = native;
  }

  static async start(native: NativeLoad | undefined): Promise<Load> {
    return new Load((await startModule('./load/load.ts')).helper, native);
  }

  /**
   * Throws a {@link LoadFailure} if a single answer is not as expected, as all of these methods do.
   */
  async run(job: LoadJob): Promise<LoadResult> {
    // The one in C repeats one request.
    const native = job.users === undefined ? this.#native : undefined;
    const result = native?.run(job) ?? this.#helper.ask<LoadResult>({ order: 'run', ...job });
    return checked(await result);
  }

  /** Opens streams, and waits for the first byte of each. */
  async hold(streams: number, spec: RequestSpec): Promise<void> {
    checked(await this.#helper.ask<HoldResult>({ order: 'hold', streams, ...spec }));
  }

  /** What the open streams have received so far. */
  async count(): Promise<HoldResult> {
    return checked(await this.#helper.ask<HoldResult>({ order: 'count' }));
  }

  /** Waits until all of them have ended. */
  async release(): Promise<HoldResult> {
    return checked(await this.#helper.ask<HoldResult>({ order: 'release' }));
  }

  async usage(): Promise<Usage> {
    const { cpuMicroseconds, rssBytes } = await this.#helper.usage();
    return { cpuMicroseconds: cpuMicroseconds + (this.#native?.usage().cpuMicroseconds ?? 0), rssBytes };
  }

  stop(): Promise<void> {
    return this.#helper.stop();
  }
}

export interface Upstream {
  readonly port: number;
  shapeStreams(shape: StreamShape): Promise<void>;
  /** Ends the endless streams, and returns the number of their events. */
  endStreams(): Promise<number>;
  usage(): Promise<Usage>;
  stop(): Promise<void>;
}

class NodeUpstream implements Upstream {
  readonly port: number;
  readonly #helper: Helper;

  constructor(helper: Helper, port: number) {
    this.#helper = helper;
    this.port = port;
  }

  static async start(): Promise<NodeUpstream> {
    const { helper, first } = await startModule<{ port: number }>('./upstream.ts');
    return new NodeUpstream(helper, first.port);
  }

  async shapeStreams(shape: StreamShape): Promise<void> {
    await this.#helper.ask({ order: 'shape', shape });
  }

  endStreams(): Promise<number> {
    return this.#helper.ask({ order: 'end streams' });
  }

  usage(): Promise<Usage> {
    return this.#helper.usage();
  }

  stop(): Promise<void> {
    return this.#helper.stop();
  }
}

export interface Helpers {
  readonly load: Load;
  readonly upstream: Upstream;
  /** Whether both are the ones in C. */
  readonly areNative: boolean;
}

export async function startHelpers(): Promise<Helpers> {
  const tools = await buildNativeTools();
  const [load, upstream] = await Promise.all([
    Load.start(tools && new NativeLoad(tools)),
    tools === undefined ? NodeUpstream.start() : NativeUpstream.start(tools),
  ]);
  return { load, upstream, areNative: tools !== undefined };
}
