/** The metrics listener of a running gateway and its figures. Loaded only if metrics are configured. */
import type { AddressInfo } from 'node:net';
import { Catalog } from '../catalog/catalog.ts';
import type { Config, MetricsConfig } from '../config/config.ts';
import { DISK_BOUNDS, type LedgerTimes, sharedDurations } from '../core/durations.ts';
import { fileSize } from '../core/files.ts';
import { VERSION } from '../core/program.ts';
import type { SideServer } from '../http/side-server.ts';
import type { LedgerSnapshot } from '../ledger/ledger.ts';
import { type Labels, labelsUpTo, printPage } from '../metrics/page.ts';
import { listenForMetrics, serveMetrics } from '../metrics/server.ts';
import type { WorkerSnapshot } from '../observe/worker-snapshot.ts';
import { inFlightIn, mergedUpstreams, slowestLoop } from './snapshot.ts';

/** Input of a page. */
export interface Figures {
  readonly config: Config;
  readonly draining: boolean;
  /** Includes the workers of an earlier process. */
  readonly workers: readonly WorkerSnapshot[];
  /** Undefined while the ledger does not answer. */
  readonly account: LedgerSnapshot | undefined;
  readonly storageFault: string | undefined;
}

/** Snapshot of an ended worker, to carry its counts. */
const ENDED: WorkerSnapshot = {
  inFlight: 0,
  loopDelay: { p50: 0, p99: 0, max: 0 },
  seconds: [],
  minutes: [],
  keys: [],
  live: [],
  recent: [],
  upstreams: [],
};

export class GatewayMetrics {
  /** In memory shared with the ledger thread. */
  readonly ledgerTimes: LedgerTimes = { batch: sharedDurations(DISK_BOUNDS), sync: sharedDurations(DISK_BOUNDS) };
  /** Number of state divergences from other gateways. */
  #differences = 0;
  readonly #server: SideServer;
  readonly #labels: Labels;
  /** Last known counts of earlier processes. */
  #earlier: readonly WorkerSnapshot[] = [];

  /** `isTakenOver`: another process listens on the address and is about to stop. Rejects with a UserError. */
  static async open(config: MetricsConfig, isTakenOver: boolean): Promise<GatewayMetrics> {
    return new GatewayMetrics(await listenForMetrics(config, isTakenOver), config.keyLabels);
  }

  private constructor(server: SideServer, keyLabels: number) {
    this.#server = server;
    this.#labels = labelsUpTo(keyLabels);
  }

  get address(): AddressInfo {
    return this.#server.address;
  }

  /** The keys whose slots are shown. */
  get keyIds(): readonly string[] {
    return this.#labels.keys.all;
  }

  serve(read: () => Promise<Figures>): void {
    serveMetrics(this.#server, async () => this.#print(await read()));
  }

  countDifference(): void {
    this.#differences++;
  }

  leave(): void {
    this.#server.leave();
  }

  close(): void {
    this.#server.close();
  }

  /**
   * Adds the counts of earlier processes: current ones, or else the last known. Counters must not decrease when a process exits.
   */
  withEarlier(snapshots: readonly WorkerSnapshot[]): readonly WorkerSnapshot[] {
    const tallies = snapshots.flatMap(({ tally }) => tally ?? []);
    if (tallies.length === 0) return [...snapshots, ...this.#earlier];
    this.#earlier = tallies.map((tally) => ({ ...ENDED, tally: { ...tally, slots: 0 } }));
    return snapshots;
  }

  #print({ config, draining, workers, account, storageFault }: Figures): string {
    const { state, threads, tier } = config;
    const figures = {
      version: VERSION,
      threads,
      models: new Catalog(config.providers).models.filter(({ active }) => active).map(({ id }) => id),
      slotsPerKey: tier.concurrency,
      inFlight: inFlightIn(workers),
      loopDelayMs: slowestLoop(workers),
      upstreams: mergedUpstreams(workers),
      isFaulty: storageFault !== undefined,
      isDraining: draining,
      stateBytes:
        state.kind === 'file' ? { state: fileSize(state.path), log: fileSize(`${state.path}-wal`) } : undefined,
      account,
      ledger: this.ledgerTimes,
      differences: state.kind === 'file' ? undefined : this.#differences,
    };
    // Earlier processes first, so that keys keep their labels.
    const tallies = workers.toReversed().flatMap(({ tally }) => tally ?? []);
    return printPage(figures, tallies, this.#labels);
  }
}
