/** The composition root: turns a config into a running gateway. */
import { existsSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import type { Config } from '../config/config.ts';
import type { Snapshot } from '../control/protocol.ts';
import { formatAddress } from '../core/address.ts';
import { UserError } from '../core/errors.ts';
import { counted } from '../core/plural.ts';
import { VERSION } from '../core/program.ts';
import { assertFree } from '../http/address.ts';
import { lockPort, type PortLock } from '../http/port-lock.ts';
import { type RunningLedger, startLedger } from '../ledger/client.ts';
import type { LedgerSettings, LedgerState, LedgerSummary } from '../ledger/ledger.ts';
import type { Log, OpenLog } from '../observe/log.ts';
import type { SnapshotQuery } from '../observe/worker-snapshot.ts';
import { type Lock, lockState } from '../state/sqlite/lock.ts';
import { keepRequestsYoung } from './heap.ts';
import { startRemoteWorker } from './remote-worker.ts';
import { buildSnapshot } from './snapshot.ts';
import type { Worker, WorkerParts } from './worker.ts';

export interface GatewayEvents {
  /** A thread died of an internal error. The process must end. */
  onFatal(error: Error): void;
}

/** What is not in the config. */
export interface GatewayOptions extends Pick<WorkerParts, 'grace' | 'counter'> {
  /** Listening sockets that this process has been given, as file descriptors: none, or one for each worker. */
  readonly sockets?: readonly number[];
}

export class Gateway {
  readonly summary: LedgerSummary;
  #config: Config;
  readonly #log: Log;
  readonly #workers: readonly Worker[];
  readonly #ledger: RunningLedger;
  /** Of a state file; a database knows its gateways. */
  readonly #lock: Lock | undefined;
  readonly #startedAtMs = Date.now();
  #draining = false;

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

  /** The config for new requests. */
  get config(): Config {
    return this.#config;
  }

  /** How many requests are in flight. */
  async inFlight(): Promise<number> {
    return sum(await Promise.all(this.#workers.map((worker) => worker.inFlight())));
  }

  async snapshot(query: SnapshotQuery): Promise<Snapshot> {
    const { client } = this.#ledger;
    const [ledger, ...workers] = await Promise.all([
      client.snapshot(query.keyIds).catch(() => undefined),
      ...this.#workers.map((worker) => worker.snapshot(query)),
    ]);
    const { address, port } = this.address;
    return buildSnapshot(
      {
        config: this.#config,
        address: { host: address, port },
        startedAtMs: this.#startedAtMs,
        draining: this.#draining,
        workers,
        ledger,
        storageFault: client.storageFault,
      },
      query,
    );
  }

  /** Aborts a request in flight. False if no request in flight has this id. */
  async stopRequest(id: string): Promise<boolean> {
    const found = await Promise.all(this.#workers.map((worker) => worker.stopRequest(id)));
    return found.includes(true);
  }

  /**
   * Applies a config to new requests; requests in flight keep the one they began with. Throws a
   * UserError, and changes nothing, if a field has changed that only a restart can apply.
   */
  async reload(config: Config): Promise<void> {
    // Without a file the defaults apply, but an operator who reloads does not mean those.
    if (this.#config.path !== undefined && config.path === undefined) {
      throw new UserError(`the config file ${this.#config.path} no longer exists; put it back`);
    }
    const changed = RESTART_FIELDS.filter(([, read]) => read(config) !== read(this.#config));
    if (changed.length > 0) {
      throw new UserError(changed.map(([name]) => `${name}: restart the gateway to change this`));
    }
    await this.#ledger.client.configure(ledgerSettings(config));
    await Promise.all(this.#workers.map((worker) => worker.reload(config)));
    this.#log.level = config.logLevel;
    this.#config = config;
  }

  /**
   * Waits up to `milliseconds` for requests in flight, then aborts and settles the rest, and
   * closes. Resolves with the number of requests that could not be settled: their holds stay open
   * in the state file. `beforeUnlock` is called last, while no other gateway can open the state
   * file yet.
   */
  async stop(milliseconds: number, beforeUnlock = () => {}): Promise<number> {
    this.#draining = true;
    const unsettled = await Promise.all(this.#workers.map((worker) => worker.stop(milliseconds)));
    // Not before all have stopped: a snapshot asks each of them.
    await Promise.all(this.#workers.map((worker) => worker.close()));
    await this.#ledger.close();
    beforeUnlock();
    this.#lock?.release();
    return sum(unsettled);
  }
}

interface Parts {
  readonly workers: readonly Worker[];
  readonly ledger: RunningLedger;
  readonly lock: Lock | undefined;
}

/** Fields that only a restart can change, by their names in the config file. */
const RESTART_FIELDS: readonly (readonly [name: string, read: (config: Config) => unknown])[] = [
  ['listen', ({ listen }) => `${listen.host} ${listen.port}`],
  ['threads', ({ threads }) => threads],
  ['state', ({ state }) => JSON.stringify(state)],
  // A gateway that owns its state goes by no name.
  ['node', ({ state, node }) => (state.kind === 'file' ? undefined : node)],
  ['durability', ({ durability }) => durability],
];

function ledgerState({ state, node, listen }: Config): LedgerState {
  if (state.kind === 'file') return state;
  return { ...state, node: { name: node, version: VERSION, address: formatAddress(listen) } };
}

function ledgerSettings(config: Config): LedgerSettings {
  const { creditEnforced, journalRetentionMs, tier } = config;
  return { creditEnforced, journalRetentionMs, ...tier };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/**
 * Starts a gateway. Throws a UserError if it cannot use the state file or the address; nothing is
 * left running then.
 */
export async function startGateway(
  config: Config,
  openLog: OpenLog,
  events: GatewayEvents,
  options: GatewayOptions = {},
): Promise<Gateway> {
  const { log } = openLog;
  keepRequestsYoung();
  const { sockets = [] } = options;
  assertOneForEach(config.threads, sockets);
  // A start that fails for its address must leave no new state file behind.
  if (sockets.length === 0 && (config.state.kind === 'postgres' || !existsSync(config.state.path))) {
    await assertFree(config.listen);
  }
  const lock = config.state.kind === 'file' ? lockState(config.state.path) : undefined;
  let gateway: Gateway | undefined;
  try {
    const startingLedger = startLedger(
      { state: ledgerState(config), durability: config.durability, ...ledgerSettings(config) },
      {
        onStorageFault: (message) => log.error(message),
        onStorageRecovered: () => log.info(`${config.statePath} can be written again`),
        onStops: (requestIds) => {
          for (const id of requestIds) void gateway?.stopRequest(id);
        },
        onDeaths: (names, requests) =>
          log.warn(`no sign of life from ${names.join(', ')}: charged ${counted(requests, 'request')} there as held`),
        onDeath: (error) => events.onFatal(error),
      },
    );
    // Its thread starts while this one loads the HTTP stack, if it needs that.
    const [ledger] = await Promise.all([startingLedger, config.threads === 1 ? import('./worker.ts') : undefined]);
    if (ledger.summary.created) {
      log.info(`created the ${config.state.kind === 'file' ? 'state file' : 'tables in'} ${config.statePath}`);
    }
    const workers = await startWorkers(config, ledger, openLog, events, options);
    gateway = new Gateway(config, log, { workers, ledger, lock });
    return gateway;
  } catch (error) {
    lock?.release();
    throw error;
  }
}

/** A socket without a worker would take connections that nobody answers. */
function assertOneForEach(threads: number, sockets: readonly number[]): void {
  if (sockets.length === 0 || sockets.length === threads) return;
  throw new UserError(
    `systemd passed ${counted(sockets.length, 'socket')}, and \`threads: ${threads}\` needs ${threads}: ` +
      'give the socket unit one ListenStream= line for each, and ReusePort=yes if there are several',
  );
}

/**
 * A single worker runs in this thread. Several have threads of their own; this one then handles
 * signals and the log.
 */
async function startWorkers(
  config: Config,
  ledger: RunningLedger,
  { log, write }: OpenLog,
  events: GatewayEvents,
  { grace, counter, sockets = [] }: GatewayOptions,
): Promise<Worker[]> {
  const workers: Worker[] = [];
  let portLock: PortLock | undefined;
  try {
    if (config.threads === 1) {
      const { startWorker } = await import('./worker.ts');
      return [await startWorker({ config, ledger: ledger.client, log, grace, counter, socket: sockets[0] })];
    }
    let { listen } = config;
    // A single listener fails if the port is taken. Several share the port with SO_REUSEPORT, so
    // none would notice.
    if (listen.port !== 0 && sockets.length === 0) {
      portLock = await lockPort(listen);
      await assertFree(listen);
    }
    while (workers.length < config.threads) {
      const socket = sockets[workers.length];
      const start = { config: { ...config, listen }, ledger: ledger.connect(), grace, socket };
      const worker = await startRemoteWorker(start, { onLog: write, onDeath: events.onFatal });
      workers.push(worker);
      // If the system chose the port, the other workers share it.
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
