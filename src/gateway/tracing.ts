/** Creates a worker's tracer from the config. Loaded only if tracing is configured. */
import type { Config, OtelConfig, ProviderConfig } from '../config/config.ts';
import { VERSION } from '../core/program.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Route } from '../http/routes.ts';
import type { Log } from '../observe/log.ts';
import { addressOf, type TracedHost } from '../tracing/host.ts';
import { Tracer } from '../tracing/tracer.ts';

/** Tracing of a worker's requests. */
export interface Traces {
  /** Traces a request while `serve` runs. `route` is undefined for an unknown path. */
  trace(exchange: Exchange, route: Route | undefined, serve: () => Promise<void>): Promise<void>;
  /** Applies the upstreams of a config. */
  know(config: Config): void;
  /** Exports the queue within the time limit. */
  close(milliseconds: number): Promise<void>;
}

export function openTraces({ node }: Config, { url, headers, attributes, sampleRatio }: OtelConfig, log: Log): Traces {
  const service = { 'service.name': 'inf-gw', 'service.version': VERSION, 'service.instance.id': node };
  const resource = { ...service, ...attributes };
  const tracer = new Tracer({ collector: { url, headers }, sampleRatio, resource, version: VERSION }, log);
  return {
    trace: (exchange, route, serve) => tracer.trace(exchange, route && templateOf(route, exchange.path), serve),
    know: ({ providers }) => tracer.know(new Map(providers.flatMap(hostsOf))),
    close: (milliseconds) => tracer.close(milliseconds),
  };
}

/** Returns the path template. Only two routes have a variable part. */
function templateOf(route: Route, path: string): string {
  if (route.kind === 'kept_response') return '/v1/responses/{response}';
  return route.kind === 'show_model' ? '/v1/models/{model}' : path;
}

function hostsOf(provider: ProviderConfig): (readonly [upstream: string, host: TracedHost])[] {
  const { kind } = provider;
  if (kind === 'mock') return [[provider.name, { provider: kind, address: undefined, port: undefined }]];
  return provider.upstreams.map(({ name, baseUrl }) => {
    const { address, port } = addressOf(baseUrl) ?? {};
    return [name, { provider: kind, address, port }];
  });
}
