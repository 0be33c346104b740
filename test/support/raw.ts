/**
 * A client that sends arbitrary bytes over TCP, and parses nothing of the answers but their
 * framing.
 */
import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { reset } from './reset.ts';
import type { TestKey } from './state.ts';
import { bounded } from './wait.ts';

/** A request for a completion as bytes. */
export function rawCompletion(key: TestKey, body: string, headers: Readonly<Record<string, string>> = {}): string {
  const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return (
    `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${key.secret}\r\n${more.join('')}` +
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

export type SecureOptions = Pick<
  ConnectionOptions,
  'ca' | 'ciphers' | 'minVersion' | 'maxVersion' | 'rejectUnauthorized'
>;

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export class RawConnection {
  readonly #socket: Socket;
  /** Grows ahead of the data, so that long answers are not copied repeatedly. */
  #buffer = Buffer.alloc(1024);
  #length = 0;
  #isClosed = false;
  #waiting: (() => void)[] = [];

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => {
      this.#keep(bytes);
      this.#wakeAll();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#isClosed = true;
      this.#wakeAll();
    });
  }

  /** Rejects if nobody listens on the port. With `secure` over TLS, with these options; it rejects if the handshake fails. */
  static open(port: number, secure?: SecureOptions): Promise<RawConnection> {
    return new Promise((resolve, reject) => {
      const address = { port, host: '127.0.0.1', noDelay: true };
      const socket = secure === undefined ? connect(address) : connectTls({ ...address, ...secure });
      const connection = new RawConnection(socket);
      socket.once('error', reject);
      socket.once(secure === undefined ? 'connect' : 'secureConnect', () => resolve(connection));
    });
  }

  /** Opens one, and sends the first bytes on it. */
  static async sending(port: number, bytes: string | Buffer, secure?: SecureOptions): Promise<RawConnection> {
    const connection = await RawConnection.open(port, secure);
    connection.send(bytes);
    return connection;
  }

  /** Who the certificate of the other side is for. Only over TLS. */
  get shownName(): string {
    return String((this.#socket as TLSSocket).getPeerCertificate().subject.CN);
  }

  send(bytes: string | Buffer): void {
    this.#socket.write(bytes);
  }

  /**
   * The next complete answer, interim answers included. Throws if the connection is closed before
   * its end.
   */
  async answer(): Promise<RawAnswer> {
    while (true) {
      const parsed = parseAnswer(this.#received);
      if (parsed !== undefined) {
        this.#buffer = this.#buffer.subarray(parsed.length);
        this.#length -= parsed.length;
        return parsed.answer;
      }
      if (this.#isClosed) throw new Error(`closed after ${JSON.stringify(this.#received.toString('latin1'))}`);
      await this.#change();
    }
  }

  /** Resolves when this text has arrived. */
  async has(text: string): Promise<void> {
    while (!this.#received.includes(text)) {
      if (this.#isClosed) throw new Error(`closed after ${JSON.stringify(this.#received.toString('latin1'))}`);
      await this.#change();
    }
  }

  /** Everything until the other side closes the connection. */
  async rest(): Promise<string> {
    while (!this.#isClosed) await this.#change();
    return this.#received.toString('utf8');
  }

  /** Stops reading, but stays connected. */
  pause(): void {
    this.#socket.pause();
  }

  /** Resets the connection. */
  reset(): void {
    reset(this.#socket);
  }

  /** Closes the connection. */
  leave(): void {
    this.#socket.destroy();
  }

  get #received(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #keep(bytes: Buffer): void {
    const length = this.#length + bytes.length;
    if (length > this.#buffer.length) this.#buffer = Buffer.concat([this.#received], 2 * length);
    this.#length += bytes.copy(this.#buffer, this.#length);
  }

  #wakeAll(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #change(): Promise<void> {
    const change = new Promise<void>((resolve) => this.#waiting.push(resolve));
    return bounded(change, `more than ${JSON.stringify(this.#received.toString('latin1').slice(-200))} has come`);
  }
}

/** The answer at the start of these bytes, and its length. */
function parseAnswer(bytes: Buffer): { answer: RawAnswer; length: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const status = Number(statusLine.split(' ')[1]);
  const start = headEnd + 4;
  const framed =
    headers.get('transfer-encoding') === 'chunked'
      ? parseChunks(bytes, start)
      : { body: bytes.subarray(start), end: start + Number(headers.get('content-length') ?? 0) };
  if (framed === undefined || bytes.length < framed.end) return undefined;
  const body = framed.body.subarray(0, framed.end - start).toString('utf8');
  return { answer: { status, headers, body }, length: framed.end };
}

function parseChunks(bytes: Buffer, start: number): { body: Buffer; end: number } | undefined {
  const pieces: Buffer[] = [];
  let at = start;
  while (true) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (bytes.length < next) return undefined;
    if (size === 0) return { body: Buffer.concat(pieces), end: next };
    pieces.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = next;
  }
}
