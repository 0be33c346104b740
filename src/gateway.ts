/** The composition root: turns a config into running parts, wired to each other. */
import type { AddressInfo } from 'node:net';
import { type Carrier, type CarrierParts, type CarrierView, startCarrier } from './carrier/carrier.ts';
import { startRemoteCarrier } from './carrier/remote.ts';
import type { Config } from './config/config.ts';
import { UserError } from './core/errors.ts';
import { assertFree } from './http/address.ts';
import { type RunningLedger, startLedger } from './ledger/client.ts';
import type { LedgerSettings, LedgerSummary, LedgerView } from './ledger/ledger.ts';
import { type Lock, lockPort, lockState } from './ledger/sqlite-lock.ts';
import type { BoardLook } from './live/board.ts';
import type { Log, OpenLog } from './observe/log.ts';

export interface GatewayEvents {
  /** A thread has died by a fault of the program: the process cannot go on. */
  onFatal(error: Error): void;
}

/** Settings that are not the operator's, and so not in the config. */
export type GatewayOptions = Pick<CarrierParts, 'patience'>;

/** How everything stands at this moment. */
export interface GatewayView {
  readonly carriers: readonly CarrierView[];
  /** Undefined where the ledger cannot tell at the moment. */
  readonly ledger: LedgerView | undefined;
  readonly storageFault: string | undefined;
}

export class Gateway {
  readonly summary: LedgerSummary;
  #config: Config;
  readonly #log: Log;
  readonly #carriers: readonly Carrier[];
  readonly #ledger: RunningLedger;
  readonly #lock: Lock;

  constructor(config: Config, log: Log, { carriers, ledger, lock }: Parts) {
    this.#config = config;
    this.#log = log;
    this.summary = ledger.summary;
    this.#carriers = carriers;
    this.#ledger = ledger;
    this.#lock = lock;
  }

  get address(): AddressInfo {
    return (this.#carriers[0] as Carrier).address;
  }

  /** The config that new requests are served by. */
  get config(): Config {
    return this.#config;
  }

  /** Requests under way. */
  async inFlight(): Promise<number> {
    return sum(await Promise.all(this.#carriers.map((carrier) => carrier.inFlight())));
  }

  /** How things stand, as far as it is wanted; the keys are those that are asked for. */
  async look(look: BoardLook, keyIds: readonly string[]): Promise<GatewayView> {
    const { client } = this.#ledger;
    const ledger = client.view(keyIds).catch(() => undefined);
    const carriers = await Promise.all(this.#carriers.map((carrier) => carrier.look(look)));
    return { carriers, ledger: await ledger, storageFault: client.fault };
  }

  /** Gives up a request that is under way. False where there is none of that id. */
  async stopRequest(id: string): Promise<boolean> {
    const found = await Promise.all(this.#carriers.map((carrier) => carrier.stopRequest(id)));
    return found.includes(true);
  }

  /**
   * Serves what comes from now on by another config; what is under way goes on by the old one. Throws a UserError, and
   * changes nothing, where that takes a restart.
   */
  async reload(config: Config): Promise<void> {
    // The defaults, which stand in where there is none at the start, are not what its operator means now.
    if (this.#config.path !== undefined && config.path === undefined) {
      throw new UserError(`the config file ${this.#config.path} is gone; put it back`);
    }
    const faults = RESTART_FIELDS.filter(([, read]) => read(config) !== read(this.#config));
    if (faults.length > 0) {
      throw new UserError(faults.map(([name]) => `${name}: this was changed, which takes a restart of the gateway`));
    }
    await this.#ledger.client.configure(ledgerSettings(config));
    await Promise.all(this.#carriers.map((carrier) => carrier.reload(config)));
    this.#log.level = config.logLevel;
    this.#config = config;
  }

  /**
   * Lets what is under way finish, for as long as `milliseconds`, then gives up what is left, settles it and closes.
   * Resolves with the number of requests that could not be settled: they stay open in the file. `lastly` is called while
   * nobody else can have the state file yet.
   */
  async stop(milliseconds: number, lastly = () => {}): Promise<number> {
    const unsettled = await Promise.all(this.#carriers.map((carrier) => carrier.stop(milliseconds)));
    // Not before the last one has stopped: until then all are asked how things stand.
    await Promise.all(this.#carriers.map((carrier) => carrier.close()));
    await this.#ledger.close();
    lastly();
    this.#lock.release();
    return sum(unsettled);
  }
}

interface Parts {
  readonly carriers: readonly Carrier[];
  readonly ledger: RunningLedger;
  readonly lock: Lock;
}

/** What cannot change while the gateway runs, by its name in the config file. */
const RESTART_FIELDS: readonly (readonly [name: string, read: (config: Config) => unknown])[] = [
  ['listen', ({ listen }) => `${listen.host} ${listen.port}`],
  ['threads', ({ threads }) => threads],
  ['state', ({ statePath }) => statePath],
  ['durability', ({ durability }) => durability],
];

function ledgerSettings(config: Config): LedgerSettings {
  const { creditEnforced, journalRetentionMs, tier } = config;
  return { creditEnforced, journalRetentionMs, ...tier };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Starts a gateway. Throws a UserError when the state file or the address cannot be had; nothing is left running then. */
export async function startGateway(
  config: Config,
  openLog: OpenLog,
  events: GatewayEvents,
  options: GatewayOptions = {},
): Promise<Gateway> {
  const { log } = openLog;
  const lock = lockState(config.statePath);
  try {
    const ledger = await startLedger(
      { path: config.statePath, durability: config.durability, ...ledgerSettings(config) },
      {
        onStorageFault: (message) => log.error(message),
        onStorageRecovered: () => log.info('the state file can be written again'),
        onDeath: (error) => events.onFatal(error),
      },
    );
    if (ledger.summary.created) log.info(`created the state file ${config.statePath}`);
    const carriers = await startCarriers(config, ledger, openLog, events, options);
    return new Gateway(config, log, { carriers, ledger, lock });
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** One carrier is in this thread; several have threads of their own, which leaves this one to signals and the log. */
async function startCarriers(
  config: Config,
  ledger: RunningLedger,
  { log, write }: OpenLog,
  events: GatewayEvents,
  { patience }: GatewayOptions,
): Promise<Carrier[]> {
  const carriers: Carrier[] = [];
  let portLock: Lock | undefined;
  try {
    if (config.threads === 1) return [await startCarrier({ config, ledger: ledger.client, log, patience })];
    let { listen } = config;
    // One thread alone has the port for itself; of several none has, so that nobody would be told that it is taken.
    if (listen.port !== 0) {
      portLock = await lockPort(listen.port);
      await assertFree(listen);
    }
    while (carriers.length < config.threads) {
      const start = { config: { ...config, listen }, ledger: ledger.connect(), patience };
      const carrier = await startRemoteCarrier(start, { onLog: write, onDeath: events.onFatal });
      carriers.push(carrier);
      // Where the system chose the port, the others take the same one.
      listen = { ...listen, port: carrier.address.port };
    }
    return carriers;
  } catch (error) {
    await Promise.all(carriers.map((carrier) => carrier.stop(0)));
    await Promise.all(carriers.map((carrier) => carrier.close()));
    await ledger.close();
    throw error;
  } finally {
    portLock?.release();
  }
}
