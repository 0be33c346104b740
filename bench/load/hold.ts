/** Streams that are held open all at once, while others look at what they cost. */
import type { HoldResult, RequestSpec } from '../messages.ts';
import { requestBytes } from '../payloads.ts';
import { Connection } from './connection.ts';

/** Streams that begin together would have their events together, as those of many people never do. */
const STARTS_A_TICK = 20;
const TICK_MS = 10;

export class Hold {
  readonly #connections: Connection[] = [];
  readonly #over = Promise.withResolvers<void>();
  #allBegun = Promise.withResolvers<void>();
  #wanted = 0;
  #begun = 0;
  #ended = 0;
  #failure: string | undefined;

  /** Whether no stream is open any more. */
  get isOver(): boolean {
    return this.#failure !== undefined || this.#ended === this.#wanted;
  }

  /** Opens so many streams, beside those that are open; resolves when all have begun. */
  async open(streams: number, spec: RequestSpec): Promise<HoldResult> {
    const request = requestBytes(spec);
    this.#wanted += streams;
    this.#allBegun = Promise.withResolvers();
    const timer = setInterval(() => {
      const missing = this.#wanted - this.#connections.length;
      for (let i = 0; i < Math.min(STARTS_A_TICK, missing); i++) this.#connect(spec.port, request);
      if (missing === 0) clearInterval(timer);
    }, TICK_MS);
    await this.#allBegun.promise;
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
        this.#begun++;
        if (this.#begun === this.#wanted) this.#allBegun.resolve();
      },
      onAnswer: ({ reader: { status } }) => {
        this.#ended++;
        if (status !== 200) this.#fail(`the server answered ${status}`);
        if (this.#ended === this.#wanted) this.#over.resolve();
      },
      onFault: (why) => this.#fail(why),
    });
    this.#connections.push(connection);
  }

  #fail(why: string): void {
    this.#failure ??= why;
    this.#close();
    this.#allBegun.resolve();
    this.#over.resolve();
  }

  #close(): void {
    for (const connection of this.#connections) connection.close();
  }
}
