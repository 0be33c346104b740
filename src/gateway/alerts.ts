/**
 * Shows the thread of alerts what the gateway sees, once a second. The thread does everything else, so
 * that no request waits for it. It runs only while alerts are configured.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Worker as Thread } from 'node:worker_threads';
import { RECENT_S } from '../alerts/observation.ts';
import type { AlertsStart, FromAlerts, ToAlerts } from '../alerts/protocol.ts';
import type { WatcherOptions } from '../alerts/watcher.ts';
import type { Config } from '../config/config.ts';
import { startThread } from '../core/threads.ts';
import type { Log } from '../observe/log.ts';
import { HEALTH_ONLY, MAX_ENDED, type SnapshotQuery, type WorkerSnapshot } from '../observe/worker-snapshot.ts';
import { hasRefusedForMoney, refusedForMoney, upstreamSights } from './alert-sight.ts';

/** The time between two looks. */
const LOOK_MS = 1_000;
/** How long the end of the gateway waits for deliveries in flight. The next start sends them again. */
const CLOSING_MS = 2_000;

export interface AlertSources {
  readonly log: Log;
  snapshots(query: SnapshotQuery): Promise<readonly WorkerSnapshot[]>;
  /** Why the state cannot be written; undefined while it can. */
  storageFault(): string | undefined;
  /** Whether an earlier process, which hands over, may still deliver. */
  readonly hasPredecessor: boolean;
}

/** A thread, and its end. */
interface Running {
  readonly thread: Thread;
  readonly closed: PromiseWithResolvers<void>;
}

export class AlertWatch {
  readonly #sources: AlertSources;
  #running: Running | undefined;
  /** As the thread has them. */
  #options: WatcherOptions | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Whether the thread is still at the last look. */
  #isBusy = false;
  #lookedAtMs = Date.now();
  /** Whether a key was refused for money is asked from this second on. */
  #askedUntilS = 0;

  constructor(sources: AlertSources) {
    this.#sources = sources;
  }

  /** Starts the thread, tells it of a change, or ends it. */
  configure(config: Config): void {
    const options = optionsOf(config);
    if (options.targets.length === 0) void this.close();
    else if (this.#running === undefined) this.#start(config, options);
    else if (!isDeepStrictEqual(options, this.#options)) this.#tell({ kind: 'configure', options });
    this.#options = options;
  }

  /** Waits for what is being delivered, for a moment. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const running = this.#running;
    if (running === undefined) return;
    this.#tell({ kind: 'close' });
    this.#running = undefined;
    const timer = setTimeout(running.closed.resolve, CLOSING_MS);
    await running.closed.promise;
    clearTimeout(timer);
    await running.thread.terminate();
  }

  #start(config: Config, options: WatcherOptions): void {
    const { state, durability } = config;
    const { log, hasPredecessor } = this.#sources;
    const start: AlertsStart = { state, durability, options, hasPredecessor };
    const thread = startThread('alerts/thread', { workerData: start });
    const closed = Promise.withResolvers<void>();
    this.#running = { thread, closed };
    this.#isBusy = false;
    thread.on('message', (message: FromAlerts) => {
      switch (message.kind) {
        case 'log':
          return log[message.level](message.message);
        case 'looked':
          this.#isBusy = false;
          return;
        case 'closed':
          return closed.resolve();
      }
    });
    // Requests are served without it.
    thread.on('error', (err: Error) => {
      log.error({ err }, 'internal error: the thread of alerts died; no alerts are told until a restart');
      clearInterval(this.#timer);
      closed.resolve();
    });
    thread.unref();
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  #look(): void {
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#show().catch(() => {
      // A worker has ended, and so will this.
      this.#isBusy = false;
    });
  }

  async #show(): Promise<void> {
    const nowMs = Date.now();
    const nowS = Math.floor(nowMs / 1_000);
    const workers = await this.#sources.snapshots({ ...HEALTH_ONLY, sinceS: nowS - RECENT_S });
    const refused = hasRefusedForMoney(workers, this.#askedUntilS)
      ? refusedForMoney(
          await this.#sources.snapshots({ ...HEALTH_ONLY, endedSinceMs: this.#lookedAtMs, maxEnded: MAX_ENDED }),
        )
      : [];
    this.#lookedAtMs = nowMs;
    this.#askedUntilS = nowS;
    const storageFault = this.#sources.storageFault();
    this.#tell({ kind: 'look', sight: { upstreams: upstreamSights(workers), refused, storageFault } });
  }

  #tell(message: ToAlerts): void {
    this.#running?.thread.postMessage(message);
  }
}

function optionsOf({ alerts, node, creditEnforced }: Config): WatcherOptions {
  const targets = alerts.filter(({ missingVariable }) => missingVariable === undefined);
  return { targets, gateway: node, isCreditEnforced: creditEnforced };
}
