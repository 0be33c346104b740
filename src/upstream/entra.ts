/**
 * Tokens of Microsoft Entra for hosts of Azure, found in the default sources of Microsoft's own libraries: the environment,
 * the managed identity of the machine, and Azure's command line. To be loaded when the first request needs it.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { promisify } from 'node:util';
import { httpCall, textOf } from '../core/http-call.ts';
import { isObject, parseJson } from '../core/json.ts';
import type { HttpProxy } from '../core/proxy.ts';
import { holdsSecret, NO_SECRETS } from '../wire/secrets.ts';
import { keptProof, type Proof, type Proofs } from './kept-proof.ts';
import { TunnelAgent } from './tunnel.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Answer = Readonly<Record<string, unknown>>;

interface Cloud {
  /** The suffix of the names of its hosts. */
  readonly domain: string;
  /** The address of its token endpoint. */
  readonly login: string;
}

const PUBLIC: Cloud = { domain: 'azure.com', login: 'https://login.microsoftonline.com' };
/** National clouds, with separate tokens. */
const SOVEREIGN: readonly Cloud[] = [
  { domain: 'azure.us', login: 'https://login.microsoftonline.us' },
  { domain: 'azure.cn', login: 'https://login.chinacloudapi.cn' },
];
/** The instance metadata service of a machine in Azure. */
const METADATA = 'http://169.254.169.254';

/** Timeout of a token endpoint. */
const ANSWER_MS = 10_000;
/** Timeout of the metadata service. Outside of Azure, its address does not respond. */
const METADATA_MS = 3_000;
const COMMAND_MS = 15_000;
/** Maximum length of a response; tokens are much shorter. */
const MAX_ANSWER_BYTES = 256 * 1024;

/**
 * `origin`: the host that the tokens are for. `proxy`: for requests to Entra itself. Concurrent requests share one token
 * request.
 */
export function authorizer(origin: string, environment: Environment = process.env, proxy?: HttpProxy): Proofs {
  const cloud = cloudOf(origin, environment);
  return keptProof(() => findProof(cloud, environment, proxy));
}

/** Selects the cloud by host name. For custom names, such as an API Management gateway, the authority of the login decides. */
function cloudOf(origin: string, { AZURE_AUTHORITY_HOST: authority = '' }: Environment): Cloud {
  const { hostname } = new URL(origin);
  const byHost = SOVEREIGN.find(({ domain }) => hostname.endsWith(`.${domain}`));
  if (byHost !== undefined || hostname.endsWith(`.${PUBLIC.domain}`)) return byHost ?? PUBLIC;
  return SOVEREIGN.find(({ login }) => URL.parse(authority)?.origin === login) ?? PUBLIC;
}

/** The audience of the tokens: Azure OpenAI, and Foundry with its models. */
function resourceOf({ domain }: Cloud): string {
  return `https://cognitiveservices.${domain}`;
}

/** Uses the configured credentials; without any, tries the managed identity and then Azure's command line. */
async function findProof(cloud: Cloud, environment: Environment, proxy: HttpProxy | undefined): Promise<Proof> {
  const { AZURE_TENANT_ID: tenant, AZURE_CLIENT_ID: client, AZURE_CLIENT_SECRET: secret } = environment;
  const { AZURE_FEDERATED_TOKEN_FILE: file, IDENTITY_ENDPOINT: endpoint, IDENTITY_HEADER: header } = environment;
  if (tenant && client && secret) {
    return proofOf(await login(cloud, environment, proxy, secret, { client_secret: secret }));
  }
  if (tenant && client && file) {
    // The file is read each time, because its token is rotated.
    const assertion = (await readFile(file, 'utf8')).trim();
    const proof = { client_assertion_type: JWT, client_assertion: assertion };
    return proofOf(await login(cloud, environment, proxy, assertion, proof));
  }
  if (endpoint && header) {
    const url = identityUrl(endpoint, '2019-08-01', cloud, client);
    return proofOf(await answerTo(url, { headers: { 'x-identity-header': header } }, ANSWER_MS, { secret: header }));
  }
  const url = identityUrl(
    `${environment.AZURE_POD_IDENTITY_AUTHORITY_HOST || METADATA}/metadata/identity/oauth2/token`,
    '2018-02-01',
    cloud,
    client,
  );
  try {
    return proofOf(await answerTo(url, { headers: { metadata: 'true' } }, METADATA_MS));
  } catch (error) {
    return proofOf(await askCommandLine(cloud, String(error)));
  }
}

