/** `config check`: validates the config and shows it as it would run. Secrets are masked. */
import type { Command } from 'commander';
import { Catalog, type Model } from '../catalog/catalog.ts';
import { hasLongContext } from '../catalog/long-context.ts';
import { lacksImagePrice } from '../catalog/media.ts';
import { readCertificate, validityOf } from '../config/certificate.ts';
import { type Config, isActive, type ProviderConfig, type UpstreamConfig } from '../config/config.ts';
import { formatAddress, originOf } from '../core/address.ts';
import { type AlertTarget, shownTarget } from '../core/alert-targets.ts';
import { DAY_MS } from '../core/clock.ts';
import { counted } from '../core/plural.ts';
import { showState } from '../core/state-location.ts';
import { count, countOf, milliseconds } from '../operator/format.ts';
import { marked, type Table } from '../operator/table.ts';
import { notice, printFields, printJson, printLine, printNote, printTable } from './output.ts';
import { configOf, globalOptions } from './state.ts';

export function registerConfig(program: Command): void {
  program
    .command('config')
    .description('check the config file')
    .command('check')
    .description('validate the config and show what would run, with secrets masked')
    .addHelpText(
      'after',
      '\nExamples:\n  inf-gw config check\n  inf-gw config check --config /etc/inf-gw/config.yaml --json',
    )
    .action((_: unknown, command: Command) => check(command));
}

/** Models that refuse requests for want of a price of the images that they return. Those billed by the piece alone take none. */
function linesAboutImages({ providers }: Config): string[] {
  const models = providers.flatMap(({ name, models }) => models.map((model) => ({ ...model, provider: name })));
  return models
    .filter((model) => lacksImagePrice(model) && model.isWithoutTokenPrices !== true)
    .map(
      ({ provider, name }) =>
        `${provider}/${name} returns images and has no price for them, so text requests to it get 400: set image_output`,
    );
}

/** The time for a host to answer a check of its base URL, in milliseconds. */
const ASKING_MS = 3_000;

async function check(command: Command): Promise<void> {
  const config = configOf(command);
  const certificate = config.tls && readCertificate(config.tls, Date.now());
  // Loaded here so that the other commands for configs start faster.
  const { linesAboutBaseUrls } = await import('../doctor/base-url.ts');
  const aboutBaseUrls = await linesAboutBaseUrls(config.providers, ASKING_MS);
  const warnings = [...config.warnings, ...linesAboutImages(config), ...aboutBaseUrls];
  for (const warning of warnings) notice(`warning: ${warning}`);
  if (globalOptions(command).json) return printJson(configJson(config));
  const { tier } = config;
  printLine(config.path === undefined ? 'No config file: using the defaults.' : `${config.path} is valid.`);
  printLine();
  printFields([
    ['listen', formatAddress(config.listen)],
    ['tls', certificate === undefined ? 'off' : `${config.tls?.cert}, ${validityOf(certificate, Date.now()).text}`],
    ['threads', count(config.threads)],
    ...stateFields(config),
    ...pricesFields(config),
    ['credit', config.creditEnforced ? 'enforced' : 'off'],
    ['max body size', countOf(config.maxBodyBytes, 'byte')],
    ['cap output', config.capOutput ? 'yes' : 'no'],
    ['durability', config.durability],
    ['journal retention', retentionOf(config)],
    ['log level', config.logLevel],
    ...(config.aliases.size === 0 ? [] : [['aliases', aliasesOf(config)] as const]),
    ['cors', config.corsOrigins?.join(', ') ?? 'off'],
    ['health checks', healthOf(config)],
    ['metrics', metricsOf(config)],
    ['traces', tracesOf(config)],
    ['request timeout', milliseconds(config.timeouts.requestMs)],
    ['drain timeout', milliseconds(config.timeouts.drainMs)],
    ...config.alerts.map((target) => [`alerts to ${target.name}`, alertText(target)] as const),
    ['default tier', config.tierName],
    ['  requests per minute', count(tier.rpm)],
    ['  tokens per minute', count(tier.tpm)],
    ['  concurrency', count(tier.concurrency)],
    ['  model listings per minute', count(tier.modelsRpm)],
  ]);
  printLine();
  printTable(providersTable(config));
  const notes = notesOn(config);
  if (notes.length > 0) printLine();
  for (const note of notes) printNote(note);
}

