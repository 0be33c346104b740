/** Finds base URLs that lack the version of their host's API, such as `https://api.openai.com`: there every request is a 404. */
import { type HttpProviderConfig, isActive, type ProviderConfig, type UpstreamConfig } from '../config/config.ts';
import { VERSION } from '../core/program.ts';
import { listingOf } from '../providers/listing.ts';
import { type Probe, probe } from './probe.ts';

const USER_AGENT = `inf-gw/${VERSION}`;
/** The last segment of the base URLs that hosts of a kind document. */
const VERSIONS: Partial<Record<HttpProviderConfig['kind'], string>> = {
  openai: '/v1',
  anthropic: '/v1',
  gemini: '/v1beta',
};
const HAS_VERSION = /\/v\d+[a-z\d]*(?:\/|$)/i;

export interface MissingVersion {
  /** What went wrong, and how to correct it. */
  readonly message: string;
  readonly fix: string;
  /** Whether the host answers below the base URL with the version. */
  readonly isConfirmed: boolean;
}

/** The version that a base URL lacks; undefined if it has one, or hosts of its kind need none. */
function versionLackedBy(kind: HttpProviderConfig['kind'], { baseUrl }: UpstreamConfig): string | undefined {
  return HAS_VERSION.test(new URL(baseUrl).pathname) ? undefined : VERSIONS[kind];
}

/** Asks a host whose listing was a 404 again, with the version in the path. Undefined if the base URL has one. */
export async function findMissingVersion(
  provider: HttpProviderConfig,
  upstream: UpstreamConfig,
  timeoutMs: number,
): Promise<MissingVersion | undefined> {
  const version = versionLackedBy(provider.kind, upstream);
  if (version === undefined) return undefined;
  const host = { ...provider, ...upstream, baseUrl: withVersion(upstream.baseUrl, version) };
  const asked = await probe(listingOf(host, provider.dialects, USER_AGENT), timeoutMs, provider);
  const message = `its host answers 404 below its base_url, which lacks ${version}`;
  const fix = `set base_url: ${withVersion(upstream.shownBaseUrl, version)}`;
  return { message, fix, isConfirmed: isListing(asked) };
}

/** Whether there is a listing, or would be with another key. */
function isListing(asked: Probe): boolean {
  if (asked.kind === 'failed') return false;
  return (asked.status >= 200 && asked.status < 300) || asked.status === 401 || asked.status === 403;
}

/** Before the query. The address may contain references to variables. */
function withVersion(address: string, version: string): string {
  return address.replace(/\/*(\?.*)?$/s, (_, query = '') => `${version}${query}`);
}

/** A line for each base URL of these providers that lacks a version, where the host answers 404 for it. Sends no key. */
export async function linesAboutBaseUrls(providers: readonly ProviderConfig[], timeoutMs: number): Promise<string[]> {
  const asked = providers.flatMap((provider) => {
    if (provider.kind === 'mock' || !isActive(provider)) return [];
    const anonymous = { ...provider, headers: {} };
    return provider.upstreams
      .filter((upstream) => isActive(upstream) && versionLackedBy(provider.kind, upstream) !== undefined)
      .map((upstream) => lineAbout(anonymous, { ...upstream, apiKey: undefined }, timeoutMs));
  });
  return (await Promise.all(asked)).filter((line) => line !== undefined);
}

async function lineAbout(
  provider: HttpProviderConfig,
  upstream: UpstreamConfig,
  timeoutMs: number,
): Promise<string | undefined> {
  const listing = listingOf({ ...provider, ...upstream }, provider.dialects, USER_AGENT);
  const asked = await probe(listing, timeoutMs, provider);
  if (asked.kind === 'failed' || asked.status !== 404) return undefined;
  const found = await findMissingVersion(provider, upstream, timeoutMs);
  return found && `provider ${upstream.name}: ${found.message}; ${found.fix}`;
}
