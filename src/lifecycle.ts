/** The life of `serve`: says what runs, waits for a signal, and lets everything end in order. */
import { type Config, isActive } from './config/config.ts';
import { formatUsd } from './core/money.ts';
import { type Gateway, startGateway } from './gateway.ts';
import type { Log, OpenLog } from './observe/log.ts';
import { PROGRAM } from './program.ts';

/** Runs a gateway until a signal ends it. Resolves with the exit status. Throws a UserError when it cannot start. */
export async function runGateway(config: Config, openLog: OpenLog): Promise<number> {
  const { log } = openLog;
  const ended = Promise.withResolvers<number>();
  process.on('uncaughtException', (error) => {
    // First of all: the fault may be that of the log.
    ended.resolve(1);
    log.fatal({ err: error }, 'fault of the program');
  });
  const gateway = await startGateway(config, openLog, {
    onFatal: (error) => {
      log.fatal({ err: error }, 'a thread has ended by a fault of the program; requests under way are charged as held');
      ended.resolve(1);
    },
  });
  announce(gateway, config, log);
  stopOnSignal(gateway, config, log, ended.resolve);
  return ended.promise;
}

function announce(gateway: Gateway, config: Config, log: Log): void {
  const { summary } = gateway;
  if (config.path === undefined)
    log.warn('there is no config file: running on the defaults, with the mock provider alone');
  if (summary.recoveredHolds > 0) {
    log.warn(`${counted(summary.recoveredHolds, 'request')} open when the gateway last ended: charged as held`);
  }
  announceProviders(config, log);
  const credit = config.creditEnforced ? '' : ' (not enforced)';
  const balance = formatUsd(summary.balanceNanos);
  const keys = counted(summary.keys, 'key');
  log.info({ balance_usd: balance, keys: summary.keys }, `balance ${balance} USD${credit}, ${keys}`);
  if (needsCredit(config) && summary.balanceNanos <= 0n) {
    log.info(
      `models that cost something are refused until there is credit: \`${commandLine(config, 'credit add 10')}\``,
    );
  }
  if (summary.keys === 0) log.info(`no keys yet: create one with \`${commandLine(config, 'keys create my-app')}\``);
  const { address, port } = gateway.address;
  const host = address.includes(':') ? `[${address}]` : address;
  log.info({ address, port }, `listening on http://${host}:${port}`);
}

function announceProviders(config: Config, log: Log): void {
  const names = config.providers.filter(isActive).map(({ name }) => name);
  const leftOut = config.providers.filter((provider) => !isActive(provider));
  if (leftOut.length > 0) {
    const list = leftOut.map(({ name, missingVariable }) => `${name} (${missingVariable})`).join(', ');
    log.warn(`providers left out, since their variables are not set: ${list}`);
  }
  if (names.length === 0) log.warn('no provider is active: every request will be refused');
  else log.info({ providers: names }, `active providers: ${names.join(', ')}`);
}

/** True when a model can be called that costs something. */
function needsCredit(config: Config): boolean {
  const active = config.providers.filter(isActive);
  return config.creditEnforced && active.some(({ models }) => models.some(({ input, output }) => input + output > 0n));
}

function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** A command as it can be typed where this process was started. */
function commandLine(config: Config, words: string): string {
  const isDefault = config.path === undefined || config.path === `${process.cwd()}/config.yaml`;
  return `${PROGRAM} ${words}${isDefault ? '' : ` --config ${config.path}`}`;
}

function stopOnSignal(gateway: Gateway, config: Config, log: Log, ended: (status: number) => void): void {
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping) {
      log.warn(`${signal} again: leaving at once`);
      ended(1);
      return;
    }
    stopping = true;
    stop(gateway, signal, config, log).then(ended, (error: unknown) => {
      log.fatal({ err: error }, 'fault while stopping');
      ended(1);
    });
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

async function stop(gateway: Gateway, signal: string, config: Config, log: Log): Promise<number> {
  const requests = counted(await gateway.inFlight(), 'request');
  log.info(`${signal}: finishing ${requests}, for ${config.drainTimeoutMs / 1000} s at most`);
  const unsettled = await gateway.stop(config.drainTimeoutMs);
  if (unsettled === 0) {
    log.info('everything is settled');
    return 0;
  }
  log.error(`${counted(unsettled, 'request')} could not be settled: charged as held at the next start`);
  return 1;
}
