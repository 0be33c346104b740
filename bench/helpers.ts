/** The two helper processes of a benchmark: the load generator and the upstream. */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Helper, PROBE } from './children.ts';
import type { HoldResult, LoadJob, LoadResult, RequestSpec, StreamShape, Usage } from './messages.ts';

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

  constructor(helper: Helper) {
    this.#helper = helper;
  }

  static async start(): Promise<Load> {
    return new Load((await startModule('./load/load.ts')).helper);
  }

  /**
   * Throws a {@link LoadFailure} if a single answer is not as expected, as all of these methods do.
   */
  async run(job: LoadJob): Promise<LoadResult> {
    return checked(await this.#helper.ask<LoadResult>({ order: 'run', ...job }));
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

  usage(): Promise<Usage> {
    return this.#helper.usage();
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
    await this.#helper.ask({ order: 'shape', shape });
  }

  /** Ends the endless streams, and returns the number of their events. */
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
