/** The environment of a command on a leash: what its clients read is set, and the operator's own keys are gone. Pure. */
import { EXAMPLE_PROVIDERS, UNADDRESSED_PROVIDERS } from '../../config/example.ts';
import { accessVariables } from '../clients/access.ts';
import { CLIENTS, type Client, KEY_VARIABLE, type Setup } from '../clients/clients.ts';

/** What must not reach the command. */
export interface Secrets {
  /** The variables that the config takes secrets from. */
  readonly names: readonly string[];
  /** What those variables hold, and the keys of the providers in the config: other variables may contain them. */
  readonly values: readonly string[];
}

/** The variables that are known to hold keys of providers, whatever the config says. */
const KNOWN_KEYS: readonly string[] = [
  ...EXAMPLE_PROVIDERS.flatMap(({ variables }) => variables),
  ...UNADDRESSED_PROVIDERS.map(({ variable }) => variable),
  'ANTHROPIC_AUTH_TOKEN',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'OPENAI_ADMIN_KEY',
  'CODEX_API_KEY',
  'ANTHROPIC_AWS_API_KEY',
  'ANTHROPIC_FOUNDRY_API_KEY',
  // Of a gateway: the user's own, or that of a run around this one.
  KEY_VARIABLE,
];

/** What sends clients past the gateway. A command that is not a client may start one. */
const WAYS_PAST: ReadonlySet<string> = new Set(CLIENTS.flatMap(({ without = [] }) => without));
/** Headers that clients add to their requests. With a credential among them the gateway would see two keys, and one is the user's. */
const HEADERS: ReadonlySet<string> = new Set(['ANTHROPIC_CUSTOM_HEADERS', 'OPENAI_CUSTOM_HEADERS']);
const CREDENTIAL_HEADER = /authorization|api-key/i;

/** A shorter one, such as `dummy` for a host without keys, occurs in other values by chance: it only counts as a whole. */
const LEAST_SECRET_CHARACTERS = 8;

/** Without these two sets of names, clients would send their requests for this machine to a proxy. */
const PROXIES = ['http_proxy', 'HTTP_PROXY', 'all_proxy', 'ALL_PROXY'];
const NO_PROXIES = ['no_proxy', 'NO_PROXY'];

/** `client` is undefined for a command that is not a known client. */
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

/** Whether a value is one of the secrets, or contains it: in a header, in JSON or a URL, also in base64. */
function containsAny(value: string, secrets: ReadonlySet<string>): boolean {
  if (secrets.has(value.trim())) return true;
  const texts = [value, ...decoded(value)];
  return [...secrets]
    .filter(({ length }) => length >= LEAST_SECRET_CHARACTERS)
    .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])
    .some((form) => texts.some((text) => text.includes(form)));
}

/** What reads as base64 in a value, such as the credentials of `Authorization: Basic`. */
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
