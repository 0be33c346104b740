/** The composition root: turns a config into running parts, wired to each other. */
import type { AddressInfo } from 'node:net';
import { Catalog } from './catalog/catalog.ts';
import { type Config, isActive, type ProviderConfig } from './config/config.ts';
import type { Exchange } from './http/exchange.ts';
import { Listener } from './http/listener.ts';
import { isUnderV1, type Route } from './http/routes.ts';
import { untouchedFigures } from './ledger/activity.ts';
import { startLedger } from './ledger/client.ts';
import type { Ledger, LedgerSummary } from './ledger/ledger.ts';
import { lockState } from './ledger/sqlite.ts';
import type { Log } from './observe/log.ts';
import { Pipeline } from './pipeline.ts';
import { VERSION } from './program.ts';
import { TokenCounter } from './tokens/counter.ts';
import { HttpUpstream } from './upstream/http.ts';
import { MockUpstream } from './upstream/mock.ts';
import type { Upstream } from './upstream/upstream.ts';

/** After the drain's end, how long aborted requests have to be settled, in milliseconds. */
const ABORT_GRACE_MS = 2_000;

export interface GatewayEvents {
  /** The ledger has died by a fault of the program: the process cannot go on. */
  onFatal(error: Error): void;
}

export class Gateway {
  readonly address: AddressInfo;
  readonly summary: LedgerSummary;
  readonly #parts: Parts;

  constructor(address: AddressInfo, summary: LedgerSummary, parts: Parts) {
    this.address = address;
    this.summary = summary;
    this.#parts = parts;
  }

  /** Requests under way. */
  get inFlight(): number {
    return this.#parts.listener.inFlight;
  }

  /**
   * Lets what is under way finish, for as long as `milliseconds`, then gives up what is left, settles it and closes.
   * Resolves with the number of requests that could not be settled: they stay open in the file.
   */
  async stop(milliseconds: number): Promise<number> {
    const { listener, pipeline, ledger, counter, upstreams, lock } = this.#parts;
    const idle = listener.drain();
    if (!(await isDoneWithin(idle, milliseconds))) {
      pipeline.abortAll();
      await isDoneWithin(idle, ABORT_GRACE_MS);
    }
    listener.close();
    // Connections may be gone while what came over them is still being settled.
    await isDoneWithin(pipeline.settled(), ABORT_GRACE_MS);
    const unsettled = pipeline.open;
    await ledger.close();
    await counter.close();
    await Promise.all([...upstreams.values()].map((upstream) => upstream.close()));
    lock.release();
    return unsettled;
  }
}

interface Parts {
  readonly listener: Listener;
  readonly pipeline: Pipeline;
  readonly ledger: Ledger;
  readonly counter: TokenCounter;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly lock: { release(): void };
}

/** Starts a gateway. Throws a UserError when the state file or the address cannot be had; nothing is left running then. */
export async function startGateway(config: Config, log: Log, events: GatewayEvents): Promise<Gateway> {
  const lock = lockState(config.statePath);
  try {
    const { ledger, summary } = await startLedger(
      {
        path: config.statePath,
        durability: config.durability,
        creditEnforced: config.creditEnforced,
        ...config.tier,
      },
      {
        onStorageFault: (message) => log.error(message),
        onStorageRecovered: () => log.info('the state file can be written again'),
        onDeath: (error) => events.onFatal(error),
      },
    );
    if (summary.created) log.info(`created the state file ${config.statePath}`);
    try {
      const upstreams = upstreamsOf(config.providers);
      const counter = new TokenCounter();
      const pipeline = pipelineOf(config, ledger, counter, upstreams, log);
      const listener = listenerOf(config, pipeline, ledger, log);
      const address = await listener.listen();
      return new Gateway(address, summary, { listener, pipeline, ledger, counter, upstreams, lock });
    } catch (error) {
      await ledger.close();
      throw error;
    }
  } catch (error) {
    lock.release();
    throw error;
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

function pipelineOf(
  config: Config,
  ledger: Ledger,
  counter: TokenCounter,
  upstreams: ReadonlyMap<string, Upstream>,
  log: Log,
): Pipeline {
  return new Pipeline({
    catalog: new Catalog(config.providers),
    ledger,
    counter,
    upstreams,
    capOutput: config.capOutput,
    modelsCreatedS: config.modifiedAtS,
    log,
  });
}

function listenerOf(config: Config, pipeline: Pipeline, ledger: Ledger, log: Log): Listener {
  const listener: Listener = new Listener(
    {
      ...config.listen,
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
type Serving = Pick<Parts, 'pipeline' | 'listener' | 'ledger'>;

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
      return sendReadiness(
        exchange,
        listener.draining ? 'draining' : ledger.fault === undefined ? 'ready' : 'storage_fault',
      );
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
