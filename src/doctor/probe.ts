/**
 * Sends one request to a host, and reports the stage of a failure: DNS, connection, TLS or HTTP. Like the gateway, it uses the
 * proxy of the config and ignores proxies of the environment.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { httpCall } from '../core/http-call.ts';
import type { HttpProxy } from '../core/proxy.ts';
import type { Listing } from '../providers/listing.ts';
import { TunnelAgent } from '../upstream/tunnel.ts';

export type Stage = 'DNS' | 'TCP' | 'TLS' | 'HTTP' | 'proxy';

export type Probe =
  | {
      readonly kind: 'answer';
      readonly status: number;
      /** The beginning of the body. Never shown, because hosts may repeat keys in it. */
      readonly text: string;
      /** How far the host's clock is ahead of the local clock, in milliseconds. Undefined without a Date header. */
      readonly aheadMs: number | undefined;
    }
  /** `code`: an error code of Node or OpenSSL, or the status of a proxy's response. */
  | { readonly kind: 'failed'; readonly stage: Stage; readonly code: string };

interface ProbeOptions {
  /** Whether to verify the host's certificate. */
  readonly checksCertificate?: boolean;
  readonly proxy?: HttpProxy | undefined;
}

const MAX_TEXT_BYTES = 16 * 1024;

/** Sends the request. Never rejects. */
export async function probe(
  { origin, path, headers }: Listing,
  timeoutMs: number,
  { checksCertificate = true, proxy }: ProbeOptions = {},
): Promise<Probe> {
  const url = new URL(origin);
  const isTls = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  let stage: Stage = proxy !== undefined ? 'proxy' : isIP(host) === 0 ? 'DNS' : 'TCP';
  const onCall = (call: ClientRequest) =>
    call.once('socket', (socket) => {
      // With a proxy, the socket event follows the tunnel's setup.
      if (proxy !== undefined) stage = isTls ? 'TLS' : 'HTTP';
      socket.on('lookup', (error: Error | null) => {
        if (error === null) stage = 'TCP';
      });
      socket.once('connect', () => {
        stage = isTls ? 'TLS' : 'HTTP';
      });
      socket.once('secureConnect', () => {
        stage = 'HTTP';
      });
    });
  const agent = proxy !== undefined && new TunnelAgent(proxy, isTls ? 'https:' : 'http:', timeoutMs);
  const options = { path, headers: { ...headers }, agent, timeoutMs, rejectUnauthorized: checksCertificate, onCall };
  const sentAtMs = Date.now();
  try {
    return await httpCall(url, options, async (response): Promise<Probe> => {
      const aheadMs = aheadOf(response, sentAtMs, Date.now());
      return { kind: 'answer', status: response.statusCode ?? 0, text: await beginningOf(response), aheadMs };
    });
  } catch (error) {
    return { kind: 'failed', stage, code: (error as NodeJS.ErrnoException).code ?? 'unknown error' };
  }
}

async function beginningOf(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of response.setEncoding('latin1')) {
    text += piece;
    if (text.length > MAX_TEXT_BYTES) break;
  }
  return text;
}

/** Computes the clock difference. The Date header has whole seconds, so half a second is added as the average error. */
function aheadOf({ headers: { date = '' } }: IncomingMessage, sentAtMs: number, nowMs: number): number | undefined {
  const hostMs = Date.parse(date);
  return Number.isNaN(hostMs) ? undefined : hostMs + 500 - (sentAtMs + nowMs) / 2;
}
