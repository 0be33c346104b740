/** A worker: all parts that serve requests in one thread. Of finished requests it keeps only figures for operators. */

import type { AddressInfo } from 'node:net';
import { isMainThread } from 'node:worker_threads';
import { Catalog } from '../catalog/catalog.ts';
import type { Config } from '../config/config.ts';
import type { ExplainQuestion, Explanation } from '../core/explanation.ts';
import { roomForConnections } from '../core/open-files.ts';
import { Repeats } from '../core/repeats.ts';
import type { CertificatePair } from '../core/settings.ts';
import { within } from '../core/within.ts';
import { DIALECTS } from '../dialects/dialects.ts';
import { BodyLimiter } from '../http/body-limiter.ts';
import type { ConnectionLimits } from '../http/connection-limiter.ts';
import { corsPolicy } from '../http/cors.ts';
import type { ErrorFormat, Exchange } from '../http/exchange.ts';
import { healthy, readiness } from '../http/health.ts';
import { Listener, type ListenerSettings } from '../http/listener.ts';
import { dialectOfErrors, type RequestHeaders, type Route } from '../http/routes.ts';
import type { Answer } from '../http/side-server.ts';
import { untouchedFigures } from '../ledger/figures.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Log } from '../observe/log.ts';
import { LoopDelayMeter } from '../observe/loop-delay.ts';
import { Monitor } from '../observe/monitor.ts';
import { MAX_REFUSALS, type RefusalPage, type RefusalQuery, type RefusedMinutes } from '../observe/refusals.ts';
import { TallyCounter } from '../observe/tally.ts';
import type { WorkerQuery, WorkerSnapshot } from '../observe/worker-snapshot.ts';
import { Dispatcher } from '../proxy/dispatch.ts';
import { type ExplainParts, explain } from '../proxy/explain.ts';
import { ModelPaces } from '../proxy/pace.ts';
import { Pipeline } from '../proxy/pipeline.ts';
import { fdOf, type ListeningSocket } from '../takeover/pass-sockets.ts';
import { TokenCounter } from '../tokens/counter.ts';
import { AccessLog, countExchange, logFailed, logPressure } from './access-log.ts';
import { ThreadCache } from './answer-cache.ts';
import { ThreadKeeper } from './keeper.ts';
import { closeProviders, type Providers, startProviders, upstreamsOf } from './providers.ts';
import type { Traces } from './tracing.ts';

/** Time limit for the settlement of aborted requests after the drain time, in milliseconds. */
const ABORT_GRACE_MS = 2_000;
/** Time limit for the export of the last traces, in milliseconds. */
const EXPORT_GRACE_MS = 2_000;

/** Calls to a worker, in this thread or in its own. */
export interface WorkerCalls {
  /** Returns the number of requests in flight. */
  inFlight(): Promise<number>;
  snapshot(query: WorkerQuery): Promise<WorkerSnapshot>;
  /** Explains the handling of a body without sending it. */
  explain(question: ExplainQuestion): Promise<Explanation>;
  /** Aborts a request in flight. Returns false if this worker has none with this id. */
  stopRequest(id: string): Promise<boolean>;
  /** Returns this worker's recent refusals. */
  refusals(query: RefusalQuery): Promise<RefusalPage>;
  refusedMinutes(keyId: string): Promise<readonly RefusedMinutes[]>;
  /** Applies a config to new requests. Requests in flight keep their config. */
  reload(config: Config): Promise<void>;
  /** Uses a certificate for new connections. Only for workers started with TLS. */
  showCertificate(certificate: CertificatePair): Promise<void>;
  /**
   * Stops accepting requests, waits up to `milliseconds` for requests in flight, then aborts and settles the rest. Resolves with
   * the number of unsettled requests, whose holds stay open in the state file.
   */
  stop(milliseconds: number): Promise<number>;
  /** Returns the worker's listening sockets. */
  sockets(): Promise<readonly ListeningSocket[]>;
  /** Stops accepting connections, because another process does. Resolves when all requests have ended; see `Listener.leave`. */
  leave(quietMs: number): Promise<void>;
}

