/** A carrier: all that it takes to answer requests in one thread, wired together. It remembers nothing of a request that has ended. */
import type { AddressInfo } from 'node:net';
import { Catalog } from '../catalog/catalog.ts';
import { type Config, isActive, type ProviderConfig } from '../config/config.ts';
import { Dispatcher } from '../dispatch.ts';
import type { Exchange } from '../http/exchange.ts';
import { Listener, type ListenerSettings, type Pressure } from '../http/listener.ts';
import { shownName } from '../http/refusals.ts';
import { isUnderV1, type Route } from '../http/routes.ts';
import { untouchedFigures } from '../ledger/activity.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { Board, type BoardLook, type BoardView, type UpstreamFacts } from '../live/board.ts';
import { type LoopDelay, LoopDelayMeter } from '../live/loop-delay.ts';
import type { Log } from '../observe/log.ts';
import { Pipeline } from '../pipeline.ts';
import { VERSION } from '../program.ts';
import { TokenCounter } from '../tokens/counter.ts';
import { HttpUpstream } from '../upstream/http.ts';
import { MockUpstream } from '../upstream/mock.ts';
import { Provider } from '../upstream/provider.ts';

/** After the drain's end, how long aborted requests have to be settled, in milliseconds, unless told otherwise. */
const ABORT_GRACE_MS = 2_000;

/** What carries requests, in this thread or in one of its own. */
export interface Carrier {
  readonly address: AddressInfo;
  /** Requests under way. */
  inFlight(): Promise<number>;
  /** How things stand, as far as it is wanted. */
  look(look: BoardLook): Promise<CarrierView>;
  /** Gives up a request that is under way. False where this carrier has none of that id. */
  stopRequest(id: string): Promise<boolean>;
  /** Serves what comes from now on by another config; what is under way goes on by the old one. */
  reload(config: Config): Promise<void>;
  /**
   * Takes nothing new and lets what is under way finish, for as long as `milliseconds`, then gives up what is left and
   * settles it. Resolves with the number of requests that could not be settled: they stay open in the file.
   */
  stop(milliseconds: number): Promise<number>;
  /** Ends what is left of one that was stopped. Until then it can be asked how things stand. */
  close(): Promise<void>;
}

/** What a carrier is doing. */
export interface CarrierView extends BoardView {
  readonly inFlight: number;
  readonly loopDelay: LoopDelay;
}

export interface CarrierParts {
  readonly config: Config;
  readonly ledger: Ledger;
  readonly log: Log;
  readonly patience?: Patience | undefined;
}

/** How long is waited where nothing is left to wait for but the machine, in milliseconds. */
export interface Patience {
  /** For the count of a request's tokens. */
  readonly countMs?: number;
  /** For aborted requests to be settled, after the drain's end. */
  readonly abortMs?: number;
}

/** Starts a carrier in this thread. Throws a UserError when the address cannot be had; nothing is left running then. */
export async function startCarrier(parts: CarrierParts): Promise<Carrier> {
  const carrier = new LocalCarrier(parts);
  await carrier.listen();
  return carrier;
}

/** What is made from one config: requests go on by the one that they began with. */
interface Generation {
  readonly pipeline: Pipeline;
  readonly providers: ReadonlyMap<string, Provider>;
}

class LocalCarrier implements Carrier {
  readonly #ledger: Ledger;
  readonly #log: Log;
  readonly #counter: TokenCounter;
  readonly #abortGraceMs: number;
  readonly #board = new Board(() => upstreamsOf(this.#current.providers));
  readonly #loopDelay = new LoopDelayMeter();
  readonly #listener: Listener;
  #current: Generation;
  /** Those of earlier configs that still have requests. */
  readonly #earlier = new Set<Generation>();
  #address: AddressInfo | undefined;

