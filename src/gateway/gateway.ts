/** The composition root: turns a config into a running gateway. */
import type { AddressInfo } from 'node:net';
import type { Config } from '../config/config.ts';
import type { Snapshot } from '../control/protocol.ts';
import { formatAddress } from '../core/address.ts';
import { UserError } from '../core/errors.ts';
import { counted } from '../core/plural.ts';
import { VERSION } from '../core/program.ts';
import { assertFree } from '../http/address.ts';
import { lockPort, type PortLock } from '../http/port-lock.ts';
import { prepareLedger, type RunningLedger } from '../ledger/client.ts';
import type { LedgerSettings, LedgerState, LedgerSummary } from '../ledger/ledger.ts';
import type { Log, OpenLog } from '../observe/log.ts';
import type { SnapshotQuery, WorkerSnapshot } from '../observe/worker-snapshot.ts';
import { type Lock, lockHandedOver } from '../state/sqlite/lock.ts';
import type { ListeningSocket } from '../takeover/pass-sockets.ts';
import type { Predecessor } from '../takeover/predecessor.ts';
import type { HandingOver } from '../takeover/successor.ts';
import { keepRequestsYoung } from './heap.ts';
import { keysToAskFor } from './key-activity.ts';
import { openState, takeOver } from './open-state.ts';
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

export class Gateway implements HandingOver {
  readonly summary: LedgerSummary;
  #config: Config;
  readonly #log: Log;
  readonly #workers: readonly Worker[];
  readonly ledger: RunningLedger;
  /** Of a state file; a database knows its gateways. */
  #lock: Lock | undefined;
  /** The process that this one has taken over from, until that ends. */
  #predecessor: Predecessor | undefined;
  readonly #startedAtMs = Date.now();
  #draining = false;

