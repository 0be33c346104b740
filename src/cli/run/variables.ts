/** The environment of a command: the variables of its clients are set, and the operator's own keys removed. Pure. */
import { EXAMPLE_PROVIDERS, UNADDRESSED_PROVIDERS } from '../../config/example.ts';
import { accessVariables } from '../clients/access.ts';
import { CLIENTS, type Client, KEY_VARIABLE, type Setup } from '../clients/clients.ts';

/** The secrets that must not reach the command. */
export interface Secrets {
  /** The variables that the config takes secrets from. */
  readonly names: readonly string[];
  /** The values of these variables, and the keys of the configured providers. Other variables may contain them. */
  readonly values: readonly string[];
}

/** Known variables with keys of providers, regardless of the config. */
const KNOWN_KEYS: readonly string[] = [
  ...EXAMPLE_PROVIDERS.flatMap(({ variables }) => variables),
  ...UNADDRESSED_PROVIDERS.map(({ variable }) => variable),
  'ANTHROPIC_AUTH_TOKEN',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'OPENAI_ADMIN_KEY',
  'CODEX_API_KEY',
  'ANTHROPIC_AWS_API_KEY',
  'ANTHROPIC_FOUNDRY_API_KEY',
  // Keys of gateways: the user's own, or of an outer run.
  KEY_VARIABLE,
];

/** Variables that make clients bypass the gateway. A command that is not a client may start one. */
const WAYS_PAST: ReadonlySet<string> = new Set(CLIENTS.flatMap(({ without = [] }) => without));
/**
 * Variables with headers that clients add to requests. A credential among them would be the user's, and a second key to the
 * gateway.
 */
const HEADERS: ReadonlySet<string> = new Set(['ANTHROPIC_CUSTOM_HEADERS', 'OPENAI_CUSTOM_HEADERS']);
const CREDENTIAL_HEADER = /authorization|api-key/i;

/**
 * Shorter secrets, such as `dummy` for a host without keys, occur in other values by chance, and are compared with whole
 * values only.
 */
const LEAST_SECRET_CHARACTERS = 8;

/** Without these variables, clients would send requests for this machine to a proxy. */
const PROXIES = ['http_proxy', 'HTTP_PROXY', 'all_proxy', 'ALL_PROXY'];
const NO_PROXIES = ['no_proxy', 'NO_PROXY'];

/** `client` is undefined for an unknown command. */
export function commandEnvironment(
  environment: NodeJS.ProcessEnv,
  client: Client | undefined,
  setup: Setup,
  secrets: Secrets,
): NodeJS.ProcessEnv {
  return {
    ...withoutWaysPast(withoutSecrets(environment, secrets)),
    ...withoutProxy(environment, new URL(setup.url).hostname),
    ...accessVariables(setup, client?.without),
    ...client?.variables(setup),
  };
}

function withoutWaysPast(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(environment).filter(
    ([name, value = '']) => !WAYS_PAST.has(name) && !(HEADERS.has(name) && CREDENTIAL_HEADER.test(value)),
  );
  return Object.fromEntries(kept);
}

function withoutSecrets(environment: NodeJS.ProcessEnv, { names, values }: Secrets): NodeJS.ProcessEnv {
  const secretNames = new Set([...names, ...KNOWN_KEYS]);
  const ofNames = [...secretNames].map((name) => environment[name] ?? '');
  const secrets = new Set([...values, ...ofNames].map((value) => value.trim()).filter((value) => value !== ''));
  const kept = Object.entries(environment).filter(
    ([name, value = '']) => !secretNames.has(name) && !containsAny(value, secrets),
  );
  return Object.fromEntries(kept);
}

/** Whether a value is or contains a secret: in a header, in JSON or a URL, or in base64. */
function containsAny(value: string, secrets: ReadonlySet<string>): boolean {
  if (secrets.has(value.trim())) return true;
  const texts = [value, ...decoded(value)];
  return [...secrets]
    .filter(({ length }) => length >= LEAST_SECRET_CHARACTERS)
    .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])
    .some((form) => texts.some((text) => text.includes(form)));
}

/** Parts of a value that may be base64, such as the credentials of `Authorization: Basic`. */
function decoded(value: string): string[] {
  const runs = value.match(/[\w+/-]{8,}/g) ?? [];
  return runs.map((run) => Buffer.from(run, 'base64').toString());
}

function withoutProxy(environment: NodeJS.ProcessEnv, host: string): NodeJS.ProcessEnv {
  if (!PROXIES.some((name) => (environment[name] ?? '') !== '')) return {};
  const before = NO_PROXIES.map((name) => environment[name] ?? '').find((value) => value !== '');
  const value = [before, host.replace(/^\[|\]$/g, '')].filter((part) => part !== undefined).join(',');
  return Object.fromEntries(NO_PROXIES.map((name) => [name, value]));
}
