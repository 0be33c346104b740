/** An HTTP proxy that opens tunnels by CONNECT, or fails to as a test has it. */
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import type { Certificate } from './fake-upstream.ts';

/** A tunnel that a client has asked for. */
interface Asked {
  /** Host and port. */
  readonly authority: string;
  readonly authorization: string | undefined;
}

/** The reaction to CONNECT: opens the tunnel, answers with a status, closes the connection, or is silent. */
export type Conduct = 'open' | 'close' | 'silent' | number;

export class FakeProxy {
  readonly asked: Asked[] = [];
  conduct: Conduct = 'open';
  /** Where tunnels lead in place of the host that was asked for. */
  target: { readonly host: string; readonly port: number } | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #plain = 0;

  private constructor(certificate: Certificate | undefined) {
    const refuse: RequestListener = (_, response) => {
      this.#plain++;
      response.writeHead(501).end();
    };
    this.#server = certificate === undefined ? createServer(refuse) : createTlsServer(certificate, refuse);
    this.#server.on('connection', (socket) => this.#keep(socket));
    this.#server.on('connect', (request, socket: Socket, head: Buffer) => this.#connect(request, socket, head));
  }

  /** Uses TLS if there is a certificate. */
  static async start(certificate?: Certificate): Promise<FakeProxy> {
    const proxy = new FakeProxy(certificate);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Requests other than CONNECT. */
  get plainRequests(): number {
    return this.#plain;
  }

  /** Forgets which tunnels were asked for, and opens them again. */
  reset(): void {
    this.asked.length = 0;
    this.conduct = 'open';
    this.target = undefined;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {}).once('close', () => this.#sockets.delete(socket));
  }

  #connect({ url = '', headers }: IncomingMessage, client: Socket, head: Buffer): void {
    this.asked.push({ authority: url, authorization: headers['proxy-authorization'] });
    const { conduct } = this;
    if (conduct === 'silent') return;
    if (conduct === 'close') return void client.destroy();
    if (conduct !== 'open') {
      const body = `no tunnel from 127.0.0.1:${this.port}`;
      client.end(`HTTP/1.1 ${conduct} No\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      return;
    }
    const { hostname: host, port } = new URL(`http://${url}`);
    const upstream = connect(this.target ?? { host, port: Number(port || 80) }, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(head);
      upstream.pipe(client).pipe(upstream);
    });
    this.#keep(upstream);
    upstream.once('error', () => client.destroy());
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
  }
}
