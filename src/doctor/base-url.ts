/** Detects base URLs without the API version, such as `https://api.openai.com`, where every request gets a 404. */
import { type HttpProviderConfig, isActive, type ProviderConfig, type UpstreamConfig } from '../config/config.ts';
import { VERSION } from '../core/program.ts';
import { listingOf } from '../providers/listing.ts';
import { type Probe, probe } from './probe.ts';

const USER_AGENT = `inf-gw/${VERSION}`;
/** Last path segment of the documented base URLs, by provider kind. */
const VERSIONS: Partial<Record<HttpProviderConfig['kind'], string>> = {
  openai: '/v1',
  anthropic: '/v1',
  gemini: '/v1beta',
};
const HAS_VERSION = /\/v\d+[a-z\d]*(?:\/|$)/i;

export interface MissingVersion {
  /** The problem. */
  readonly message: string;
  readonly fix: string;
  /** Whether the host answers at the base URL with the version appended. */
  readonly isConfirmed: boolean;
}

/** Returns the missing version; undefined if the URL has one, or its kind does not need it. */
function versionLackedBy(kind: HttpProviderConfig['kind'], { baseUrl }: UpstreamConfig): string | undefined {
  return HAS_VERSION.test(new URL(baseUrl).pathname) ? undefined : VERSIONS[kind];
}

/** Retries a listing that got a 404, with the version in the path. Returns undefined if the base URL has a version. */
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

/** Whether the listing exists: success, or a rejected key. */
function isListing(asked: Probe): boolean {
  if (asked.kind === 'failed') return false;
  return (asked.status >= 200 && asked.status < 300) || asked.status === 401 || asked.status === 403;
}

/** Inserts the version before the query. Plain text replacement, because the address may contain references to variables. */
function withVersion(address: string, version: string): string {
  return address.replace(/\/*(\?.*)?$/s, (_, query = '') => `${version}${query}`);
}

/** Returns a line for each base URL that gets a 404 and has no version. Sends no key. */
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
