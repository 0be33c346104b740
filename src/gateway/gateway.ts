/** The composition root: turns a config into a running gateway. */
import type { AddressInfo } from 'node:net';
import type { Config } from '../config/config.ts';
import type { Snapshot } from '../control/protocol.ts';
import { formatAddress } from '../core/address.ts';
import { compileToServe } from '../core/compiling.ts';
import { UserError } from '../core/errors.ts';
import type { ExplainQuestion } from '../core/explanation.ts';
import { becomeOwner } from '../core/folder-owner.ts';
import { counted } from '../core/plural.ts';
import { VERSION } from '../core/program.ts';
import type { CertificatePair } from '../core/settings.ts';
import { listenForHealth, readiness, serveHealth } from '../http/health.ts';
import type { SideServer } from '../http/side-server.ts';
import { prepareLedger, type RunningLedger } from '../ledger/client.ts';
import type { LedgerSettings, LedgerState, LedgerSummary } from '../ledger/ledger.ts';
import type { Log, OpenLog } from '../observe/log.ts';
import { OutageLog } from '../observe/outage-log.ts';
import {
  mergedRefusals,
  mergedRefusedMinutes,
  type RefusalPage,
  type RefusalQuery,
  type RefusedMinutes,
} from '../observe/refusals.ts';
import { METRICS_ONLY, type SnapshotQuery, type WorkerQuery, type WorkerSnapshot } from '../observe/worker-snapshot.ts';
import { type Lock, refuseLocked } from '../state/sqlite/lock.ts';
import type { ListeningSocket } from '../takeover/pass-sockets.ts';
import type { Predecessor } from '../takeover/predecessor.ts';
import type { HandingOver } from '../takeover/successor.ts';
import { AlertWatch } from './alerts.ts';
import type { ServedCertificate } from './certificate.ts';
import { keysToAskFor } from './key-activity.ts';
import type { Figures, GatewayMetrics } from './metrics.ts';
import { openState, takeOver } from './open-state.ts';
import { buildSnapshot } from './snapshot.ts';
import { startWorkers } from './start-workers.ts';
import type { Worker, WorkerParts } from './worker.ts';

export interface GatewayEvents {
  /** A thread died of an internal error. The process must end. */
  onFatal(error: Error): void;
}

/** Options outside of the config. */
export interface GatewayOptions extends Pick<WorkerParts, 'grace' | 'counter'> {
  /** Descriptors of inherited listening sockets: none, or one per worker. */
  readonly sockets?: readonly number[];
}

