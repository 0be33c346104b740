/** A receiver of webhooks: keeps what it gets, and answers as it is told. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { AlertEvent } from '../../src/alerts/event.ts';
import { bounded } from '../support/wait.ts';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export class Receiver {
  readonly received: Received[] = [];
  /** The status of its answers; `never` leaves requests open. */
  answer: number | 'never' = 200;
  readonly #server: Server;
  readonly #waiting: { count: number; resolve: () => void }[] = [];

  private constructor() {
    this.#server = createServer(async (request, response) => {
      let body = '';
      for await (const piece of request.setEncoding('utf8')) body += piece;
      const { method = '', url: path = '', headers } = request;
      this.received.push({ method, path, headers, body });
      for (const { resolve } of this.#waiting.filter(({ count }) => this.received.length >= count)) resolve();
      if (this.answer === 'never') return;
      response.writeHead(this.answer, { location: '/elsewhere' }).end('thanks');
    });
  }

  /** `port`: of one that was there before. */
  static async start(test: Pick<TestContext, 'after'>, port = 0): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.#server.listen(port, '127.0.0.1');
    await once(receiver.#server, 'listening');
    test.after(() => receiver.stop());
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path = '/hook'): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  get events(): AlertEvent[] {
    return this.received.map(({ body }) => JSON.parse(body) as AlertEvent);
  }

  /** Resolves once it has got so many requests. */
  async got(count: number): Promise<void> {
    if (this.received.length >= count) return;
    const got = new Promise<void>((resolve) => this.#waiting.push({ count, resolve }));
    await bounded(got, `${count} requests at a receiver`);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
