/** A client of the races: one kept-alive connection, one request at a time. */
import { connect, type Socket } from 'node:net';
import { ResponseReader } from '../../bench/response-reader.ts';
import { bounded } from '../support/wait.ts';

export interface Answer {
  readonly status: number;
  /** The bytes of the answer received so far. */
  readonly text: string;
}

/** When a client has read enough of an answer to continue before it is complete. */
export type IsEnough = (status: number, text: string) => boolean;

const COMPLETE_ONLY: IsEnough = () => false;

export class RaceClient {
  readonly #socket: Socket;
  readonly #reader = new ResponseReader();
  #text = '';
  #isEnough: IsEnough = COMPLETE_ONLY;
  #enough = Promise.withResolvers<Answer>();
  #complete = Promise.withResolvers<void>();
  isOpen = true;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#complete.resolve();
    socket.on('data', (bytes: Buffer) => this.#receive(bytes));
    socket.on('error', () => {});
    socket.on('close', () => this.#closed());
  }

  static open(port: number): Promise<RaceClient> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new RaceClient(socket)));
    });
  }

  /**
   * Sends a request once the previous answer is complete. Rejects if the connection is closed
   * without an answer.
   */
  async send(request: string, isEnough = COMPLETE_ONLY): Promise<Answer> {
    await this.ready();
    this.#reader.status = 0;
    this.#reader.bodyBytes = 0;
    this.#text = '';
    this.#isEnough = isEnough;
    this.#enough = Promise.withResolvers();
    this.#complete = Promise.withResolvers();
    // A caller that continues after part of an answer may never wait for the rest.
    this.#complete.promise.catch(() => {});
    if (!this.isOpen) this.#closed();
    else this.#socket.write(request);
    return bounded(this.#enough.promise, 'an answer has come');
  }

  /** Resolves once the current answer is complete. */
  ready(): Promise<void> {
    return bounded(this.#complete.promise, 'an answer is complete');
  }

  /** Closes the connection abruptly. */
  leave(): void {
    this.#socket.destroy();
  }

  #receive(bytes: Buffer): void {
    this.#text += bytes.toString('latin1');
    const isComplete = this.#reader.take(bytes);
    const { status, bodyBytes } = this.#reader;
    if (isComplete || (bodyBytes > 0 && this.#isEnough(status, this.#text))) {
      this.#enough.resolve({ status, text: this.#text });
    }
    if (isComplete) this.#complete.resolve();
  }

  #closed(): void {
    this.isOpen = false;
    const error = new Error(`the gateway closed the connection after ${JSON.stringify(this.#text.slice(-200))}`);
    this.#enough.promise.catch(() => {});
    this.#enough.reject(error);
    this.#complete.reject(error);
  }
}
