/**
 * A fake upstream on a TCP port of its own that answers each request as the script of a test says,
 * byte by byte.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { reset } from './reset.ts';
import { bounded } from './wait.ts';

/** What the upstream does with a request. */
export type Script = (call: UpstreamCall) => void | Promise<void>;

interface Connection {
  readonly number: number;
  readonly socket: Socket;
  readonly closed: Promise<void>;
}

/** A request that the upstream has received, and the means to answer it. */
export class UpstreamCall {
  readonly method: string;
  readonly path: string;
  /** The names of the headers, in order and with their original case. */
  readonly headerLines: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  /** The number of its connection. */
  readonly connection: number;
  /** The status that it was answered with. */
  status: number | undefined;
  readonly #socket: Socket;
  readonly #closed: Promise<void>;

  constructor(head: string, body: string, { number, socket, closed }: Connection) {
    const [requestLine = '', ...lines] = head.split('\r\n');
    const [method = '', path = ''] = requestLine.split(' ');
    this.method = method;
    this.path = path;
    this.headerLines = lines.map((line) => [
      line.slice(0, line.indexOf(':')),
      line.slice(line.indexOf(':') + 1).trim(),
    ]);
    this.body = body;
    this.connection = number;
    this.#socket = socket;
    this.#closed = closed;
  }

  /** Resolves when the connection is closed, whoever closed it. */
  get closed(): Promise<void> {
    return bounded(this.#closed, 'the connection to the upstream is closed');
  }

  /** Whether the connection is closed: a stream that lasts longer than a test may wait asks this instead of `closed`. */
  get isClosed(): boolean {
    return !this.#socket.writable;
  }

  header(name: string): string | undefined {
    return this.headerLines.find(([candidate]) => candidate.toLowerCase() === name)?.[1];
  }

  /** Sends a complete answer with its length. A value that is not a string is sent as JSON. */
  answer(status: number, body: unknown, headers: Record<string, string> = {}): void {
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
    this.head(status, { 'content-type': 'application/json', 'content-length': String(bytes.length), ...headers });
    this.raw(bytes);
  }

  /** Sends the head of an event stream. */
  stream(headers: Record<string, string> = {}): void {
    this.head(200, { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked', ...headers });
  }

  head(status: number, headers: Record<string, string>): void {
    this.status = status;
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    this.raw(`HTTP/1.1 ${status} Scripted\r\n${lines.join('')}\r\n`);
  }

  /** Sends one chunk of a chunked answer. */
  send(piece: string | Buffer): void {
    const bytes = Buffer.from(piece);
    this.raw(Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]));
  }

  /** Sends the last chunk. */
  end(): void {
    this.raw('0\r\n\r\n');
  }

  raw(bytes: string | Buffer): void {
    if (this.#socket.writable) this.#socket.write(bytes);
  }

  /** Like `raw`, and resolves when more can be sent: false if the connection was closed instead. */
  async pour(bytes: Buffer): Promise<boolean> {
    if (!this.#socket.writable) return false;
    if (!this.#socket.write(bytes)) {
      const drained = new Promise((resolve) => this.#socket.once('drain', resolve));
      await Promise.race([drained, this.#closed]);
    }
    return this.#socket.writable;
  }

  /** Closes the connection properly, even in the middle of an answer. */
  hangUp(): void {
    this.#socket.end();
  }

  /** Resets the connection. */
  reset(): void {
    reset(this.#socket);
  }
}

/** The certificate of an upstream with TLS, in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

const UNSCRIPTED: Script = (call) => call.answer(599, { error: { message: 'no script was set' } });

export class FakeUpstream {
  /** Every request received, in order. */
  readonly calls: UpstreamCall[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #waiting: { count: number; resolve(): void }[] = [];
  #accepted = 0;
  #script: Script = UNSCRIPTED;
  #scriptError: unknown;

  private constructor(certificate: Certificate | undefined) {
    const serve = (socket: Socket) => this.#serve(socket);
    this.#server =
      certificate === undefined
        ? createServer({ noDelay: true }, serve)
        : createTlsServer({ ...certificate, noDelay: true }, serve);
  }

  /** Uses TLS if there is a certificate. */
  static async start(certificate?: Certificate): Promise<FakeUpstream> {
    const upstream = new FakeUpstream(certificate);
    await new Promise<void>((resolve) => upstream.#server.listen(0, '127.0.0.1', resolve));
    return upstream;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  /** The number of open connections. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** Sets the script for requests from now on, and forgets earlier requests. */
  follow(script: Script): void {
    this.#script = script;
    this.calls.length = 0;
  }

  /** Follows a script as soon as the function that it returns is called. */
  followLater(script: Script): () => void {
    const release = Promise.withResolvers<void>();
    this.follow(async (call) => {
      await release.promise;
      await script(call);
    });
    return release.resolve;
  }

  /** Begins a stream with the first text, and ends it with the rest as soon as the function that it returns is called. */
  streamInTwo(first: string, rest: string): () => void {
    const release = Promise.withResolvers<void>();
    this.follow(async (call) => {
      call.stream();
      call.send(first);
      await release.promise;
      call.send(rest);
      call.end();
    });
    return release.resolve;
  }

  /** Waits for the request with this number since the script was set. */
  async call(count = 1): Promise<UpstreamCall> {
    if (this.calls.length < count) {
      const arrival = new Promise<void>((resolve) => this.#waiting.push({ count, resolve }));
      await bounded(arrival, `${count} requests have reached the upstream`);
    }
    return this.calls[count - 1] as UpstreamCall;
  }

  /** Resets every connection, and keeps listening. */
  dropConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Closes everything. Throws what a script threw. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.dropConnections();
    await closed;
    if (this.#scriptError !== undefined) throw this.#scriptError;
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
    void closed.then(() => this.#sockets.delete(socket));
    const connection = { number: ++this.#accepted, socket, closed };
    socket.on('error', () => {});
    let pending = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk]);
      const headEnd = pending.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const head = pending.toString('latin1', 0, headEnd);
      const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
      const bodyEnd = headEnd + 4 + length;
      if (pending.length < bodyEnd) return;
      const call = new UpstreamCall(head, pending.toString('utf8', headEnd + 4, bodyEnd), connection);
      pending = pending.subarray(bodyEnd);
      void this.#take(call);
    });
  }

  async #take(call: UpstreamCall): Promise<void> {
    this.calls.push(call);
    for (const waiter of this.#waiting.splice(0)) {
      if (this.calls.length >= waiter.count) waiter.resolve();
      else this.#waiting.push(waiter);
    }
    try {
      await this.#script(call);
    } catch (error) {
      this.#scriptError ??= error;
      call.reset();
    }
  }
}