/** Logs in with the credentials of an app. `proof`: a secret, or a token of a federated identity provider. */
function login(
  cloud: Cloud,
  environment: Environment,
  proxy: HttpProxy | undefined,
  secret: string,
  proof: Readonly<Record<string, string>>,
): Promise<Answer> {
  const { AZURE_TENANT_ID: tenant = '', AZURE_CLIENT_ID: client = '', AZURE_AUTHORITY_HOST: host } = environment;
  const url = new URL(`/${encodeURIComponent(tenant)}/oauth2/v2.0/token`, authorityAt(host || cloud.login));
  const app = { grant_type: 'client_credentials', client_id: client, scope: `${resourceOf(cloud)}/.default` };
  const body = String(new URLSearchParams({ ...app, ...proof }));
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': Buffer.byteLength(body) };
  const agent = proxy !== undefined && url.protocol === 'https:' && new TunnelAgent(proxy, 'https:');
  return answerTo(url, { method: 'POST', headers, agent }, ANSWER_MS, { secret, body });
}

/** Only HTTPS, because the request contains the secret. */
function authorityAt(address: string): URL {
  const url = URL.parse(address);
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && url.hostname === '127.0.0.1')) return url;
  throw new Error(`AZURE_AUTHORITY_HOST: expected an address with https, such as ${PUBLIC.login}`);
}

const JWT = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** `client`: selects one of several identities of the machine. */
function identityUrl(address: string, version: string, cloud: Cloud, client: string | undefined): URL {
  const url = new URL(address);
  const asked = { 'api-version': version, resource: resourceOf(cloud), ...(client && { client_id: client }) };
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
  return url;
}

/** `before`: why the managed identity failed. */
async function askCommandLine(cloud: Cloud, before: string): Promise<Answer> {
  const words = ['account', 'get-access-token', '--output', 'json', '--resource', resourceOf(cloud)];
  try {
    const { stdout } = await promisify(execFile)('az', words, { timeout: COMMAND_MS, killSignal: 'SIGKILL' });
    return answerIn(stdout);
  } catch (error) {
    const reason = isObject(error) && typeof error.stderr === 'string' && error.stderr !== '' ? error.stderr : error;
    throw new Error(
      `set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or run \`az login\`: the machine has no identity (${before}), and az gives no token (${firstLine(reason)})`,
    );
  }
}

interface Sent {
  /** The credential, which must not appear in error messages. */
  readonly secret?: string;
  readonly body?: string;
}

/** Connects directly unless the options have an agent; the environment's proxies are ignored. */
async function answerTo(
  url: URL,
  options: RequestOptions,
  milliseconds: number,
  { secret, body }: Sent = {},
): Promise<Answer> {
  const { status, text } = await httpCall(url, { ...options, body, timeoutMs: milliseconds }, async (response) => ({
    status: response.statusCode,
    text: await textOf(response, MAX_ANSWER_BYTES, () => new Error(`${url.host} sent more than a token`)),
  }));
  if (status === 200) return answerIn(text);
  const { error_description: why = text } = answerIn(text, {});
  const isEcho = secret !== undefined && repeats(String(why), secret);
  throw new Error(`${url.host} answered ${status}: ${isEcho ? WITHHELD : firstLine(why)}`);
}

/** Whether the message contains the secret, plain or form-encoded. */
function repeats(words: string, secret: string): boolean {
  const asInForm = String(new URLSearchParams({ '': secret })).slice('='.length);
  return holdsSecret(words, { ...NO_SECRETS, parts: [secret, asInForm] });
}

function answerIn(text: string, otherwise?: Answer): Answer {
  const answer = parseJson(text)?.value;
  if (isObject(answer)) return answer;
  if (otherwise !== undefined) return otherwise;
  throw new Error('what was sent is no token');
}

const WITHHELD = 'details withheld, because they contain the credential of the gateway';
const MAX_WORDS = 300;

function firstLine(words: unknown): string {
  return (
    String(words)
      .trim()
      .split(/[\r\n]/, 1)[0] ?? ''
  ).slice(0, MAX_WORDS);
}

const FIT_FOR_HEADERS = /^[ -~]+$/;

/**
 * Entra returns the token's lifetime in seconds, the other sources the time of its expiry. Older versions of `az` use local
 * time.
 */
function proofOf({ access_token, accessToken = access_token, expires_in, expires_on, expiresOn }: Answer): Proof {
  if (typeof accessToken !== 'string' || !FIT_FOR_HEADERS.test(accessToken)) throw new Error('the answer has no token');
  const seconds = Number(expires_on ?? Date.now() / 1000 + Number(expires_in));
  const expiresMs = Number.isNaN(seconds) ? Date.parse(String(expiresOn)) : seconds * 1000;
  return { headers: { authorization: `Bearer ${accessToken}` }, expiresMs: Number.isNaN(expiresMs) ? 0 : expiresMs };
}
