/**
 * Finds AWS credentials with Amazon's own packages: in the environment, in files, at the endpoints of containers and
 * machines, and by roles.
 */
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import type { HttpProxy } from '../core/proxy.ts';
import { type RequestBounds, withBoundedRequests, withoutBody } from './bounded-requests.ts';
import { type KeptValue, keptValue } from './kept-proof.ts';
import { TunnelAgent } from './tunnel.ts';

type Credentials = Awaited<ReturnType<ReturnType<typeof defaultProvider>>>;

/** Receives a warning of the packages, as one line. */
export type Notice = (line: string) => void;

/** Credentials have less than 4 KB, and a chain of roles takes a few requests. */
const BOUNDS: RequestBounds = { milliseconds: 10_000, maxBytes: 256 * 1024 };

export interface CredentialOptions {
  readonly region: string;
  /** For requests to AWS services. Endpoints of this machine are connected to directly. */
  readonly proxy: HttpProxy | undefined;
  readonly notice: Notice;
  readonly bounds?: RequestBounds;
}

/** Concurrent requests share one lookup. */
export function awsCredentials({ region, proxy, notice, bounds = BOUNDS }: CredentialOptions): KeptValue<Credentials> {
  const logger = loggerFor(notice);
  const requestHandler = proxy && { httpsAgent: new TunnelAgent(proxy, 'https:') };
  const clientConfig = { region, logger, ...(requestHandler && { requestHandler }) };
  return keptValue(async () => {
    // A provider of the package would wait for an abandoned lookup forever.
    const provider = defaultProvider({ clientConfig, logger });
    const value = await withBoundedRequests(bounds, () => provider()).catch(withoutBody);
    return { value, expiresMs: value.expiration?.getTime() ?? Number.POSITIVE_INFINITY };
  });
}

/** Without a logger the packages write to stderr, in several lines. */
function loggerFor(notice: Notice) {
  const write = (...words: readonly unknown[]) => {
    const texts = words.map((word) => (word instanceof Error ? word.message : word));
    const line = texts.filter((text) => typeof text === 'string').join(' ');
    notice(line.replaceAll(/\s+/g, ' ').trim());
  };
  const ignore = () => {};
  return { trace: ignore, debug: ignore, info: ignore, warn: write, error: write };
}