export class Gateway implements HandingOver {
  readonly summary: LedgerSummary;
  #config: Config;
  readonly #log: Log;
  readonly #workers: readonly Worker[];
  readonly ledger: RunningLedger;
  /** Lock of a state file; undefined for PostgreSQL. */
  #lock: Lock | undefined;
  /** The earlier process, until it exits. */
  #predecessor: Predecessor | undefined;
  readonly #metrics: GatewayMetrics | undefined;
  readonly #health: SideServer | undefined;
  readonly #certificate: ServedCertificate | undefined;
  readonly #alerts: AlertWatch;
  readonly #startedAtMs = Date.now();
  #draining = false;
  #lastSnapshots: readonly WorkerSnapshot[] = [];
  /** Explains the handling of a body. Circuit breakers are those in the first worker. */
  readonly explain = (question: ExplainQuestion) => (this.#workers[0] as Worker).explain(question);

  constructor(config: Config, log: Log, { workers, ledger, lock, predecessor, metrics, health, certificate }: Parts) {
    this.#config = config;
    this.#log = log;
    this.summary = ledger.summary;
    this.#workers = workers;
    this.ledger = ledger;
    this.#lock = lock;
    this.#predecessor = predecessor;
    this.#metrics = metrics;
    metrics?.serve(() => this.#readFigures());
    this.#health = health;
    if (health !== undefined) serveHealth(health, () => readiness(this.#draining, ledger.client.storageFault));
    this.#certificate = certificate;
    certificate?.watch((pair) => void this.#showCertificate(pair));
    this.#alerts = new AlertWatch({
      log,
      snapshots: (query) => Promise.all(workers.map((worker) => worker.snapshot(query))),
      storageFault: () => ledger.client.storageFault,
      hasPredecessor: predecessor !== undefined,
    });
    this.#alerts.configure(config);
    void predecessor?.ended.then(() => {
      log.info(
        { pid: predecessor.greeting.pid },
        `process ${predecessor.greeting.pid}, which served before, has ended`,
      );
      metrics?.withEarlier(predecessor.lastSnapshots);
      this.#predecessor = undefined;
    });
  }

  get address(): AddressInfo {
    return (this.#workers[0] as Worker).address;
  }

  /** Address of the metrics, if configured. */
  get metricsAddress(): AddressInfo | undefined {
    return this.#metrics?.address;
  }

  /** Address of the separate health checks, if configured. */
  get healthAddress(): AddressInfo | undefined {
    return this.#health?.address;
  }

  /** Undefined for plain HTTP. */
  get certificate(): ServedCertificate | undefined {
    return this.#certificate;
  }

  /** The config for new requests. */
  get config(): Config {
    return this.#config;
  }

  /** Returns the number of requests in flight. */
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
        certificate: this.#certificate?.current,
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

  /** Returns this process's recent refusals. */
  async refusals(query: RefusalQuery): Promise<RefusalPage> {
    return mergedRefusals(await Promise.all(this.#workers.map((worker) => worker.refusals(query))));
  }

  async refusedMinutes(keyId: string): Promise<readonly RefusedMinutes[]> {
    return mergedRefusedMinutes(await Promise.all(this.#workers.map((worker) => worker.refusedMinutes(keyId))));
  }

  /** Aborts a request in flight. Returns false if the id is unknown. */
  async stopRequest(id: string): Promise<boolean> {
    const found = await Promise.all([...this.#workers, this.#predecessor].map((each) => each?.stopRequest(id)));
    return found.includes(true);
  }

  /**
   * Snapshots of all threads with requests in flight, including an earlier process's. With metrics, also counts of ended threads.
   */
  async snapshots(query: WorkerQuery): Promise<readonly WorkerSnapshot[]> {
    const [own, earlier = []] = await Promise.all([
      Promise.all(this.#workers.map((worker) => worker.snapshot(query))),
      this.#predecessor?.snapshots(query),
    ]);
    return [...own, ...((query.withTally && this.#metrics?.withEarlier(earlier)) || earlier)];
  }

  /** The final counts, passed to the next process. */
  get lastSnapshots(): readonly WorkerSnapshot[] {
    return this.#lastSnapshots;
  }

  async #readFigures(): Promise<Figures> {
    const [workers, account] = await Promise.all([
      this.snapshots(METRICS_ONLY),
      this.ledger.client.snapshot(this.#metrics?.keyIds ?? []).catch(() => undefined),
    ]);
    const { storageFault } = this.ledger.client;
    return { config: this.#config, draining: this.#draining, workers, account, storageFault };
  }

  async sockets(): Promise<readonly ListeningSocket[]> {
    return (await Promise.all(this.#workers.map((worker) => worker.sockets()))).flat();
  }

  unlock(): void {
    this.#lock?.release();
    this.#lock = undefined;
  }

  /**
   * Stops accepting connections, because another process does. Resolves when all requests have ended, here and in a process that
   * handed over to this one, or after `quietMs` without a request.
   */
  async leave(quietMs: number): Promise<void> {
    this.#metrics?.leave();
    this.#health?.leave();
    this.#certificate?.close();
    const workers = this.#workers.map((worker) => worker.leave(quietMs));
    await Promise.all([...workers, this.#predecessor?.ended, this.#alerts.close()]);
  }

  /**
   * Applies a config to new requests; requests in flight keep their config. Throws a UserError without any change if a changed
   * field requires a restart.
   */
  async reload(config: Config): Promise<void> {
    assertReloadable(this.#config, config);
    const pair = config.tls && this.#certificate?.change(config.tls);
    await this.ledger.client.configure(ledgerSettings(config));
    await Promise.all(this.#workers.map((worker) => worker.reload(config)));
    if (pair !== undefined) await this.#showCertificate(pair);
    this.#alerts.configure(config);
    this.#log.level = config.logLevel;
    this.#config = config;
  }

  async #showCertificate(pair: CertificatePair): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.showCertificate(pair)));
  }

  /**
   * Waits up to `milliseconds` for requests in flight, aborts and settles the rest, and closes. Resolves with the number of
   * unsettled requests, whose holds stay open in the state file. `beforeUnlock` is called last, before another gateway can open
   * the state file.
   */
  async stop(milliseconds: number, beforeUnlock = () => {}): Promise<number> {
    this.#draining = true;
    const [unsettled] = await Promise.all([
      Promise.all(this.#workers.map((worker) => worker.stop(milliseconds))),
      this.#predecessor?.stop(milliseconds, PREDECESSOR_GRACE_MS),
    ]);
    if (this.#metrics !== undefined) this.#lastSnapshots = await this.snapshots(METRICS_ONLY).catch(() => []);
    this.#closeSides();
    await this.#alerts.close();
    // A snapshot asks every worker, so all must have stopped before the first is closed.
    await Promise.all(this.#workers.map((worker) => worker.close()));
    await this.ledger.close();
    beforeUnlock();
    this.#lock?.release();
    return sum(unsettled);
  }

  #closeSides(): void {
    this.#metrics?.close();
    this.#health?.close();
    this.#certificate?.close();
  }
}

/** Optional listeners in addition to the clients' listener. */
interface Sides {
  readonly metrics: GatewayMetrics | undefined;
  readonly health: SideServer | undefined;
}

interface Parts extends Sides {
  readonly workers: readonly Worker[];
  readonly ledger: RunningLedger;
  readonly lock: Lock | undefined;
  readonly predecessor: Predecessor | undefined;
  readonly certificate: ServedCertificate | undefined;
}

/** Additional time for the exit of an earlier process, after the time for its requests, in milliseconds. */
const PREDECESSOR_GRACE_MS = 10_000;

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/**
 * Starts a gateway, or takes over from a predecessor. Throws a UserError if the state or the address is unusable, and then leaves
 * no resources behind.
 */
export async function startGateway(
  config: Config,
  openLog: OpenLog,
  events: GatewayEvents,
  options: GatewayOptions = {},
  predecessor?: Predecessor,
): Promise<Gateway> {
  // Opens these listeners before the state, so that a failure leaves no trace in the state.
  const sides = await openSides(config, predecessor !== undefined).catch((error) => {
    // If a gateway runs on this state, report that instead of the used port: the solution is a takeover.
    if (predecessor === undefined && config.state.kind === 'file') refuseLocked(config.state.path);
    throw error;
  });
  try {
    return await start(config, openLog, events, options, predecessor, sides);
  } catch (error) {
    sides.metrics?.close();
    sides.health?.close();
    throw error;
  }
}

async function openSides({ metrics, health }: Config, isTakenOver: boolean): Promise<Sides> {
  const opened = metrics && (await (await import('./metrics.ts')).GatewayMetrics.open(metrics, isTakenOver));
  try {
    return { metrics: opened, health: health && !isTakenOver ? await listenForHealth(health, false) : undefined };
  } catch (error) {
    opened?.close();
    throw error;
  }
}

/** Takes over the health checks when this process is ready; the earlier one answers until then. A failure is only logged. */
async function takeOverHealth({ health }: Config, log: Log): Promise<SideServer | undefined> {
  try {
    return health && (await listenForHealth(health, true));
  } catch (error) {
    log.error(`no health checks of their own: ${error instanceof Error ? error.message : error}`);
    return undefined;
  }
}

async function start(
  config: Config,
  openLog: OpenLog,
  events: GatewayEvents,
  options: GatewayOptions,
  predecessor: Predecessor | undefined,
  sides: Sides,
): Promise<Gateway> {
  const { log } = openLog;
  if (config.state.kind === 'file') becomeOwner(config.state.path);
  // Read with the privileges of the serving user: root could read files that this user cannot.
  const certificate = config.tls && new (await import('./certificate.ts')).ServedCertificate(config.tls, log);
  compileToServe();
  let gateway: Gateway | undefined;
  const outage = new OutageLog(log, config.statePath);
  // With one worker and a file the ledger runs in the same thread: commits do not wait for the disk, and a thread costs two
  // messages per command.
  const place = config.threads === 1 && config.state.kind === 'file' ? 'here' : 'thread';
  const prepare = (isAhead: boolean) =>
    prepareLedger(
      {
        state: ledgerState(config),
        durability: config.durability,
        times: sides.metrics?.ledgerTimes,
        ...ledgerSettings(config),
      },
      {
        onStorageFault: (message) => outage.fault(message),
        onStorageRecovered: () => outage.end(),
        onStops: (requestIds) => {
          // Fails only for ended workers, which have no requests in flight.
          for (const id of requestIds) gateway?.stopRequest(id).catch(() => {});
        },
        onDeaths: (names, requests) =>
          log.warn(`no sign of life from ${names.join(', ')}: charged ${counted(requests, 'request')} there as held`),
        onDifference: (entry) => {
          sides.metrics?.countDifference();
          log.error(
            `the state of this gateway diverged from the others at log entry ${entry}; rebuilding it from the database: run audit, and report this`,
          );
        },
        onNonsense: (entry, nodeId) => {
          sides.metrics?.countDifference();
          log.error(
            `log entry ${entry} is invalid and was skipped; gateway ${nodeId}, which wrote it, was shut out: check who has the password of its role`,
          );
        },
        onLostLog: (entry, requests) =>
          log.error(
            `the database has lost entry ${entry} of the log: it crashed, was restored, or failed over to a standby without that entry; this gateway continues with the remaining log, and charges ${counted(requests, 'request')} as held that had ended`,
          ),
        onUncharged: (requestId) =>
          log.error(`request ${requestId} is charged to nobody: its key is not in the database any more`),
        onOrphans: (requests) =>
          log.warn(`charged the holds of ${counted(requests, 'request')} left open by a process that handed over`),
        onDeath: (error) => events.onFatal(error),
      },
      { place, isAhead },
    );
  // The ledger thread starts while this thread loads the HTTP stack.
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
    const started = await startWorkers(config, ledger, openLog, (error) => events.onFatal(error), {
      ...options,
      certificate: certificate?.current.pair,
      descriptors,
    });
    const health = sides.health ?? (await takeOverHealth(config, log));
    state.predecessor?.announceServing();
    const own = { ...sides, health, certificate };
    gateway = new Gateway(config, log, { workers: started, ledger, lock, predecessor: state.predecessor, ...own });
    return gateway;
  } catch (error) {
    lock?.release();
    throw error;
  }
}

function ledgerState({ state, node, listen }: Config): LedgerState {
  if (state.kind === 'file') return state;
  return { ...state, node: { name: node, version: VERSION, address: formatAddress(listen) } };
}

function ledgerSettings(config: Config): LedgerSettings {
  const { creditEnforced, journalRetentionMs, tier } = config;
  return { creditEnforced, journalRetentionMs, ...tier };
}

/** Fields that require a restart, by their names in the config file. */
const RESTART_FIELDS: readonly (readonly [name: string, read: (config: Config) => unknown])[] = [
  ['listen', ({ listen }) => `${listen.host} ${listen.port}`],
  // Changed certificate files are reloaded without a restart.
  ['tls', ({ tls }) => tls !== undefined],
  ['threads', ({ threads }) => threads],
  ['state', ({ state }) => JSON.stringify(state)],
  // The node name has no effect with a state file.
  ['node', ({ state, node }) => (state.kind === 'file' ? undefined : node)],
  ['durability', ({ durability }) => durability],
  ['health', ({ health }) => JSON.stringify(health)],
  ['metrics', ({ metrics }) => JSON.stringify(metrics)],
  ['otel', ({ otel }) => JSON.stringify(otel)],
];

/** Throws a UserError if a changed field requires a restart. */
function assertReloadable(current: Config, next: Config): void {
  // A reload after the deletion of the file would apply the defaults, which the operator hardly intends.
  if (current.path !== undefined && next.path === undefined) {
    throw new UserError(`the config file ${current.path} no longer exists; put it back`);
  }
  const changed = RESTART_FIELDS.filter(([, read]) => read(next) !== read(current));
  if (changed.length > 0) {
    throw new UserError(changed.map(([name]) => `${name}: restart the gateway to change this`));
  }
}
