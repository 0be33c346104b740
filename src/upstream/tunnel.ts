/** Connections to hosts through an HTTP proxy, by CONNECT. */
import type { ClientRequestArgs, IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { Agent, request, requestTls } from '../core/node-http.ts';
import type { HttpProxy } from '../core/proxy.ts';

/** The proxy did not connect to the host. The message has no address. */
export class ProxyError extends Error {
  override name = 'ProxyError';
  /** Node's error code, or the status of the proxy's response. */
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** Advice for the operator, by the proxy's status. */
const ADVICE: Readonly<Record<number, string>> = {
  403: ': it refuses this host',
  407: ': correct the user and password in `proxy`',
  502: ': it cannot reach the host',
  503: ': it cannot reach the host',
  504: ': it cannot reach the host',
};

/**
 * Opens a tunnel to a host. `hostname`: an IPv6 address may have brackets. `timeoutMs`: for the proxy to connect to the host.
 * Rejects with a ProxyError.
 */
export function openTunnel(proxy: HttpProxy, hostname: string, port: number, timeoutMs: number): Promise<Socket> {
  const authority = `${isIP(hostname) === 6 ? `[${hostname}]` : hostname}:${port}`;
  const call = connectRequest(proxy, authority);
  const late = new ProxyError('the proxy did not answer in time', 'ETIMEDOUT');
  const timer = setTimeout(() => call.destroy(late), timeoutMs);
  return new Promise<Socket>((resolve, reject) => {
    const refuse = (status: number) =>
      reject(new ProxyError(`the proxy answered ${status}${ADVICE[status] ?? ''}`, String(status)));
    call.once('connect', ({ statusCode = 0 }: IncomingMessage, socket: Socket, early: Buffer) => {
      if (statusCode >= 200 && statusCode < 300) {
        if (early.length > 0) socket.unshift(early);
        return resolve(socket);
      }
      socket.destroy();
      refuse(statusCode);
    });
    call.on('error', (error: NodeJS.ErrnoException) => {
      const { code = 'unknown error' } = error;
      reject(error === late ? late : new ProxyError(`no connection to the proxy (${code})`, code));
    });
    call.end();
  }).finally(() => clearTimeout(timer));
}

function connectRequest({ origin, authorization }: HttpProxy, authority: string) {
  const { hostname, port, protocol } = new URL(origin);
  const isTls = protocol === 'https:';
  return (isTls ? requestTls : request)({
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port || (isTls ? 443 : 80),
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...(authorization !== undefined && { 'proxy-authorization': authorization }) },
    // Without a pooled connection, and without the environment's proxy.
    agent: false,
  });
}

type OnSocket = (error: Error | null, socket: Duplex) => void;

/** The default connect timeout of a host. */
const CONNECT_MS = 10_000;

/** An agent for Node's HTTP client, and for libraries that use it. */
export class TunnelAgent extends Agent {
  readonly #proxy: HttpProxy;
  readonly #timeoutMs: number;
  /** Node compares it with the scheme of a request. */
  readonly protocol: 'http:' | 'https:';
  readonly defaultPort: number;

  /** `scheme`: the scheme of the hosts. */
  constructor(proxy: HttpProxy, scheme: 'http:' | 'https:', timeoutMs = CONNECT_MS) {
    super({ keepAlive: false });
    this.#proxy = proxy;
    this.#timeoutMs = timeoutMs;
    this.protocol = scheme;
    this.defaultPort = scheme === 'https:' ? 443 : 80;
  }

  override createConnection(options: ClientRequestArgs, onSocket?: OnSocket): undefined {
    const { host, port } = options;
    openTunnel(this.#proxy, host ?? 'localhost', Number(port ?? this.defaultPort), this.#timeoutMs).then(
      (socket) => onSocket?.(null, this.protocol === 'https:' ? secured(socket, options) : socket),
      (error) => onSocket?.(error, undefined as never),
    );
    return undefined;
  }
}

/** A request's options include the TLS options. */
function secured(socket: Socket, options: ClientRequestArgs): Duplex {
  return connectTls({ ...(options as ConnectionOptions), socket });
}
