/**
 * Sends an observation to the alerts thread once a second. The thread does all further work, so that no request waits for it. It
 * runs only if alerts are configured.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Worker as Thread } from 'node:worker_threads';
import { MONEY_CODES, type ObservedUpstream, RECENT_S, type RefusedForMoney } from '../alerts/observation.ts';
import type { AlertsCalls, AlertsStart, MainCalls } from '../alerts/protocol.ts';
import type { WatcherOptions } from '../alerts/watcher.ts';
import type { Config } from '../config/config.ts';
import { Port } from '../core/port.ts';
import { startThread } from '../core/threads.ts';
import type { Log } from '../observe/log.ts';
import { HEALTH_ONLY, MAX_ENDED, type SnapshotQuery, type WorkerSnapshot } from '../observe/worker-snapshot.ts';
import { mergedUpstreams } from './snapshot.ts';

/** Interval of observations. */
const LOOK_MS = 1_000;
/** Time limit for deliveries during shutdown. The next start repeats unfinished ones. */
const CLOSING_MS = 2_000;

export interface AlertSources {
  readonly log: Log;
  snapshots(query: SnapshotQuery): Promise<readonly WorkerSnapshot[]>;
  /** The reason why the state cannot be written; undefined while it can. */
  storageFault(): string | undefined;
  /** Whether an earlier process may still deliver during a handover. */
  readonly hasPredecessor: boolean;
}

interface Running {
  readonly thread: Thread;
  readonly port: Port<MainCalls, AlertsCalls>;
  /** Whether the last observation is still being handled. */
  isBusy: boolean;
}

export class AlertWatch {
  readonly #sources: AlertSources;
  #running: Running | undefined;
  /** The options in use by the thread. */
  #options: WatcherOptions | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lookedAtMs = Date.now();
  /** Refusals before this second have been reported. */
  #askedUntilS = 0;

  constructor(sources: AlertSources) {
    this.#sources = sources;
  }

  /** Starts, reconfigures or stops the thread. */
  configure(config: Config): void {
    const options = optionsOf(config);
    if (options.targets.length === 0) void this.close();
    else if (this.#running === undefined) this.#start(config, options);
    else if (!isDeepStrictEqual(options, this.#options)) this.#running.port.tell('configure', options);
    this.#options = options;
  }

  /** Waits for current deliveries within {@link CLOSING_MS}. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const running = this.#running;
    if (running === undefined) return;
    this.#running = undefined;
    const timer = setTimeout(() => running.port.end(new Error('it takes too long')), CLOSING_MS);
    await running.port.call('close').catch(() => {});
    clearTimeout(timer);
    await running.thread.terminate();
  }

  #start(config: Config, options: WatcherOptions): void {
    const { state, durability } = config;
    const { log, hasPredecessor } = this.#sources;
    const start: AlertsStart = { state, durability, options, hasPredecessor };
    const thread = startThread('alerts/thread', { workerData: start });
    const port = new Port<MainCalls, AlertsCalls>(thread, 'the thread of alerts');
    port.serve({ log: (level, message) => log[level](message) });
    this.#running = { thread, port, isBusy: false };
    // Requests can be served without alerts.
    thread.on('error', (err: Error) => {
      log.error({ err }, 'internal error: the alerts thread died; no alerts are sent until a restart');
      clearInterval(this.#timer);
    });
    thread.unref();
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  #look(): void {
    const running = this.#running;
    if (running === undefined || running.isBusy) return;
    running.isBusy = true;
    this.#show(running)
      // Fails if a worker or the thread has died; the gateway is then about to exit.
      .catch(() => {})
      .finally(() => {
        running.isBusy = false;
      });
  }

  async #show({ port }: Running): Promise<void> {
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
    await port.call('look', { upstreams: observedUpstreams(workers), refused, storageFault });
  }
}

function optionsOf({ alerts, node, creditEnforced }: Config): WatcherOptions {
  const targets = alerts.filter(({ missingVariable }) => missingVariable === undefined);
  return { targets, gateway: node, isCreditEnforced: creditEnforced };
}

/** Maximum number of refused keys per observation. */
const MAX_REFUSED = 50;

/** `workers` must include the last {@link RECENT_S} seconds. */
function observedUpstreams(workers: readonly WorkerSnapshot[]): ObservedUpstream[] {
  const seconds = workers.flatMap((worker) => worker.seconds);
  return mergedUpstreams(workers).map(({ upstream, provider, requests, failures, last_failure: last }) => {
    const recent = seconds.map(({ attempts }) => attempts.get(upstream));
    return {
      upstream,
      provider,
      // An open breaker in any worker counts. The merged snapshot may show a worse state instead.
      isOpen: workers.some((worker) =>
        worker.upstreams.some((each) => each.upstream === upstream && each.state === 'open'),
      ),
      requests,
      failures,
      recentRequests: recent.reduce((sum, counts) => sum + (counts?.requests ?? 0), 0),
      recentFailures: recent.reduce((sum, counts) => sum + (counts?.failures ?? 0), 0),
      cause: last?.message,
    };
  });
}

/** Whether a request was refused for money in or after second `sinceS`. */
function hasRefusedForMoney(workers: readonly WorkerSnapshot[], sinceS: number): boolean {
  return workers.some(({ seconds }) =>
    seconds.some(({ atS, errors }) => atS >= sinceS && MONEY_CODES.some((code) => errors.has(code))),
  );
}

/** Returns recent refusals for money, by key. */
function refusedForMoney(workers: readonly WorkerSnapshot[]): RefusedForMoney[] {
  const refused = new Map<string, RefusedForMoney>();
  for (const { outcome, key_id: keyId } of workers.flatMap(({ recent }) => recent)) {
    const code = MONEY_CODES.find((each) => each === outcome);
    if (code === undefined) continue;
    // Insufficient credit concerns the whole account, so its refusals are merged.
    const subject = code === 'insufficient_credit' ? code : keyId;
    const before = refused.get(subject);
    if (before === undefined && refused.size >= MAX_REFUSED) continue;
    refused.set(subject, { code, keyId, requests: (before?.requests ?? 0) + 1 });
  }
  return [...refused.values()];
}
