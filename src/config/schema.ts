/** The shape of the config file, for zod. Fields have their names in the file. */

import * as z from 'zod';
import { AUTH_SCHEMES, BEDROCK_DIALECTS, DIALECT_NAMES, MOCK_DIALECTS, VERTEX_DIALECTS } from '../core/dialects.ts';
import { isObject } from '../core/json.ts';
import { Likenesses } from '../core/likeness.ts';
import { MAX_CONCURRENCY, MAX_RPM, MAX_TPM } from '../core/limits.ts';
import { program } from '../core/program.ts';
import { alertsSchema } from './alerts-schema.ts';
import { refusedHeaders } from './headers.ts';
import {
  inputKinds,
  modelName,
  price,
  pricedValues,
  prices,
  providerName,
  serviceTiers,
  text,
  wholeNumber,
} from './price-schema.ts';
import { parseDays, parseDuration, parseListen, parseMemory, parseShare, parseSize } from './units.ts';

/** A string that `parse` accepts; `expected` is the message if it does not. */
function parsed<T>(parse: (text: string) => T | undefined, expected: string) {
  return z.string({ error: () => expected }).transform((text, context): T => {
    const value = parse(text);
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom', message: expected });
    return z.NEVER;
  });
}

/** A string that `parse` accepts, or off. */
function parsedOrOff<T>(parse: (text: string) => T | undefined, expected: string) {
  return z.union([z.literal('off'), z.literal(false), parsed(parse, expected)], { error: () => expected });
}

const duration = parsed(parseDuration, 'expected a duration such as 500ms, 10s, 5m or 1h');
const RETENTION_EXPECTED = 'expected a number of days such as 90d, or off';
const retention = parsedOrOff(parseDays, RETENTION_EXPECTED);
const size = parsed(parseSize, 'expected a size such as 512kb or 32mb, at most 256mb');
const listen = parsed(parseListen, 'expected host:port, such as 127.0.0.1:8787 or [::1]:8787');

/** More cores than any machine on which one process is sensible. */
const MAX_THREADS = 64;
/** A request may take this multiple of the timeouts of one attempt. */
const MAX_ATTEMPTS = 10;
const MAX_WEIGHT = 1000;
/** More open files than most systems permit a process. */
const MAX_CONNECTIONS = 1_000_000;

const flag = z.boolean({ error: () => 'expected true or false' });

// YAML 1.2 reads off as a string, YAML 1.1 as false.
function onOff(on: string, expected: string) {
  return z.union([z.literal(on), z.literal('off'), z.literal(false)], { error: () => expected });
}

const tier = z.strictObject({
  rpm: wholeNumber(1, MAX_RPM).default(600),
  tpm: wholeNumber(1, MAX_TPM).default(2_000_000),
  concurrency: wholeNumber(1, MAX_CONCURRENCY).default(60),
  models_rpm: wholeNumber(1, MAX_RPM).default(6000),
});

const timeouts = z.strictObject({
  connect: duration.default(10_000),
  first_byte: duration.default(600_000),
  idle: duration.default(300_000),
  request: duration.default(30_000),
  drain: duration.default(30_000),
});

const SHARE_EXPECTED = 'expected a share such as 20%, from 0% to 100%';
const share = z.union([z.number().min(0, SHARE_EXPECTED).max(1, SHARE_EXPECTED), parsed(parseShare, SHARE_EXPECTED)], {
  error: () => SHARE_EXPECTED,
});
const retry = z.strictObject({
  attempts: wholeNumber(1, MAX_ATTEMPTS).default(3),
  budget: share.default(0.2),
});

const overload = z.strictObject({
  loop_delay: parsedOrOff(parseDuration, 'expected a duration such as 500ms, or off').default(500),
  memory: parsedOrOff(parseMemory, 'expected 64mb or more, such as 512mb or 2gb, or off').default('off'),
});

const upstreamTimeouts = z.strictObject({
  connect: duration.optional(),
  first_byte: duration.optional(),
  idle: duration.optional(),
});

const fieldNames = z
  .array(text, { error: () => 'expected a list of field names, such as [models, route]' })
  .default([]);