export interface Worker extends WorkerCalls {
  readonly address: AddressInfo;
  /** Frees the remaining resources after `stop`. Snapshots work until then. */
  close(): Promise<void>;
}

export interface WorkerParts {
  readonly config: Config;
  /** Undefined for plain HTTP. */
  readonly certificate: CertificatePair | undefined;
  readonly ledger: Ledger;
  readonly log: Log;
  readonly grace?: GracePeriods | undefined;
  /** Shared token counter, used instead of an own one. Its creator closes it. */
  readonly counter?: TokenCounter | undefined;
  /** Descriptors of listening sockets, used instead of the config's address. */
  readonly descriptors?: readonly number[] | undefined;
}

/** Time limits for work that is slow only on a busy machine, in milliseconds. */
export interface GracePeriods {
  /** Limit of a token count. */
  readonly countMs?: number;
  /** Limit of the settlement of aborted requests. */
  readonly abortMs?: number;
}

/** Starts a worker in this thread. Throws a UserError if it cannot listen, and then leaves no resources behind. */
export async function startWorker(parts: WorkerParts): Promise<Worker> {
  const { config, log } = parts;
  const traces = config.otel && (await import('./tracing.ts')).openTraces(config, config.otel, log);
  const worker = new LocalWorker(parts, traces);
  await worker.listen();
  return worker;
}

/** Interval of reports about requests that failed because of the state, in milliseconds. */
const FAILED_REPORT_MS = 5_000;

/** Objects built from one config. A request uses the same setup from start to end. */
interface Setup {
  readonly pipeline: Pipeline;
  readonly providers: Providers;
  readonly explained: ExplainParts;
}

class LocalWorker implements Worker {
  readonly #ledger: Ledger;
  readonly #log: Log;
  readonly #accessLog: AccessLog;
  readonly #counter: TokenCounter;
  readonly #ownsCounter: boolean;
  readonly #abortGraceMs: number;
  readonly #loopDelay = new LoopDelayMeter();
  readonly #monitor: Monitor;
  /** Undefined without metrics. */
  readonly #tally: TallyCounter | undefined;
  /** Undefined without tracing. */
  readonly #traces: Traces | undefined;
  readonly #bodies = new BodyLimiter();
  readonly #paces = new ModelPaces();
  readonly #keeper: ThreadKeeper;
  readonly #cache: ThreadCache;
  readonly #listener: Listener;
  /** Requests that failed because of the state. */
  readonly #failed = new Repeats<'state'>(FAILED_REPORT_MS, (count) => logFailed(this.#log, count));
  #current: Setup;
  /** Setups of earlier configs with requests in flight. */
  readonly #previous = new Set<Setup>();
  #address: AddressInfo | undefined;