/** Warnings about a valid config that is probably a mistake. */
function notesOn({ providers, aliases }: Config): string[] {
  const catalog = new Catalog(providers, aliases);
  return catalog.models
    .filter(({ active }) => active)
    .flatMap((model) => [
      ...catalog
        .inactiveFallbacks(model)
        .map(({ id, variable }) => `${model.id}: its fallback ${id} is not active: ${variable} is not set.`),
      ...(opensLongContext(model) && model.above === undefined
        ? [`${model.id}: a long context costs what any other does. If its host charges more for it, say so with above.`]
        : []),
    ]);
}

/** Whether clients can request a long context by the name of a model. */
function opensLongContext(model: Model): boolean {
  return model.dialects.includes('messages') && hasLongContext(model);
}

function providersTable({ providers }: Config): Table {
  const hasProxies = providers.some((provider) => provider.kind !== 'mock' && provider.shownProxy !== undefined);
  return {
    columns: [
      { head: 'PROVIDER', least: 10 },
      { head: 'KIND', rank: 3 },
      { head: 'ACTIVE', least: 14 },
      { head: 'MODELS', number: true, rank: 2 },
      { head: 'ADDRESS', least: 20, rank: 1 },
      { head: 'KEY', rank: 4 },
      ...(hasProxies ? [{ head: 'PROXY', rank: 5 }] : []),
    ],
    rows: providers.map((provider) => {
      const shown = providerJson(provider);
      const { missing_variable: variable } = shown;
      const active = variable === null ? marked('yes', 'good') : marked(`no: ${variable} is not set`, 'warn');
      const cells = [shown.name, shown.kind, active, String(shown.models.length)];
      const ends = [shown.base_url ?? '-', shown.api_key ?? '-', ...(hasProxies ? [shown.proxy ?? '-'] : [])];
      return [...cells, ...ends];
    }),
  };
}

/** Only gateways that share a database have names. */
function stateFields({ state, node }: Config): readonly (readonly [name: string, value: string])[] {
  const shown = showState(state);
  switch (state.kind) {
    case 'file':
      return [['state file', shown]];
    case 'postgres':
      return [
        ['state database', shown],
        ['node', node],
      ];
  }
}

function healthOf({ listen, tls, health }: Config): string {
  return `${originOf(health ?? listen, health === undefined && tls !== undefined)}/readyz`;
}

function aliasesOf({ aliases }: Config): string {
  return [...aliases].map(([name, model]) => `${name} = ${model}`).join(', ');
}

function metricsOf({ metrics }: Config): string {
  if (metrics === undefined) return 'off';
  const keys = metrics.keyLabels === 0 ? '' : `, up to ${countOf(metrics.keyLabels, 'key')} by id`;
  return `${originOf(metrics.listen, false)}/metrics${keys}`;
}

function pricesFields({ prices }: Config): readonly (readonly [name: string, value: string])[] {
  if (prices === undefined) return [];
  return [['prices', `${prices.path}: ${counted(prices.models, 'model')}, as of ${prices.importedAt}`]];
}

function tracesOf({ otel }: Config): string {
  if (otel === undefined) return 'off';
  return otel.sampleRatio === 1
    ? otel.url
    : `${otel.url}, ${Number((otel.sampleRatio * 100).toFixed(6))}% of the requests`;
}

/** A duration in the form of the config file. */
function retentionOf({ journalRetentionMs: milliseconds }: Config): string {
  return milliseconds === undefined ? 'off' : `${milliseconds / DAY_MS}d`;
}