const toolNames = z.array(text, { error: () => 'expected a list of tools, such as  [mcp, file_search]' }).default([]);

const imageTokens = z.union([wholeNumber(1), z.strictObject({ base: wholeNumber(0), tile: wholeNumber(1) })], {
  error: () => 'expected the most tokens of an image, such as 1600, or its tiles, such as { base: 85, tile: 170 }',
});

const keysExpected = () =>
  `expected a list of ids of keys, such as [key_01jd…], as \`${program()} keys list --json\` has them`;
/** By id: another key may get the name later. */
const keyId = z.string({ error: keysExpected }).regex(/^key_[0-9a-z]+$/i, { error: keysExpected });

const cacheSize = parsed(parseMemory, 'expected 64mb or more, such as 256mb or 2gb');
/** `max`: in bytes. */
const cache = z.strictObject({
  ttl: duration,
  max: cacheSize.default(256 * 1024 * 1024),
  shared: z.boolean({ error: () => 'expected true or false' }).default(false),
  keys: z.array(keyId, { error: keysExpected }).min(1, { error: keysExpected }).optional(),
});

/** A model in the config, whose prices may be in the price file. */
const model = prices.extend({
  input: price.optional(),
  output: price.optional(),
  upstream: text.optional(),
  service_tiers: serviceTiers.default({}),
  speeds: pricedValues('speed', 'standard').default({}),
  inference_geos: pricedValues('inference_geo', 'global').default({}),
  context_window: wholeNumber(1).optional(),
  image_tokens: imageTokens.optional(),
  remote_files: z.literal('context', { error: () => 'expected context, or nothing' }).optional(),
  max_output: wholeNumber(1).optional(),
  max_seconds: wholeNumber(1, 1_000_000).optional(),
  reads: inputKinds.optional(),
  default_output: wholeNumber(1).default(512),
  hold_output: wholeNumber(1).optional(),
  ignore_fields: fieldNames,
  cache_points: onOff('on', 'expected on or off').default('on'),
  cache: cache.optional(),
  fallback: z.array(text, { error: () => 'expected a list of models, <provider>/<model>' }).default([]),
});

const models = z.record(modelName, model, {
  error: () => 'expected a map of model names to prices, such as gpt-4o-mini: { input: 0.15, output: 0.60 }',
});

/** One message for all faults of a proxy, since its address may contain a password. */
export const PROXY_EXPECTED =
  'expected the address of an HTTP proxy, such as http://proxy.example:3128 or http://user:password@proxy.example:3128';

const upstream = z.strictObject({
  base_url: text,
  api_key: text.optional(),
  weight: wholeNumber(1, MAX_WEIGHT).default(1),
});

function dialectsOf<const Names extends readonly [string, ...string[]]>(names: Names) {
  return z
    .array(z.enum(names, { error: () => `expected one of ${names.join(', ')}` }), {
      error: () => `expected a list of dialects, such as [${names.slice(0, 2).join(', ')}]`,
    })
    .min(1, 'expected at least one dialect')
    .optional();
}

const dialects = dialectsOf(DIALECT_NAMES);

const proxy = z.string({ error: () => `${PROXY_EXPECTED}, or off` }).min(1, `${PROXY_EXPECTED}, or off`);

const httpProvider = {
  dialects,
  proxy: z.union([z.literal(false), proxy], { error: () => `${PROXY_EXPECTED}, or off` }).optional(),
  auth: z.enum(AUTH_SCHEMES, { error: () => `expected one of ${AUTH_SCHEMES.join(', ')}` }).optional(),
  base_url: text.optional(),
  api_key: text.optional(),
  upstreams: z
    .array(upstream, { error: () => 'expected a list of upstreams, such as - { base_url: https://… }' })
    .min(1, 'expected at least one upstream')
    .optional(),
  headers: z.record(z.string(), text, { error: () => 'expected a map of header names to strings' }).optional(),
  stream_usage: onOff('on', 'expected on or off').default('on'),
  refuse_fields: fieldNames,
  refuse_headers: refusedHeaders,
  ignore_tools: toolNames,
  responses_state: z.literal('per_key', { error: () => 'expected per_key, or nothing' }).optional(),
  on_disconnect: z.enum(['abort', 'drain'], { error: () => 'expected abort or drain' }).default('abort'),
  timeouts: upstreamTimeouts.optional(),
  models,
};
const openaiProvider = z.strictObject({ kind: z.literal('openai'), ...httpProvider });
const azureProvider = z.strictObject({ kind: z.literal('azure'), ...httpProvider });
const anthropicProvider = z.strictObject({ kind: z.literal('anthropic'), ...httpProvider });

