/** Checks that each provider is reachable and accepts its key, using free requests. */

import type { HttpProviderConfig, ProviderConfig, UpstreamConfig } from '../config/config.ts';
import { program, VERSION } from '../core/program.ts';
import { within } from '../core/within.ts';
import { type Listing, listingOf, publicListingOf } from '../providers/listing.ts';
import { findMissingVersion, type MissingVersion } from './base-url.ts';
import { type Finding, failure, findingsWithin, ok, warning } from './finding.ts';
import { type Probe, probe, type Stage } from './probe.ts';

/** Time limit per request. A provider gets at most two. */
const PROBE_MS = 7_000;
const USER_AGENT = `inf-gw/${VERSION}`;
/** Matches error bodies of hosts that answer a bad key with 400. */
const ABOUT_KEY = /api[ _-]?key/i;
/** Matches errors for a key that may serve requests but not list models. */
const ABOUT_SCOPES = /missing scopes|insufficient permissions|not authorized to perform/i;
const PROXIES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'];

export interface ProviderReport {
  readonly findings: readonly Finding[];
  /** How far the clocks of hosts are ahead of the local clock, in milliseconds. */
  readonly aheadMs: readonly number[];
}

/** Probes all providers concurrently. Findings are in config order. Never rejects. */
export async function checkProviders(
  providers: readonly ProviderConfig[],
  environment: NodeJS.ProcessEnv,
): Promise<ProviderReport> {
  const reports = await Promise.all(providers.map((provider) => checkProvider(provider, environment)));
  return {
    findings: reports.flatMap(({ findings }) => findings),
    aheadMs: reports.flatMap(({ aheadMs }) => aheadMs),
  };
}

/** Maximum delay of a command by {@link refusedKey}, in milliseconds. */
const REFUSED_KEY_MS = 3_000;

/** Returns a finding if all upstreams of a provider reject the gateway's key. Undefined otherwise, or after the time limit. */
export async function refusedKey(
  provider: ProviderConfig,
  environment: NodeJS.ProcessEnv,
): Promise<Finding | undefined> {
  const check = async () => (await checkProvider(provider, environment)).findings;
  const findings = await findingsWithin(`provider ${provider.name}`, REFUSED_KEY_MS, check);
  return findings.every(({ isKeyRefused }) => isKeyRefused) ? findings[0] : undefined;
}

async function checkProvider(provider: ProviderConfig, environment: NodeJS.ProcessEnv): Promise<ProviderReport> {
  const { kind, name, missingVariable } = provider;
  if (kind === 'mock') return { findings: [ok(`provider ${name}`, 'built in')], aheadMs: [] };
  if (missingVariable !== undefined) return { findings: [leftOut(name, missingVariable)], aheadMs: [] };
  const results = await Promise.all(provider.upstreams.map((upstream) => checkUpstream(provider, upstream)));
  const isProxied = PROXIES.some((variable) => environment[variable]);
  return {
    findings: results.map((result) => findingOf(result, { shownProxy: provider.shownProxy, isProxied })),
    aheadMs: results.flatMap(({ asked }) =>
      asked?.kind === 'answer' && asked.aheadMs !== undefined ? [asked.aheadMs] : [],
    ),
  };
}

interface Result {
  readonly upstream: UpstreamConfig;
  readonly asked?: Probe;
  /** Result without the key, if the request with the key succeeded. */
  readonly unasked?: Probe;
  /** Set after a 404. */
  readonly missingVersion?: MissingVersion | undefined;
  /** The host has no endpoint that could verify a key free of charge. */
  readonly isSilent?: boolean;
  /** Kind of authentication: a configured key, or credentials found by a library; undefined without authentication. */
  readonly proof?: 'key' | 'credentials' | undefined;
  /** The reason for missing credentials. */
  readonly missing?: string;
}

async function checkUpstream(provider: HttpProviderConfig, upstream: UpstreamConfig): Promise<Result> {
  if (upstream.missingVariable !== undefined) return { upstream };
  const host = { ...provider, ...upstream };
  const listing = listingOf(host, provider.dialects, USER_AGENT);
  const proofOf = proofsOf(provider);
  if (proofOf !== undefined && upstream.apiKey === undefined) return checkProven(provider, upstream, listing, proofOf);
  const asked = await probe(listing, PROBE_MS, provider);
  const proof = upstream.apiKey === undefined ? undefined : 'key';
  if (asked.kind === 'answer' && asked.status === 404 && listing.tellsKey) {
    return { upstream, asked, proof, missingVersion: await findMissingVersion(provider, upstream, PROBE_MS) };
  }
  if (asked.kind === 'failed' || !isGood(asked.status) || !listing.tellsKey || proof === undefined) {
    return { upstream, asked, isSilent: !listing.tellsKey, proof };
  }
  const unasked = await probe(publicListingOf(host, provider.dialects, USER_AGENT), PROBE_MS, provider);
  return { upstream, asked, unasked, proof };
}

/** Returns a function that creates authentication headers from the environment's credentials; undefined for other providers. */
function proofsOf({ auth, region, project, proxy }: HttpProviderConfig) {
  if (auth === 'entra') {
    return async ({ origin }: Listing) =>
      (await import('../upstream/entra.ts')).authorizer(origin, process.env, proxy).headers();
  }
  if (project !== undefined) {
    return async () => (await import('../upstream/google.ts')).authorizer({ project, proxy }).headers();
  }
  if (region === undefined) return undefined;
  return async ({ origin, path }: Listing) => {
    const { signerOf } = await import('../upstream/aws.ts');
    const request = { method: 'GET', url: new URL(path, origin), contentType: undefined, body: '' } as const;
    return signerOf('bedrock', { region, proxy, notice: () => {} })(request);
  };
}

