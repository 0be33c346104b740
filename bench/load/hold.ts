/** Streams that are held open at the same time while their cost is measured. */
import type { HoldResult, RequestSpec } from '../messages.ts';
import { requestBytes } from '../payloads.ts';
import { Connection } from './connection.ts';

/** Streams are started a few at a time: the events of real clients do not coincide. */
const STARTS_PER_TICK = 20;
const TICK_MS = 10;

export class Hold {
  readonly #connections: Connection[] = [];
  readonly #over = Promise.withResolvers<void>();
  #allStarted = Promise.withResolvers<void>();
  #requested = 0;
  #started = 0;
  #ended = 0;
  #failure: string | undefined;

  /** Whether all streams have ended. */
  get isOver(): boolean {
    return this.#failure !== undefined || this.#ended === this.#requested;
  }

  /** Opens more streams. Resolves when all have started. */
  async open(streams: number, spec: RequestSpec): Promise<HoldResult> {
    const request = requestBytes(spec);
    this.#requested += streams;
    this.#allStarted = Promise.withResolvers();
    const timer = setInterval(() => {
      const missing = this.#requested - this.#connections.length;
      for (let i = 0; i < Math.min(STARTS_PER_TICK, missing); i++) this.#connect(spec.port, request);
      if (missing === 0) clearInterval(timer);
    }, TICK_MS);
    await this.#allStarted.promise;
    clearInterval(timer);
    return this.count();
  }

  count(): HoldResult {
    const lineFeeds = this.#connections.reduce((sum, { reader }) => sum + reader.lineFeeds, 0);
    return { ended: this.#ended, events: lineFeeds / 2, atMs: performance.now(), failure: this.#failure };
  }

  /** Resolves when all have ended. */
  async release(): Promise<HoldResult> {
    await this.#over.promise;
    this.#close();
    return this.count();
  }

  #connect(port: number, request: Buffer): void {
    const connection = new Connection(port, {
      onOpen: (open) => open.send(request, performance.now()),
      onFirstByte: () => {
        this.#started++;
        if (this.#started === this.#requested) this.#allStarted.resolve();
      },
      onAnswer: ({ reader: { failure } }) => {
        this.#ended++;
        if (failure !== undefined) this.#fail(failure);
        if (this.#ended === this.#requested) this.#over.resolve();
      },
      onError: (reason) => this.#fail(reason),
    });
    this.#connections.push(connection);
  }

  #fail(reason: string): void {
    this.#failure ??= reason;
    this.#close();
    this.#allStarted.resolve();
    this.#over.resolve();
  }

  #close(): void {
    for (const connection of this.#connections) connection.close();
  }
}
