/**
 * Shows the thread of alerts what the gateway sees, once a second. The thread does everything else, so
 * that no request waits for it. It runs only while alerts are configured.
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

interface Running {
  readonly thread: Thread;
  readonly port: Port<MainCalls, AlertsCalls>;
  /** Whether it is still at the last look. */
  isBusy: boolean;
}

export class AlertWatch {
  readonly #sources: AlertSources;
  #running: Running | undefined;
  /** As the thread has them. */
  #options: WatcherOptions | undefined;
  #timer: NodeJS.Timeout | undefined;
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
    else if (!isDeepStrictEqual(options, this.#options)) this.#running.port.tell('configure', options);
    this.#options = options;
  }

  /** Waits for what is being delivered, for a moment. */
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
    // Requests are served without it.
    thread.on('error', (err: Error) => {
      log.error({ err }, 'internal error: the thread of alerts died; no alerts are told until a restart');
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
      // A worker or the thread has ended, and so will this.
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

/** Keys that were refused for money between two looks and are told, at most. */
const MAX_REFUSED = 50;

/** `workers` have the seconds of the last {@link RECENT_S}. */
function observedUpstreams(workers: readonly WorkerSnapshot[]): ObservedUpstream[] {
  const seconds = workers.flatMap((worker) => worker.seconds);
  return mergedUpstreams(workers).map(({ upstream, provider, requests, failures, last_failure: last }) => {
    const recent = seconds.map(({ attempts }) => attempts.get(upstream));
    return {
      upstream,
      provider,
      // The circuit breaker of any worker: of several states a snapshot shows another one.
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

/** Whether a request was refused for money in one of the seconds from `sinceS` on. */
function hasRefusedForMoney(workers: readonly WorkerSnapshot[], sinceS: number): boolean {
  return workers.some(({ seconds }) =>
    seconds.some(({ atS, errors }) => atS >= sinceS && MONEY_CODES.some((code) => errors.has(code))),
  );
}

/** Who was refused for money, by the latest requests that the workers remember. */
function refusedForMoney(workers: readonly WorkerSnapshot[]): RefusedForMoney[] {
  const refused = new Map<string, RefusedForMoney>();
  for (const { outcome, key_id: keyId } of workers.flatMap(({ recent }) => recent)) {
    const code = MONEY_CODES.find((each) => each === outcome);
    if (code === undefined) continue;
    // Credit is missing for all keys alike.
    const subject = code === 'insufficient_credit' ? code : keyId;
    const before = refused.get(subject);
    if (before === undefined && refused.size >= MAX_REFUSED) continue;
    refused.set(subject, { code, keyId, requests: (before?.requests ?? 0) + 1 });
  }
  return [...refused.values()];
}