  constructor(
    { config, certificate, ledger, log, grace: { countMs, abortMs } = {}, counter, descriptors = [] }: WorkerParts,
    traces: Traces | undefined,
  ) {
    this.#traces = traces;
    this.#ledger = ledger;
    this.#log = log;
    this.#accessLog = new AccessLog(log);
    this.#counter = counter ?? new TokenCounter(countMs);
    this.#ownsCounter = counter === undefined;
    this.#abortGraceMs = abortMs ?? ABORT_GRACE_MS;
    this.#tally = config.metrics && new TallyCounter();
    this.#monitor = new Monitor(
      {
        upstreams: () => upstreamsOf(this.#current.providers),
        inFlight: () => this.#listener.inFlight,
        loopDelay: () => this.#loopDelay.read(),
      },
      this.#tally,
      Math.ceil(MAX_REFUSALS / config.threads),
    );
    this.#keeper = new ThreadKeeper(config.state);
    this.#cache = new ThreadCache(config.cachePath, log);
    this.#current = this.#setUp(config);
    this.#listener = new Listener(
      {
        ...config.listen,
        isPortShared: config.threads > 1,
        descriptors,
        certificate,
        formatFor,
        ...listenerSettings(config),
      },
      {
        onExchange: (route, exchange) => this.#traced(exchange, route, () => this.#serve(route, exchange)),
        onMisrouted: (error, exchange) =>
          this.#traced(exchange, undefined, () => this.#current.pipeline.refuse(exchange, error)),
        onClose: (exchange) => this.#onClose(exchange),
        onPressure: (refused, cause) => {
          logPressure(log, refused, cause);
          this.#tally?.countOverload(cause, refused);
        },
      },
    );
  }

  async listen(): Promise<void> {
    this.#address = await this.#listener.listen();
  }

  get address(): AddressInfo {
    return this.#address as AddressInfo;
  }

  async inFlight(): Promise<number> {
    return this.#listener.inFlight;
  }

  async snapshot(query: WorkerQuery): Promise<WorkerSnapshot> {
    return this.#monitor.snapshot(query);
  }

  explain(question: ExplainQuestion): Promise<Explanation> {
    return explain(this.#current.explained, question);
  }

  async refusals(query: RefusalQuery): Promise<RefusalPage> {
    return this.#monitor.refusals(query);
  }

  async refusedMinutes(keyId: string): Promise<readonly RefusedMinutes[]> {
    return this.#monitor.refusedMinutes(keyId);
  }

  async stopRequest(id: string): Promise<boolean> {
    return this.#monitor.stop(id);
  }

  async reload(config: Config): Promise<void> {
    const previous = this.#current;
    this.#current = this.#setUp(config);
    this.#listener.configure(listenerSettings(config));
    this.#log.level = config.logLevel;
    this.#previous.add(previous);
    void previous.pipeline.idle().then(() => this.#tearDown(previous));
  }

  async showCertificate(certificate: CertificatePair): Promise<void> {
    this.#listener.showCertificate(certificate);
  }

  async stop(milliseconds: number): Promise<number> {
    const idle = this.#listener.drain();
    const setups = [...this.#previous, this.#current];
    const settlements = () => Promise.all(setups.map(({ pipeline }) => pipeline.settled()));
    // A settlement may follow the hang-up of the client, so waiting for connections is not enough.
    if (!(await isDoneWithin(idle.then(settlements), milliseconds))) {
      for (const { pipeline } of setups) pipeline.abortAll();
      await isDoneWithin(idle, this.#abortGraceMs);
    }
    this.#listener.close();
    // A request may be settling after its connection has closed.
    const settled = settlements();
    const isSettled = await isDoneWithin(settled, this.#abortGraceMs);
    // Without the counter, requests that wait for a token count are settled by their estimates.
    if (this.#ownsCounter) await this.#counter.close();
    if (!isSettled) await isDoneWithin(settled, this.#abortGraceMs);
    const unsettled = setups.reduce((sum, { pipeline }) => sum + pipeline.unsettled, 0);
    await Promise.all(setups.map((setup) => this.#tearDown(setup)));
    await this.#keeper.close();
    await this.#cache.close();
    await this.#traces?.close(EXPORT_GRACE_MS);
    return unsettled;
  }

  async sockets(): Promise<readonly ListeningSocket[]> {
    return isMainThread ? this.#listener.sockets : this.#listener.sockets.map(fdOf);
  }

  leave(quietMs: number): Promise<void> {
    return this.#listener.leave(quietMs);
  }

  async close(): Promise<void> {
    this.#loopDelay.close();
  }

  #onClose(exchange: Exchange): void {
    this.#accessLog.add(exchange);
    if (this.#tally !== undefined) countExchange(this.#tally, exchange);
  }

  #setUp(config: Config): Setup {
    this.#traces?.know(config);
    const providers = startProviders(config.providers, (line) => this.#log.warn(line));
    const catalog = new Catalog(config.providers, config.aliases);
    const pipeline = new Pipeline({
      catalog,
      ledger: this.#ledger,
      counter: this.#counter,
      monitor: this.#monitor,
      dispatcher: new Dispatcher({
        providers,
        retry: config.retry,
        keepAliveMs: config.streamKeepAliveMs,
        log: this.#log,
        onAttempt: (upstream, failure) => this.#monitor.countAttempt(upstream, failure),
      }),
      bodies: this.#bodies,
      paces: this.#paces,
      keeper: this.#keeper,
      cache: this.#cache,
      children: this.#keeper.childrenIn(config.tier),
      capOutput: config.capOutput,
      modelsCreatedS: config.modifiedAtS,
      log: this.#log,
      onUnavailable: () => this.#failed.count('state'),
    });
    const { capOutput, maxBodyBytes } = config;
    return {
      pipeline,
      providers,
      explained: { catalog, ledger: this.#ledger, keeper: this.#keeper, providers, capOutput, maxBodyBytes },
    };
  }

  async #tearDown(setup: Setup): Promise<void> {
    this.#previous.delete(setup);
    await closeProviders(setup.providers);
  }

  #traced(exchange: Exchange, route: Route | undefined, serve: () => Promise<void>): Promise<void> {
    return this.#traces === undefined ? serve() : this.#traces.trace(exchange, route, serve);
  }

  #serve(route: Route, exchange: Exchange): Promise<void> {
    const { pipeline } = this.#current;
    switch (route.kind) {
      case 'model_request':
        return pipeline.complete(exchange, DIALECTS[route.dialect]);
      case 'count_tokens':
        return pipeline.countTokens(exchange, route.dialect);
      case 'kept_response':
        return pipeline.keptResponse(exchange, route.id);
      case 'child_keys':
        return pipeline.childKeys(exchange, route.id);
      case 'show_key':
        return pipeline.showKey(exchange);
      case 'list_models':
        return pipeline.models(exchange);
      case 'show_model':
        return pipeline.models(exchange, route.id);
      case 'healthz':
        return sendHealth(exchange, healthy());
      case 'readyz':
        return sendHealth(exchange, readiness(this.#listener.draining, this.#ledger.storageFault));
    }
  }
}

/** Error formats by dialect name. */
const FORMATS: ReadonlyMap<string, ErrorFormat> = new Map(
  Object.entries(DIALECTS).map(([name, dialect]) => [
    name,
    {
      errorBody: dialect.errorBody,
      streamFailure: (error, requestId) => dialect.startStream(requestId).failure(error),
    },
  ]),
);

function formatFor(path: string, headers: RequestHeaders): ErrorFormat {
  return FORMATS.get(dialectOfErrors(path, headers)) as ErrorFormat;
}

function listenerSettings(config: Config): ListenerSettings {
  return {
    requestMs: config.timeouts.requestMs,
    maxBodyBytes: config.maxBodyBytes,
    idleMs: config.timeouts.idleMs,
    connections: connectionLimits(config),
    overload: { ...config.overload, threads: config.threads },
    cors: config.corsOrigins && corsPolicy(config.corsOrigins),
    figures: {
      requests: untouchedFigures('requests', config.tier),
      listings: untouchedFigures('listings', config.tier),
    },
  };
}

/** Returns the limits of one thread: the kernel distributes connections among the threads that share the port. */
function connectionLimits({ maxConnections, maxPerSource, threads }: Config): ConnectionLimits {
  const room = roomForConnections(maxConnections, threads);
  const perSource = maxPerSource === 'half' ? room / 2 : maxPerSource;
  return { max: Math.ceil(room / threads), maxPerSource: perSource && Math.ceil(perSource / threads) };
}

async function sendHealth(exchange: Exchange, { status, body }: Answer): Promise<void> {
  exchange.sendJson(status, body);
}

function isDoneWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  return within(
    milliseconds,
    promise.then(() => true),
    () => false,
  );
}
