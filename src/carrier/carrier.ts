/** A carrier: all that it takes to answer requests in one thread, wired together. It remembers nothing of a request that has ended. */
import type { AddressInfo } from 'node:net';
import { Catalog } from '../catalog/catalog.ts';
import { type Config, isActive, type ProviderConfig } from '../config/config.ts';
import type { Exchange } from '../http/exchange.ts';
import { Listener } from '../http/listener.ts';
import { isUnderV1, type Route } from '../http/routes.ts';
import { untouchedFigures } from '../ledger/activity.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Log } from '../observe/log.ts';
import { Pipeline } from '../pipeline.ts';
import { VERSION } from '../program.ts';
import { TokenCounter } from '../tokens/counter.ts';
import { HttpUpstream } from '../upstream/http.ts';
import { MockUpstream } from '../upstream/mock.ts';
import type { Upstream } from '../upstream/upstream.ts';

/** After the drain's end, how long aborted requests have to be settled, in milliseconds. */
const ABORT_GRACE_MS = 2_000;

/** What carries requests, in this thread or in one of its own. */
export interface Carrier {
  readonly address: AddressInfo;
  /** Requests under way. */
  inFlight(): Promise<number>;
  /**
   * Takes nothing new and lets what is under way finish, for as long as `milliseconds`, then gives up what is left and
   * settles it. Resolves with the number of requests that could not be settled: they stay open in the file.
   */
  stop(milliseconds: number): Promise<number>;
}

export interface CarrierParts {
  readonly config: Config;
  readonly ledger: Ledger;
  readonly log: Log;
}

/** Starts a carrier in this thread. Throws a UserError when the address cannot be had; nothing is left running then. */
export async function startCarrier({ config, ledger, log }: CarrierParts): Promise<Carrier> {
  const counter = new TokenCounter();
  const upstreams = upstreamsOf(config.providers);
  const pipeline = new Pipeline({
    catalog: new Catalog(config.providers),
    ledger,
    counter,
    upstreams,
    capOutput: config.capOutput,
    modelsCreatedS: config.modifiedAtS,
    log,
  });
  const listener = listenerOf(config, pipeline, ledger, log);
  return new LocalCarrier(await listener.listen(), { listener, pipeline, counter, upstreams });
}

interface LocalParts {
  readonly listener: Listener;
  readonly pipeline: Pipeline;
  readonly counter: TokenCounter;
  readonly upstreams: ReadonlyMap<string, Upstream>;
}

class LocalCarrier implements Carrier {
  readonly address: AddressInfo;
  readonly #parts: LocalParts;

  constructor(address: AddressInfo, parts: LocalParts) {
    this.address = address;
    this.#parts = parts;
  }

  async inFlight(): Promise<number> {
    return this.#parts.listener.inFlight;
  }

  async stop(milliseconds: number): Promise<number> {
    const { listener, pipeline, counter, upstreams } = this.#parts;
    const idle = listener.drain();
    if (!(await isDoneWithin(idle, milliseconds))) {
      pipeline.abortAll();
      await isDoneWithin(idle, ABORT_GRACE_MS);
    }
    listener.close();
    // Connections may be gone while what came over them is still being settled.
    await isDoneWithin(pipeline.settled(), ABORT_GRACE_MS);
    const unsettled = pipeline.open;
    await counter.close();
    await Promise.all([...upstreams.values()].map((upstream) => upstream.close()));
    return unsettled;
  }
}

function upstreamsOf(providers: readonly ProviderConfig[]): Map<string, Upstream> {
  return new Map(providers.filter(isActive).map((provider) => [provider.name, upstreamOf(provider)]));
}

function upstreamOf(provider: ProviderConfig): Upstream {
  switch (provider.kind) {
    case 'openai':
      return new HttpUpstream(provider, provider.timeouts, `inf-gw/${VERSION}`);
    case 'mock':
      return new MockUpstream(provider.timeouts);
  }
}

function listenerOf(config: Config, pipeline: Pipeline, ledger: Ledger, log: Log): Listener {
  const listener: Listener = new Listener(
    {
      ...config.listen,
      isPortShared: config.threads > 1,
      requestTimeoutMs: config.requestTimeoutMs,
      maxBodyBytes: config.maxBodyBytes,
      stallTimeoutMs: config.clientStallTimeoutMs,
      figures: { requests: untouchedFigures(config.tier), listings: untouchedFigures(config.tier, true) },
    },
    {
      onExchange: (route, exchange) => serve(route, exchange, { pipeline, listener, ledger }),
      onMisrouted: (error, exchange) => pipeline.refuse(exchange, error),
      onClose: (exchange) => logExchange(log, exchange),
    },
  );
  return listener;
}

/** What requests are answered with. */
interface Serving {
  readonly pipeline: Pipeline;
  readonly listener: Listener;
  readonly ledger: Ledger;
}

async function serve(route: Route, exchange: Exchange, { pipeline, listener, ledger }: Serving): Promise<void> {
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
      if (listener.draining) return sendReadiness(exchange, 'draining');
      return sendReadiness(exchange, ledger.fault === undefined ? 'ready' : 'storage_fault');
  }
}

function sendReadiness(exchange: Exchange, status: 'ready' | 'draining' | 'storage_fault'): void {
  exchange.sendJson(status === 'ready' ? 200 : 503, JSON.stringify({ status }));
}

/** One line a request. Neither its body nor its key is ever written. */
function logExchange(log: Log, exchange: Exchange): void {
  const { requestId, request, path, keyId, model, ageMs } = exchange;
  const method = request.method ?? '';
  const status = exchange.gone ? CLIENT_CLOSED_REQUEST : exchange.status;
  const error = exchange.error?.code;
  const subject = [model, error, keyId].filter((part) => part !== undefined).join(', ');
  // Probes come every few seconds and tell nothing new.
  log[isUnderV1(path) ? 'info' : 'debug'](
    { request_id: requestId, method, path, key: keyId, model, status, error, ms: ageMs },
    `${requestId} ${method} ${path} ${status} in ${ageMs} ms${subject === '' ? '' : ` (${subject})`}`,
  );
}

/** What logs show, since nginx, for a client that left before its answer. */
const CLIENT_CLOSED_REQUEST = 499;

async function isDoneWithin(promise: Promise<void>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), milliseconds);
  });
  const isDone = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return isDone;
}
