/** The client's end of a response: its stream, the name of its outcome, and its last bytes. */
import type { ClientError } from '../core/errors.ts';
import type { Outcome } from '../core/settlement.ts';
import type { Exchange } from '../http/exchange.ts';
import type { StreamSink, Termination } from '../relay/relay.ts';

/** Hooks for the start of a stream. Each is called once. */
export interface StreamStart {
  /** The serving model, and the parts of the request left out for it. */
  serves(): { readonly model: { readonly id: string }; readonly ignored: readonly string[] } | undefined;
  /** The promise that the first byte waits for; undefined if it may be sent at once. */
  mayBegin(): Promise<void> | undefined;
}

/** Writes a stream to the client. */
export class ExchangeSink implements StreamSink {
  readonly #exchange: Exchange;
  readonly #start: StreamStart;
  #hasWritten = false;

  constructor(exchange: Exchange, start: StreamStart) {
    this.#exchange = exchange;
    this.#start = start;
  }

  get started(): boolean {
    return this.#exchange.streamStarted;
  }

  get gone(): boolean {
    return this.#exchange.gone;
  }

  start(contentType?: string): void {
    const { model, ignored } = this.#start.serves() ?? {};
    this.#exchange.serveBy(model?.id);
    this.#exchange.showIgnored(ignored ?? []);
    this.#exchange.startStream(contentType);
  }

  write(bytes: Buffer): Promise<void> | undefined {
    if (!this.#hasWritten) {
      this.#hasWritten = true;
      const wait = this.#start.mayBegin();
      if (wait !== undefined) return wait.then(() => this.#exchange.writeStream(bytes));
    }
    return this.#exchange.writeStream(bytes);
  }
}

/** The outcome that the journal records. */
export function outcomeOf(termination: Termination): Outcome {
  return termination.kind === 'client_gone' ? 'cancelled' : (errorOf(termination)?.code ?? 'ok');
}

/** The error that the client receives, as its answer or in its stream. */
export function errorOf(termination: Termination): ClientError | undefined {
  return 'error' in termination ? termination.error : undefined;
}

/** Sends the last bytes of the response. */
export function finish(exchange: Exchange, termination: Termination): void {
  switch (termination.kind) {
    case 'json':
      return exchange.sendJson(200, termination.body);
    case 'bytes':
      return exchange.sendBytes(termination.body, termination.contentType);
    case 'error':
      return exchange.sendError(termination.error);
    case 'stream_end':
      return exchange.endStream(termination.error, termination.end);
    case 'client_gone':
      return;
  }
}