function configJson(config: Config) {
  const { tier } = config;
  return {
    ok: true,
    path: config.path ?? null,
    listen: formatAddress(config.listen),
    tls: config.tls ?? null,
    threads: config.threads,
    state: config.statePath,
    node: config.node,
    prices: pricesJson(config),
    credit: config.creditEnforced ? 'enforced' : 'off',
    max_body_bytes: config.maxBodyBytes,
    max_connections: config.maxConnections,
    max_connections_per_source: config.maxPerSource ?? null,
    health: config.health ? formatAddress(config.health) : null,
    overload: { loop_delay_ms: config.overload.loopDelayMs ?? null, memory_bytes: config.overload.memoryBytes ?? null },
    cap_output: config.capOutput,
    durability: config.durability,
    journal_retention: retentionOf(config),
    log_level: config.logLevel,
    cors: config.corsOrigins ? { origins: config.corsOrigins } : null,
    metrics: config.metrics
      ? { listen: formatAddress(config.metrics.listen), key_labels: config.metrics.keyLabels }
      : null,
    otel: config.otel
      ? {
          url: config.otel.url,
          headers: Object.keys(config.otel.headers),
          attributes: config.otel.attributes,
          sample: config.otel.sampleRatio,
        }
      : null,
    request_timeout_ms: config.timeouts.requestMs,
    drain_timeout_ms: config.timeouts.drainMs,
    tier: config.tierName,
    limits: { rpm: tier.rpm, tpm: tier.tpm, concurrency: tier.concurrency, models_rpm: tier.modelsRpm },
    alerts: config.alerts.map(alertJson),
    aliases: Object.fromEntries(config.aliases),
    providers: config.providers.map(providerJson),
  };
}

function pricesJson({ prices }: Config) {
  return prices === undefined ? null : { path: prices.path, imported_at: prices.importedAt, models: prices.models };
}

/** The path and query of a webhook's address are secrets. */
function alertJson(target: AlertTarget) {
  return {
    name: target.name,
    address: shownTarget(target),
    ...(target.kind === 'webhook' && { format: target.format, signed: target.secret !== undefined }),
    active: target.missingVariable === undefined,
    missing_variable: target.missingVariable ?? null,
  };
}

function alertText(target: AlertTarget): string {
  if (target.missingVariable !== undefined) return `nowhere: ${target.missingVariable} is not set`;
  if (target.kind === 'command') return shownTarget(target);
  return `${shownTarget(target)} (${target.format}, ${target.secret === undefined ? 'not signed' : 'signed'})`;
}

function providerJson(provider: ProviderConfig) {
  const upstreams = provider.kind !== 'mock' ? provider.upstreams.map(upstreamJson) : [];
  return {
    name: provider.name,
    kind: provider.kind,
    active: isActive(provider),
    missing_variable: provider.missingVariable ?? null,
    ...soleUpstream(upstreams),
    upstreams,
    headers: provider.kind !== 'mock' ? Object.keys(provider.headers) : [],
    proxy: provider.kind !== 'mock' ? (provider.shownProxy ?? null) : null,
    timeouts_ms: {
      connect: provider.timeouts.connectMs,
      first_byte: provider.timeouts.firstByteMs,
      idle: provider.timeouts.idleMs,
    },
    models: provider.models.map((model) => `${provider.name}/${model.name}`),
  };
}

function upstreamJson(upstream: UpstreamConfig) {
  return {
    name: upstream.name,
    base_url: withoutQueryValues(upstream.shownBaseUrl),
    api_key: masked(upstream.apiKey),
    weight: upstream.weight,
    active: isActive(upstream),
    missing_variable: upstream.missingVariable ?? null,
  };
}

/** A provider with a single upstream shows its address and key as its own. */
function soleUpstream([sole, ...others]: readonly ReturnType<typeof upstreamJson>[]) {
  if (sole === undefined || others.length > 0) return { base_url: null, api_key: null };
  return { base_url: sole.base_url, api_key: sole.api_key };
}

/** A query may contain a signature. References to variables are shown as in the config file. */
function withoutQueryValues(address: string): string {
  return address.replace(/([?&][^=&]*=)(?!\$\{)[^&]*/g, '$1…');
}

/** Enough characters to distinguish two secrets. */
function masked(secret: string | undefined): string | null {
  if (secret === undefined || secret === '') return null;
  return secret.length < 16 ? '…' : `…${secret.slice(-4)}`;
}