  constructor(config: Config, log: Log, { workers, ledger, lock, predecessor }: Parts) {
    this.#config = config;
    this.#log = log;
    this.summary = ledger.summary;
    this.#workers = workers;
    this.ledger = ledger;
    this.#lock = lock;
    this.#predecessor = predecessor;
    void predecessor?.ended.then(() => {
      log.info(
        { pid: predecessor.greeting.pid },
        `process ${predecessor.greeting.pid}, which served before, has ended`,
      );
      this.#predecessor = undefined;
    });
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
    const { client } = this.ledger;
    const [own, earlier = []] = await Promise.all([
      Promise.all(this.#workers.map((worker) => worker.snapshot(query))),
      this.#predecessor?.snapshots(query),
    ]);
    const keyIds = keysToAskFor(query.keyIds, [...own, ...earlier]);
    const ledger = await client.snapshot(keyIds).catch(() => undefined);
    const { address, port } = this.address;
    return buildSnapshot(
      {
        config: this.#config,
        address: { host: address, port },
        startedAtMs: this.#startedAtMs,
        draining: this.#draining,
        workers: own,
        earlier: this.#predecessor && { pid: this.#predecessor.greeting.pid, workers: earlier },
        ledger,
        storageFault: client.storageFault,
      },
      query,
    );
  }

  /** Aborts a request in flight. False if no request in flight has this id. */
  async stopRequest(id: string): Promise<boolean> {
    const found = await Promise.all([...this.#workers, this.#predecessor].map((each) => each?.stopRequest(id)));
    return found.includes(true);
  }

  /** Of all threads that have requests in flight, those of an earlier process included. */
  async snapshots(query: SnapshotQuery): Promise<readonly WorkerSnapshot[]> {
    const own = await Promise.all(this.#workers.map((worker) => worker.snapshot(query)));
    return [...own, ...((await this.#predecessor?.snapshots(query)) ?? [])];
  }

  async sockets(): Promise<readonly ListeningSocket[]> {
    return (await Promise.all(this.#workers.map((worker) => worker.sockets()))).flat();
  }

  /** False while and after another process takes it over. */
  get hasState(): boolean {
    return this.#config.state.kind === 'postgres' || this.#lock !== undefined;
  }

  unlock(): void {
    this.#lock?.release();
    this.#lock = undefined;
  }

  async relock(): Promise<void> {
    this.#lock = await lockHandedOver(this.#config.statePath);
  }

  /**
   * Accepts nothing more: another process does. Resolves when nothing is left to do here, nor in a
   * process that has handed over to this one; or when no request has come for so long.
   */
  async leave(quietMs: number): Promise<void> {
    await Promise.all([...this.#workers.map((worker) => worker.leave(quietMs)), this.#predecessor?.ended]);
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
    await this.ledger.client.configure(ledgerSettings(config));
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
    const [unsettled] = await Promise.all([
      Promise.all(this.#workers.map((worker) => worker.stop(milliseconds))),
      this.#predecessor?.stop(milliseconds, PREDECESSOR_GRACE_MS),
    ]);
    // Not before all have stopped: a snapshot asks each of them.
    await Promise.all(this.#workers.map((worker) => worker.close()));
    await this.ledger.close();
    beforeUnlock();
    this.#lock?.release();
    return sum(unsettled);
  }
}

interface Parts {
  readonly workers: readonly Worker[];
  readonly ledger: RunningLedger;
  readonly lock: Lock | undefined;
  readonly predecessor: Predecessor | undefined;
}

/** How long a process that has handed over may take to end after the time for its requests, in milliseconds. */
const PREDECESSOR_GRACE_MS = 10_000;

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
 * Starts a gateway, in the place of the one that it takes over from, if there is one. Throws a
 * UserError if it cannot use the state file or the address; nothing is left running then.
 */
export async function startGateway(
  config: Config,
  openLog: OpenLog,
  events: GatewayEvents,
  options: GatewayOptions = {},
  predecessor?: Predecessor,
): Promise<Gateway> {
  const { log } = openLog;
  keepRequestsYoung();
  let gateway: Gateway | undefined;
  const prepare = (isAhead: boolean) =>
    prepareLedger(
      { state: ledgerState(config), durability: config.durability, ...ledgerSettings(config) },
      {
        onStorageFault: (message) => log.error(message),
        onStorageRecovered: () => log.info(`${config.statePath} can be written again`),
        onStops: (requestIds) => {
          for (const id of requestIds) void gateway?.stopRequest(id);
        },
        onDeaths: (names, requests) =>
          log.warn(`no sign of life from ${names.join(', ')}: charged ${counted(requests, 'request')} there as held`),
        onOrphans: (requests) =>
          log.warn(`charged the holds of ${counted(requests, 'request')} left open by a process that handed over`),
        onDeath: (error) => events.onFatal(error),
      },
      isAhead,
    );
  // The ledger's thread starts while this one loads the HTTP stack, if it needs that.
  const workers = config.threads === 1 ? import('./worker.ts') : Promise.resolve();
  const [state] = await Promise.all([
    predecessor === undefined
      ? openState(config, prepare, options.sockets ?? [])
      : takeOver(config, prepare, predecessor, workers),
    workers,
  ]);
  const { ledger, lock, descriptors } = state;
  try {
    if (ledger.summary.created) {
      log.info(`created the ${config.state.kind === 'file' ? 'state file' : 'tables in'} ${config.statePath}`);
    }
    const started = await startWorkers(config, ledger, openLog, events, { ...options, descriptors });
    state.predecessor?.announceServing();
    gateway = new Gateway(config, log, { workers: started, ledger, lock, predecessor: state.predecessor });
    return gateway;
  } catch (error) {
    lock?.release();
    throw error;
  }
}

interface WorkersOptions extends GatewayOptions {
  /** Of sockets that listen already; empty if the address is free. */
  readonly descriptors: readonly number[];
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
  { grace, counter, descriptors }: WorkersOptions,
): Promise<Worker[]> {
  const workers: Worker[] = [];
  let portLock: PortLock | undefined;
  try {
    if (config.threads === 1) {
      const { startWorker } = await import('./worker.ts');
      return [await startWorker({ config, ledger: ledger.client, log, grace, counter, descriptors })];
    }
    let { listen } = config;
    // A single listener fails if the port is taken. Several share the port with SO_REUSEPORT, so
    // none would notice.
    if (listen.port !== 0 && descriptors.length === 0) {
      portLock = await lockPort(listen);
      await assertFree(listen);
    }
    while (workers.length < config.threads) {
      const own = descriptors.filter((_, index) => index % config.threads === workers.length);
      const start = { config: { ...config, listen }, ledger: ledger.connect(), grace, descriptors: own };
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