const geminiProvider = z.strictObject({ kind: z.literal('gemini'), ...httpProvider });

/** The form of Amazon's region names. */
const region = z
  .string({ error: () => 'expected a region, such as us-east-1' })
  .regex(/^[a-z]{2,}(?:-[a-z0-9]+)+$/, 'expected a region, such as us-east-1');
const bedrockProvider = z.strictObject({
  kind: z.literal('bedrock'),
  ...httpProvider,
  region,
  dialects: dialectsOf(BEDROCK_DIALECTS),
});

const NO_LOCATION = 'expected a location, such as europe-west1 or global';
const vertexProvider = z.strictObject({
  kind: z.literal('vertex'),
  ...httpProvider,
  project: z
    .string({ error: () => 'expected the id of a project, such as my-project-1' })
    .regex(/^[a-z0-9][a-z0-9:.-]*$/, 'expected the id of a project, such as my-project-1'),
  region: z.string({ error: () => NO_LOCATION }).regex(/^[a-z]+(?:-[a-z0-9]+)*$/, NO_LOCATION),
  dialects: dialectsOf(VERTEX_DIALECTS),
});

const mockProvider = z.strictObject({
  kind: z.literal('mock'),
  dialects: dialectsOf(MOCK_DIALECTS),
  refuse_fields: fieldNames,
  refuse_headers: refusedHeaders,
  ignore_tools: toolNames,
  timeouts: upstreamTimeouts.optional(),
  models,
});

export const KINDS = ['openai', 'azure', 'anthropic', 'gemini', 'bedrock', 'vertex', 'mock'] as const;

/** The kind that resembles a word, or that the word extends. */
export function meantKind(word: string): (typeof KINDS)[number] | undefined {
  const named = KINDS.map((id) => ({ id }));
  const begun = named.find(({ id }) => word.toLowerCase().startsWith(id));
  return (begun ?? new Likenesses(named).mostAlike(word, new Set(named), 1)[0])?.id;
}

/** The message for an unknown kind. */
function faultOfKind(word: unknown): string {
  const meant = typeof word === 'string' ? meantKind(word) : undefined;
  return `expected one of ${KINDS.join(', ')}${meant === undefined ? '' : `; did you mean ${meant}?`}`;
}

export const providerSchema = z.discriminatedUnion(
  'kind',
  [openaiProvider, azureProvider, anthropicProvider, geminiProvider, bedrockProvider, vertexProvider, mockProvider],
  {
    error: ({ code, input }) =>
      code === 'invalid_union'
        ? faultOfKind(isObject(input) ? input.kind : undefined)
        : 'expected a map with kind, models, …',
  },
);

/** Origins of apps other than web pages, such as `tauri://localhost`. The rules for http do not apply to them. */
const OTHER_ORIGIN = /^(?!https?:)[a-z][a-z0-9+.-]*:\/\/[a-z0-9][a-z0-9.-]*(?::\d{1,5})?$/;
const EXPECTED_ORIGIN =
  'expected an origin as browsers send it: scheme, host, and the port if it is not the usual one, such as';

/** The problem with an origin and its proper form; undefined for a valid one. */
function faultOfOrigin(text: string): string | undefined {
  if (text === '*' || OTHER_ORIGIN.test(text)) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // A pattern has the form of a host name.
  const isWeb = url !== undefined && /^https?:$/.test(url.protocol) && !url.hostname.includes('*');
  if (isWeb && url.origin === text) return undefined;
  return `${EXPECTED_ORIGIN} ${isWeb ? url.origin : 'https://app.example'}`;
}