  constructor({ config, ledger, log, patience: { countMs, abortMs } = {} }: CarrierParts) {
    this.#ledger = ledger;
    this.#log = log;
    this.#counter = new TokenCounter(countMs);
    this.#abortGraceMs = abortMs ?? ABORT_GRACE_MS;
    this.#current = this.#generationOf(config);
    this.#listener = new Listener(
      { ...config.listen, isPortShared: config.threads > 1, ...listenerSettings(config) },
      {
        onExchange: (route, exchange) => this.#serve(route, exchange),
        onMisrouted: (error, exchange) => this.#current.pipeline.refuse(exchange, error),
        onClose: (exchange) => logExchange(log, exchange),
        onPressure: (refused, cause) => logPressure(log, refused, cause),
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

  async look(look: BoardLook): Promise<CarrierView> {
    return { ...this.#board.view(look), inFlight: this.#listener.inFlight, loopDelay: this.#loopDelay.read() };
  }

  async stopRequest(id: string): Promise<boolean> {
    return this.#board.stop(id);
  }

  async reload(config: Config): Promise<void> {
    const old = this.#current;
    this.#current = this.#generationOf(config);
    this.#listener.configure(listenerSettings(config));
    this.#log.level = config.logLevel;
    this.#earlier.add(old);
    void old.pipeline.idle().then(() => this.#forget(old));
  }

  async stop(milliseconds: number): Promise<number> {
    const idle = this.#listener.drain();
    const generations = [...this.#earlier, this.#current];
    const settlements = () => Promise.all(generations.map(({ pipeline }) => pipeline.settled()));
    // An answer may still be read on whose client has left.
    if (!(await isDoneWithin(idle.then(settlements), milliseconds))) {
      for (const { pipeline } of generations) pipeline.abortAll();
      await isDoneWithin(idle, this.#abortGraceMs);
    }
    this.#listener.close();
    // Connections may be gone while what came over them is still being settled.
    const settled = settlements();
    const isSettled = await isDoneWithin(settled, this.#abortGraceMs);
    // What waits to be counted is settled by its estimate.
    await this.#counter.close();
    if (!isSettled) await isDoneWithin(settled, this.#abortGraceMs);
    const unsettled = generations.reduce((sum, { pipeline }) => sum + pipeline.open, 0);
    await Promise.all(generations.map((generation) => this.#forget(generation)));
    return unsettled;
  }

  async close(): Promise<void> {
    this.#loopDelay.close();
  }

  #generationOf(config: Config): Generation {
    const providers = providersOf(config.providers);
    const pipeline = new Pipeline({
      catalog: new Catalog(config.providers),
      ledger: this.#ledger,
      counter: this.#counter,
      board: this.#board,
      dispatcher: new Dispatcher({
        providers,
        retry: config.retry,
        keepAliveMs: config.streamKeepAliveMs,
        log: this.#log,
        onVisit: (upstream, failure) => this.#board.visit(upstream, failure),
      }),
      capOutput: config.capOutput,
      modelsCreatedS: config.modifiedAtS,
      log: this.#log,
    });
    return { pipeline, providers };
  }

  async #forget(generation: Generation): Promise<void> {
    this.#earlier.delete(generation);
    await Promise.all([...generation.providers.values()].map((provider) => provider.close()));
  }

  async #serve(route: Route, exchange: Exchange): Promise<void> {
    const { pipeline } = this.#current;
    switch (route.kind) {
      case 'chat_completions':
        return pipeline.complete(exchange);
      case 'list_models':
        return pipeline.models(exchange);
      case 'show_model':
        return pipeline.models(exchange, route.id);
      case 'healthz':
        return exchange.sendJson(200, '{"status":"ok"}');
      case 'readyz':
        if (this.#listener.draining) return sendReadiness(exchange, 'draining');
        return sendReadiness(exchange, this.#ledger.fault === undefined ? 'ready' : 'storage_fault');
    }
  }
}

/** How each upstream is regarded, for the board. */
function upstreamsOf(providers: ReadonlyMap<string, Provider>): UpstreamFacts[] {
  return [...providers].flatMap(([provider, { members }]) =>
    members.map(({ name, state }) => ({ provider, name, state })),
  );
}

function listenerSettings(config: Config): ListenerSettings {
  return {
    requestTimeoutMs: config.requestTimeoutMs,
    maxBodyBytes: config.maxBodyBytes,
    stallTimeoutMs: config.clientStallTimeoutMs,
    // The system spreads connections over the threads that share the port.
    maxConnections: Math.ceil(config.maxConnections / config.threads),
    overload: { ...config.overload, threads: config.threads },
    figures: { requests: untouchedFigures(config.tier), listings: untouchedFigures(config.tier, true) },
  };
}

function providersOf(providers: readonly ProviderConfig[]): Map<string, Provider> {
  return new Map(providers.filter(isActive).map((provider) => [provider.name, providerOf(provider)]));
}

function providerOf(provider: ProviderConfig): Provider {
  switch (provider.kind) {
    case 'openai': {
      const upstreams = provider.upstreams.filter(isActive).map((upstream) => ({
        name: upstream.name,
        weight: upstream.weight,
        upstream: new HttpUpstream({ ...provider, ...upstream }, provider.timeouts, `inf-gw/${VERSION}`),
      }));
      return new Provider(upstreams, { onDisconnect: provider.onDisconnect, isJudged: true });
    }
    case 'mock': {
      const { name, timeouts } = provider;
      const upstreams = [{ name, weight: 1, upstream: new MockUpstream(timeouts) }];
      // It fails when a prompt asks it to, which must not be held against the prompts of others.
      return new Provider(upstreams, { onDisconnect: 'abort', isJudged: false });
    }
  }
}

function sendReadiness(exchange: Exchange, status: 'ready' | 'draining' | 'storage_fault'): void {
  exchange.sendJson(status === 'ready' ? 200 : 503, JSON.stringify({ status }));
}

/** One line a request. Neither its body nor its key is ever written. */
function logExchange(log: Log, exchange: Exchange): void {
  // Probes come every few seconds and tell nothing new.
  const level = isUnderV1(exchange.path) ? 'info' : 'debug';
  if (!log.isLevelEnabled(level)) return;
  const { requestId, request, keyId, model, ageMs } = exchange;
  // Some put their key there by mistake.
  const path = shownName(exchange.path);
  const method = request.method ?? '';
  const status = exchange.gone ? CLIENT_CLOSED_REQUEST : exchange.status;
  const error = exchange.error?.code;
  const subject = [model, error, keyId].filter((part) => part !== undefined).join(', ');
  log[level](
    { request_id: requestId, method, path, key: keyId, model, status, error, ms: ageMs },
    `${requestId} ${method} ${path} ${status} in ${ageMs} ms${subject === '' ? '' : ` (${subject})`}`,
  );
}

function logPressure(log: Log, refused: number, cause: Pressure): void {
  log.warn({ refused, cause }, `${refused} refused in the last seconds: ${PRESSURE[cause]}`);
}

const PRESSURE: Readonly<Record<Pressure, string>> = {
  connections: 'all connections are in use (max_connections)',
  loop_delay: 'the event loop is late (overload.loop_delay)',
  memory: 'the process needs too much memory (overload.memory)',
};

/** What logs show, since nginx, for a client that left before its answer. */
const CLIENT_CLOSED_REQUEST = 499;

async function isDoneWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), milliseconds);
  });
  const isDone = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return isDone;
}
