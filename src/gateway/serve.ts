/** The life of `serve`: says what runs, waits for a signal, and lets everything end in order. */
import { type Config, isActive } from '../config/config.ts';
import { type Look, type Snapshot, socketPathOf } from '../control/protocol.ts';
import { type ControlHandlers, ControlServer } from '../control/server.ts';
import { formatAddress } from '../core/address.ts';
import { UserError } from '../core/errors.ts';
import { formatUsd } from '../core/money.ts';
import { PROGRAM } from '../core/program.ts';
import type { Log, OpenLog } from '../observe/log.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { snapshotOf } from './snapshot.ts';

/**
 * Runs a gateway until a signal ends it. `readConfig` is for `reload`. Resolves with the exit status. Throws a UserError
 * when it cannot start.
 */
export async function runGateway(config: Config, openLog: OpenLog, readConfig: () => Config): Promise<number> {
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
  const operation = new Operation(gateway, log, readConfig, ended.resolve);
  await operation.begin();
  announce(gateway, config, log);
  return ended.promise;
}

/** What the operator does to a running gateway: by signals, and through the control socket. */
class Operation implements ControlHandlers {
  readonly #gateway: Gateway;
  readonly #log: Log;
  readonly #readConfig: () => Config;
  readonly #ended: (status: number) => void;
  readonly #startedAtMs = Date.now();
  #draining = false;
  #control: ControlServer | undefined;

  constructor(gateway: Gateway, log: Log, readConfig: () => Config, ended: (status: number) => void) {
    this.#gateway = gateway;
    this.#log = log;
    this.#readConfig = readConfig;
    this.#ended = ended;
  }

  async begin(): Promise<void> {
    const socketPath = socketPathOf(this.#gateway.config.statePath);
    try {
      const control = new ControlServer(socketPath, this);
      await control.listen();
      this.#control = control;
    } catch (error) {
      // Requests can be served without it.
      this.#log.error({ err: error }, `${(error as Error).message}; status, reload and tui cannot reach this gateway`);
    }
    process.on('SIGTERM', (signal) => this.#onSignal(signal));
    process.on('SIGINT', (signal) => this.#onSignal(signal));
    process.on('SIGHUP', () => void this.reload().catch(() => {}));
  }

  snapshot(look: Look): Promise<Snapshot> {
    const circumstances = { startedAtMs: this.#startedAtMs, draining: this.#draining };
    return snapshotOf(this.#gateway, circumstances, look);
  }

  stopRequest(id: string): Promise<boolean> {
    return this.#gateway.stopRequest(id);
  }

  async reload(): Promise<void> {
    try {
      if (this.#draining) throw new UserError('the gateway is shutting down, and takes no other config');
      const config = this.#readConfig();
      await this.#gateway.reload(config);
      this.#log.info('the config was read anew');
      announceProviders(config, this.#log);
    } catch (error) {
      const lines = error instanceof UserError ? error.lines : [String(error)];
      for (const line of lines) this.#log.error(`the config stays as it was: ${line}`);
      throw error;
    }
  }

  drain(): void {
    this.#onSignal('drain');
  }

  #onSignal(signal: string): void {
    if (this.#draining) {
      this.#log.warn(`${signal} again: leaving at once`);
      this.#ended(1);
      return;
    }
    this.#draining = true;
    this.#stop(signal).then(this.#ended, (error: unknown) => {
      this.#log.fatal({ err: error }, 'fault while stopping');
      this.#ended(1);
    });
  }

  async #stop(signal: string): Promise<number> {
    const { drainMs } = this.#gateway.config.timeouts;
    const requests = counted(await this.#gateway.inFlight(), 'request');
    this.#log.info(`${signal}: finishing ${requests}, for ${drainMs / 1000} s at most`);
    // A gateway that starts at once may put a socket of its own in the place of this one.
    const unsettled = await this.#gateway.stop(drainMs, () => this.#control?.close());
    if (unsettled === 0) {
      this.#log.info('everything is settled');
      return 0;
    }
    this.#log.error(`${counted(unsettled, 'request')} could not be settled: charged as held at the next start`);
    return 1;
  }
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
  log.info({ address, port }, `listening on http://${formatAddress({ host: address, port })}`);
}

interface Omittable {
  readonly name: string;
  readonly missingVariable: string | undefined;
}

function announceProviders(config: Config, log: Log): void {
  const names = config.providers.filter(isActive).map(({ name }) => name);
  // Of a provider that has several upstreams, some can be left out.
  const leftOut = config.providers
    .flatMap<Omittable>((each) => (isActive(each) && each.kind === 'openai' ? each.upstreams : [each]))
    .filter(({ missingVariable }) => missingVariable !== undefined);
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