const origin = text.transform((origin, context): string => {
  const fault = faultOfOrigin(origin);
  if (fault === undefined) return origin;
  context.addIssue({ code: 'custom', message: fault });
  return z.NEVER;
});
const cors = z.strictObject(
  {
    origins: z
      .array(origin, { error: () => 'expected a list of origins, such as [https://app.example]' })
      .min(1, 'expected at least one origin'),
  },
  { error: () => 'expected origins, such as { origins: [https://app.example] }' },
);

const MAX_KEY_LABELS = 10_000;
const metrics = z.preprocess(
  (value) => (typeof value === 'string' ? { listen: value } : value),
  z.strictObject(
    {
      listen: parsed(parseListen, 'expected host:port, such as 127.0.0.1:9464 or [::1]:9464'),
      key_labels: wholeNumber(0, MAX_KEY_LABELS).default(0),
      hosts: z
        .array(text.toLowerCase(), { error: () => 'expected a list of host names, such as [gateway.internal]' })
        .default([]),
    },
    { error: () => 'expected host:port, or  { listen: 127.0.0.1:9464, key_labels: 100 }' },
  ),
);

const otel = z.strictObject(
  {
    endpoint: text,
    headers: z.record(z.string(), text, { error: () => 'expected a map of header names to strings' }).default({}),
    attributes: z
      .record(text, text, {
        error: () => 'expected a map of names to strings, such as { deployment.environment.name: prod }',
      })
      .default({}),
    sample: share.default(1),
  },
  { error: () => 'expected an endpoint, such as { endpoint: http://127.0.0.1:4318 }' },
);

const tls = z.strictObject(
  { cert: text, key: text },
  { error: () => 'expected the files of a certificate and its key, such as { cert: ./cert.pem, key: ./key.pem }' },
);

const aliases = z
  .record(modelName, modelName, {
    error: () => 'expected a map of names to models, such as { fast: groq/openai/gpt-oss-20b }',
  })
  .default({});

export const configSchema = z.strictObject({
  listen: listen.default({ host: '127.0.0.1', port: 8787 }),
  tls: tls.optional(),
  threads: wholeNumber(1, MAX_THREADS).default(1),
  state: text.default('./inf-gw.db'),
  prices: text.optional(),
  proxy: z
    .string({ error: () => PROXY_EXPECTED })
    .min(1, PROXY_EXPECTED)
    .optional(),
  node: text.optional(),
  tier: text.default('standard'),
  tiers: z.record(text, tier, { error: () => 'expected a map of tier names to limits' }).optional(),
  credit: onOff('enforced', 'expected enforced or off').default('enforced'),
  durability: z.enum(['full', 'crash'], { error: () => 'expected full or crash' }).default('full'),
  journal_retention: retention.default('off'),
  max_body: size.default(32 * 1024 * 1024),
  max_connections: wholeNumber(1, MAX_CONNECTIONS).default(8192),
  max_connections_per_source: z
    .union([wholeNumber(1, MAX_CONNECTIONS), z.literal('off'), z.literal(false)], {
      error: () => `expected a whole number from 1 to ${MAX_CONNECTIONS}, or off`,
    })
    .optional(),
  overload: overload.prefault({}),
  cap_output: flag.default(false),
  cors: cors.optional(),
  health: parsed(parseListen, 'expected host:port, such as 127.0.0.1:9000 or [::1]:9000').optional(),
  metrics: metrics.optional(),
  alerts: alertsSchema.optional(),
  otel: otel.optional(),
  timeouts: timeouts.prefault({}),
  retry: retry.prefault({}),
  stream_keep_alive: parsedOrOff(parseDuration, 'expected a duration such as 15s, or off').default(15_000),
  log: z
    .strictObject({
      level: z
        .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
          error: () => 'expected one of trace, debug, info, warn, error, fatal, silent',
        })
        .default('info'),
    })
    .prefault({}),
  aliases,
  providers: z
    .record(providerName, providerSchema, { error: () => 'expected a map of provider names to providers' })
    .optional(),
});

export type ParsedConfig = z.infer<typeof configSchema>;
export type ParsedProvider = z.infer<typeof providerSchema>;
export type ParsedHttpProvider = Exclude<ParsedProvider, { kind: 'mock' }>;
export type ParsedUpstream = z.infer<typeof upstream>;
export const DEFAULT_TIER = tier.parse({});