/** Probes with the credentials that a gateway in this environment would find. */
async function checkProven(
  { proxy }: HttpProviderConfig,
  upstream: UpstreamConfig,
  listing: Listing,
  proofOf: (listing: Listing) => Promise<Record<string, string>>,
): Promise<Result> {
  try {
    const proof = await within(PROBE_MS, proofOf(listing), () => {
      throw new Error(`no result within ${PROBE_MS} ms`);
    });
    const asked = await probe({ ...listing, headers: { ...listing.headers, ...proof } }, PROBE_MS, { proxy });
    return { upstream, asked, proof: 'credentials' };
  } catch (error) {
    return { upstream, missing: error instanceof Error ? error.message : String(error) };
  }
}

function isGood(status: number): boolean {
  return status >= 200 && status < 300;
}

function leftOut(name: string, variable: string): Finding {
  const fix = `set it where the gateway is started, or remove the provider from the config`;
  return warning(`provider ${name}`, `left out: ${variable} is not set`, fix);
}

function findingOf(result: Result, way: Way): Finding {
  const { upstream, asked, unasked, isSilent, proof, missing, missingVersion } = result;
  const name = `provider ${upstream.name}`;
  if (missing !== undefined) return failure(name, `found no credentials: ${missing}`, FIX_CREDENTIALS);
  if (asked === undefined) return leftOut(upstream.name, upstream.missingVariable ?? '');
  if (asked.kind === 'failed') return unreachable(name, upstream, asked, way);
  if (isSilent) return ok(name, 'answers; its key was not checked: this host has no free request that requires one');
  if (missingVersion !== undefined) {
    const { isConfirmed, message, fix } = missingVersion;
    return isConfirmed ? failure(name, message, fix) : warning(name, message, `${fix}, if its documentation has it`);
  }
  if (!isGood(asked.status)) return refusal(name, asked.status, asked.text, proof);
  if (proof === undefined) return ok(name, 'answers, and asks for no key');
  if (unasked?.kind === 'answer' && isGood(unasked.status)) {
    return ok(name, 'answers; its key was not checked: the host lists its models without one');
  }
  return ok(name, `answers, and accepts its ${proof}`);
}

const FIX_CREDENTIALS =
  'set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (kind bedrock), GOOGLE_APPLICATION_CREDENTIALS (kind vertex), or AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET (auth: entra), where the gateway is started; or its api_key in the config';

const UNUSED_PROXY =
  '; set `proxy` in the config if this network requires one; the environment names a proxy, which the gateway does not use';

/** Problem and fix per stage. */
const STAGES: Readonly<Record<Stage, readonly [what: string, fix: string]>> = {
  DNS: ['its host is not known', 'correct its base_url, or the DNS of this machine'],
  TCP: ['no connection to its host', 'correct its base_url, start the host, or let a firewall pass connections to it'],
  TLS: [
    'its certificate is not trusted, or it does not speak TLS',
    'name the file of its authority in NODE_EXTRA_CA_CERTS, or correct its base_url',
  ],
  HTTP: ['it does not answer as HTTP does', 'correct its base_url, and look at the host'],
  proxy: [
    'its proxy gives no connection to its host',
    'correct `proxy` in the config, or set `proxy: off` for a host that is reached without one',
  ],
};

/** Route to a provider. */
interface Way {
  /** Undefined for a direct connection. */
  readonly shownProxy: string | undefined;
  /** Whether the environment specifies a proxy. */
  readonly isProxied: boolean;
}

function unreachable(
  name: string,
  { shownBaseUrl }: UpstreamConfig,
  { stage, code }: Extract<Probe, { kind: 'failed' }>,
  { shownProxy, isProxied }: Way,
): Finding {
  const [what, fix] = STAGES[stage];
  // Shows the URL as written in the config, because a variable in it may be secret.
  const host = /^https?:\/\/([^/?#]+)/i.exec(shownBaseUrl)?.[1] ?? 'the host of its base_url';
  const way = stage === 'proxy' ? ` through ${shownProxy}` : '';
  const unused = isProxied && shownProxy === undefined ? UNUSED_PROXY : '';
  return failure(name, `${stage}: ${what}: ${host}${way} (${code})`, fix + unused);
}

/** Finding for a rejected or missing key. */
function keyRefusal(name: string, status: number, proof: Result['proof']): Finding {
  switch (proof) {
    case 'credentials':
      return failure(name, `refuses its credentials (${status})`, FIX_CREDENTIALS);
    case 'key':
      return failure(name, `refuses its key (${status})`, 'correct its api_key, or the variable that it names');
    case undefined:
      return failure(name, `asks for a key (${status}), and has none`, 'set its api_key in the config');
  }
}

function refusal(name: string, status: number, text: string, proof: Result['proof']): Finding {
  const unless = `none, unless its requests fail: \`${program()} requests --errors\` shows the reason`;
  const isRefused = status === 401 || status === 403 || (status === 400 && ABOUT_KEY.test(text));
  if (isRefused && ABOUT_SCOPES.test(text)) {
    return warning(name, `answers; its key was not checked, because it may not list models (${status})`, unless);
  }
  if (isRefused) return { ...keyRefusal(name, status, proof), isKeyRefused: true };
  if (status === 402)
    return warning(name, 'answers that the account is out of money (402)', 'add money to the account there');
  if (status === 404 || status === 405) {
    const fix = 'check its base_url; otherwise nothing, unless its requests fail';
    return warning(name, 'answers; its key was not checked, because it has no listing of models there', fix);
  }
  return warning(
    name,
    `answers with ${status}; its key was not checked`,
    'run this again later; if it stays so, check its base_url',
  );
}
