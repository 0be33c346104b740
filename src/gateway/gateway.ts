/** The composition root: turns a config into running parts, wired to each other. */
import type { AddressInfo } from 'node:net';
import type { Config } from '../config/config.ts';
import { UserError } from '../core/errors.ts';
import { assertFree } from '../http/address.ts';
import { type RunningLedger, startLedger } from '../ledger/client.ts';
import type { LedgerSettings, LedgerSnapshot, LedgerSummary } from '../ledger/ledger.ts';
import type { Log, OpenLog } from '../observe/log.ts';
import type { SnapshotQuery } from '../observe/monitor.ts';
import { type Lock, lockPort, lockState } from '../state/sqlite/lock.ts';
import { startRemoteWorker } from './remote-worker.ts';
import { startWorker, type Worker, type WorkerParts, type WorkerSnapshot } from './worker.ts';

export interface GatewayEvents {
  /** A thread has died by a fault of the program: the process cannot go on. */
  onFatal(error: Error): void;
}

/** Settings that are not the operator's, and so not in the config. */
export type GatewayOptions = Pick<WorkerParts, 'counting'>;

/** How everything stands at this moment. */
export interface GatewaySnapshot {
  readonly workers: readonly WorkerSnapshot[];
  /** Undefined where the ledger cannot tell at the moment. */
  readonly ledger: LedgerSnapshot | undefined;
  readonly storageFault: string | undefined;
}

export class Gateway {
  readonly summary: LedgerSummary;
  #config: Config;
  readonly #log: Log;
  readonly #workers: readonly Worker[];
  readonly #ledger: RunningLedger;
  readonly #lock: Lock;

  constructor(config: Config, log: Log, { workers, ledger, lock }: Parts) {
    this.#config = config;
    this.#log = log;
    this.summary = ledger.summary;
    this.#workers = workers;
    this.#ledger = ledger;
    this.#lock = lock;
  }

  get address(): AddressInfo {
    return (this.#workers[0] as Worker).address;
  }

  /** The config that new requests are served by. */
  get config(): Config {
    return this.#config;
  }

  /** Requests under way. */
  async inFlight(): Promise<number> {
    return sum(await Promise.all(this.#workers.map((worker) => worker.inFlight())));
  }

  /** How things stand, as far as it is wanted; the keys are those that are asked for. */
  async look(look: SnapshotQuery, keyIds: readonly string[]): Promise<GatewaySnapshot> {
    const { client } = this.#ledger;
    const ledger = client.view(keyIds).catch(() => undefined);
    const workers = await Promise.all(this.#workers.map((worker) => worker.look(look)));
    return { workers, ledger: await ledger, storageFault: client.fault };
  }

  /** Gives up a request that is under way. False where there is none of that id. */
  async stopRequest(id: string): Promise<boolean> {
    const found = await Promise.all(this.#workers.map((worker) => worker.stopRequest(id)));
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
    await Promise.all(this.#workers.map((worker) => worker.reload(config)));
    this.#log.level = config.logLevel;
    this.#config = config;
  }

  /**
   * Lets what is under way finish, for as long as `milliseconds`, then gives up what is left, settles it and closes.
   * Resolves with the number of requests that could not be settled: they stay open in the file. `lastly` is called while
   * nobody else can have the state file yet.
   */
  async stop(milliseconds: number, lastly = () => {}): Promise<number> {
    const unsettled = await Promise.all(this.#workers.map((worker) => worker.stop(milliseconds)));
    // Not before the last one has stopped: until then all are asked how things stand.
    await Promise.all(this.#workers.map((worker) => worker.close()));
    await this.#ledger.close();
    lastly();
    this.#lock.release();
    return sum(unsettled);
  }
}

interface Parts {
  readonly workers: readonly Worker[];
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
    const workers = await startWorkers(config, ledger, openLog, events, options);
    return new Gateway(config, log, { workers, ledger, lock });
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** One worker is in this thread; several have threads of their own, which leaves this one to signals and the log. */
async function startWorkers(
  config: Config,
  ledger: RunningLedger,
  { log, write }: OpenLog,
  events: GatewayEvents,
  { counting }: GatewayOptions,
): Promise<Worker[]> {
  const workers: Worker[] = [];
  let portLock: Lock | undefined;
  try {
    if (config.threads === 1) return [await startWorker({ config, ledger: ledger.client, log, counting })];
    let { listen } = config;
    // One thread alone has the port for itself; of several none has, so that nobody would be told that it is taken.
    if (listen.port !== 0) {
      portLock = await lockPort(listen.port);
      await assertFree(listen);
    }
    while (workers.length < config.threads) {
      const start = { config: { ...config, listen }, ledger: ledger.connect(), counting };
      const worker = await startRemoteWorker(start, { onLog: write, onDeath: events.onFatal });
      workers.push(worker);
      // Where the system chose the port, the others take the same one.
      listen = { ...listen, port: worker.address.port };
    }
    return workers;
  } catch (error) {
    await Promise.all(workers.map((worker) => worker.stop(0)));
    await Promise.all(workers.map((worker) => worker.close()));
    await ledger.close();
    throw error;
  } finally {
    portLock?.release();
  }
}
