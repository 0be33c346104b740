/** The client's end of a response: where a stream is written, the outcome's name, and the last bytes. */
import type { Outcome } from '../core/settlement.ts';
import type { Exchange } from '../http/exchange.ts';
import type { StreamSink, Termination } from '../relay/relay.ts';

/** Writes a stream to the client. */
export class ExchangeSink implements StreamSink {
  readonly #exchange: Exchange;
  readonly #servedModel: () => string | undefined;

  /** `servedModel` is called once, when the stream starts. */
  constructor(exchange: Exchange, servedModel: () => string | undefined) {
    this.#exchange = exchange;
    this.#servedModel = servedModel;
  }

  get started(): boolean {
    return this.#exchange.streamStarted;
  }

  get gone(): boolean {
    return this.#exchange.gone;
  }

  start(): void {
    this.#exchange.serveBy(this.#servedModel());
    this.#exchange.startStream();
  }

  write(bytes: Buffer): Promise<void> | undefined {
    return this.#exchange.writeStream(bytes);
  }
}

/** The outcome that the journal records. */
export function outcomeOf(termination: Termination): Outcome {
  switch (termination.kind) {
    case 'json':
      return 'ok';
    case 'error':
      return termination.error.code;
    case 'stream_end':
      return termination.error?.code ?? 'ok';
    case 'client_gone':
      return 'cancelled';
  }
}

/** Sends the last bytes of the response. */
export function finish(exchange: Exchange, termination: Termination): void {
  switch (termination.kind) {
    case 'json':
      return exchange.sendJson(200, termination.body);
    case 'error':
      return exchange.sendError(termination.error);
    case 'stream_end':
      return exchange.endStream(termination.error, termination.end);
    case 'client_gone':
      return;
  }
}
