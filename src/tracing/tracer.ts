/** Traces the requests of a worker and exports recorded traces. Loaded only if tracing is configured. */
import type { RequestTrace } from '../core/request-trace.ts';
import type { Exchange } from '../http/exchange.ts';
import { isUnderV1 } from '../http/routes.ts';
import type { Log } from '../observe/log.ts';
import { contextOf, newContext } from './context.ts';
import { type Collector, Exporter, type ExportTimes } from './exporter.ts';
import type { TracedHost } from './host.ts';
import { Attributes, envelopeOf } from './otlp.ts';
import { RecordedTrace, UnrecordedTrace } from './request-span.ts';

export interface TracerSettings {
  readonly collector: Collector;
  /** The recorded share of requests without their own context. */
  readonly sampleRatio: number;
  /** Resource attributes of all spans. */
  readonly resource: Readonly<Record<string, string>>;
  readonly version: string;
}

export class Tracer {
  readonly #settings: TracerSettings;
  readonly #exporter: Exporter;
  #hosts: ReadonlyMap<string, TracedHost> = new Map();
  /** Incomplete recorded requests. */
  readonly #open = new Map<Exchange, RecordedTrace>();

  constructor(settings: TracerSettings, log: Log, times?: Partial<ExportTimes>) {
    this.#settings = settings;
    const resource = new Attributes();
    for (const [key, value] of Object.entries(settings.resource))
      resource.text(JSON.stringify(key).slice(1, -1), value);
    this.#exporter = new Exporter(settings.collector, envelopeOf(resource, settings.version), log, times);
  }

  /** Sets the hosts of upstreams, by upstream name. */
  know(hosts: ReadonlyMap<string, TracedHost>): void {
    this.#hosts = hosts;
  }

  /** Traces a request while `serve` runs. `route`: the path template, if any. */
  async trace(exchange: Exchange, route: string | undefined, serve: () => Promise<void>): Promise<void> {
    // Skips health checks, which arrive every few seconds.
    if (!isUnderV1(exchange.path)) return serve();
    const trace = this.#begin(exchange, route);
    exchange.trace = trace;
    if (!(trace instanceof RecordedTrace)) return serve();
    // The response may close after `serve` ends or, if the client hangs up, before. The trace ends with the later event.
    let isClosed = false;
    exchange.onClose(() => {
      isClosed = true;
      this.#finish(exchange);
    });
    await serve();
    this.#open.set(exchange, trace);
    if (isClosed) this.#finish(exchange);
  }

  /** Finishes all open traces, and exports the queue within the time limit. */
  async close(milliseconds: number): Promise<void> {
    for (const exchange of this.#open.keys()) this.#finish(exchange);
    await this.#exporter.close(milliseconds);
  }

  #begin({ request, requestId, path }: Exchange, route: string | undefined): RequestTrace {
    const { method = '', headers, httpVersion } = request;
    const { traceparent, tracestate } = headers as Record<string, string | undefined>;
    const context = contextOf(traceparent, tracestate) ?? newContext(this.#settings.sampleRatio);
    if (!context.isSampled) return new UnrecordedTrace(context);
    const { host, 'user-agent': userAgent } = headers;
    return new RecordedTrace(context, { requestId, method, path, route, host, userAgent, httpVersion }, this.#hosts);
  }

  #finish(exchange: Exchange): void {
    const trace = this.#open.get(exchange);
    if (trace === undefined) return;
    this.#open.delete(exchange);
    const { keyId, model, error, gone: isGone, status, streamStarted } = exchange;
    const { json, spans } = trace.finish({
      keyId,
      model,
      status: streamStarted ? status : undefined,
      code: error?.code,
      isGone,
    });
    this.#exporter.add(json, spans);
  }
}
