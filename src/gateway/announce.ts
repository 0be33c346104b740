/** Logs the startup messages: providers, account, address and next steps. */
import { type Config, isActive } from '../config/config.ts';
import { formatAddress, isLoopback, originOf } from '../core/address.ts';
import { formatUsd } from '../core/money.ts';
import { filesNeeded, openFilesLimit, roomForConnections, tooFew } from '../core/open-files.ts';
import { counted } from '../core/plural.ts';
import { isOnOwnMachine, mustProveItself, serversOf } from '../core/postgres-address.ts';
import { commandLine } from '../core/program.ts';
import { READYZ } from '../http/health.ts';
import type { Log } from '../observe/log.ts';
import type { Gateway } from './gateway.ts';
import { skippedParts } from './served.ts';

export function announceStart(gateway: Gateway, config: Config, log: Log): void {
  const { summary, address, certificate } = gateway;
  if (config.path === undefined) log.warn('no config file: using the defaults, with only the mock provider');
  if (summary.recoveredHolds > 0) {
    log.warn(`charged the holds of ${counted(summary.recoveredHolds, 'request')} left open by the last run`);
  }
  announceDatabase(config, log);
  announceProviders(config, log);
  announceAccount(summary, config, log);
  log.info(
    { address: address.address, port: address.port },
    `listening on ${originOf({ host: address.address, port: address.port }, certificate !== undefined)}`,
  );
  certificate?.announce();
  announceHealth(gateway, log);
  announceMetrics(gateway, log);
  if (certificate === undefined && !isLoopback(address.address)) {
    log.warn(
      'other machines can reach this address, and it is plain HTTP: keys and prompts can be read on the way; set `tls`, or put a proxy with TLS in front of it',
    );
  }
}

function announceHealth({ healthAddress }: Gateway, log: Log): void {
  if (healthAddress === undefined) return;
  const { address: host, port } = healthAddress;
  log.info({ address: host, port }, `health checks on ${originOf({ host, port }, false)}${READYZ} as well`);
}

function announceMetrics({ metricsAddress }: Gateway, log: Log): void {
  if (metricsAddress === undefined) return;
  const { address: host, port } = metricsAddress;
  log.info({ address: host, port }, `metrics on ${originOf({ host, port }, false)}/metrics`);
  if (!isLoopback(host)) log.warn('other machines can read the metrics, which show the spending per model');
}

/** Warns about database connections without a verified certificate. Unix sockets are protected by file permissions. */
function announceDatabase({ state }: Config, log: Log): void {
  if (state.kind === 'file') return;
  for (const server of serversOf(state.address)) {
    if (server.tls.kind === 'verified' || server.host.startsWith('/')) continue;
    const line = mustProveItself(server)
      ? `it must prove by SCRAM that it knows the password, which is not sent; all else is ${server.tls.kind === 'off' ? 'sent in the clear' : 'encrypted'}`
      : 'any program that takes its port can pose as the database';
    const message = `no certificate tells who answers at ${formatAddress(server)}: ${line}; ?sslmode=verify-full checks its certificate`;
    if (isOnOwnMachine(server.host) && mustProveItself(server)) log.info(message);
    else log.warn(message);
  }
}

/** Logs active providers, inactive ones with the reason, and warnings about the config. */
export function announceProviders(config: Config, log: Log): void {
  for (const warning of config.warnings) log.warn(warning);
  const skipped = skippedParts(config);
  if (skipped.length > 0) {
    const list = skipped.map(({ name, missing_variable: variable }) => `${name} (${variable} is not set)`).join(', ');
    log.warn(`skipped providers: ${list}`);
  }
  warnOfFewFiles(config, log);
  const names = config.providers.filter(isActive).map(({ name }) => name);
  if (names.length === 0) log.warn('no active providers: every request will fail');
  else log.info({ providers: names }, `active providers: ${names.join(', ')}`);
}

function warnOfFewFiles({ maxConnections, threads }: Config, log: Log): void {
  const [limit, room] = [openFilesLimit(), roomForConnections(maxConnections, threads)];
  if (limit === undefined || room >= maxConnections) return;
  log.warn(
    `this process ${tooFew(limit, room, maxConnections)}: raise the limit to ${filesNeeded(maxConnections, threads)} ` +
      '(ulimit -n, or LimitNOFILE of the service), or lower max_connections',
  );
}

function announceAccount({ balanceNanos, keys }: Gateway['summary'], config: Config, log: Log): void {
  const balance = formatUsd(balanceNanos);
  const credit = config.creditEnforced ? '' : ' (not enforced)';
  log.info({ balance_usd: balance, keys }, `balance ${balance} USD${credit}, ${counted(keys, 'key')}`);
  if (needsCredit(config) && balanceNanos <= 0n) {
    log.info(
      `no credit: requests to models with a price are refused; add some with \`${commandLine(['credit', 'add', '10'], config.path)}\``,
    );
  }
  if (keys === 0)
    log.info(`no keys yet: create one with \`${commandLine(['keys', 'create', 'my-app'], config.path)}\``);
}

/** Whether credit is enforced and an active model has a price. */
function needsCredit(config: Config): boolean {
  const active = config.providers.filter(isActive);
  return config.creditEnforced && active.some(({ models }) => models.some(({ input, output }) => input + output > 0n));
}
