/** Makes a worker's traces from the config. Loaded only if they are configured. */
import type { Config, OtelConfig, ProviderConfig } from '../config/config.ts';
import { VERSION } from '../core/program.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Route } from '../http/routes.ts';
import type { Log } from '../observe/log.ts';
import { addressOf, type TracedHost } from '../tracing/host.ts';
import { Tracer } from '../tracing/tracer.ts';

/** What a worker does with its traces. */
export interface Traces {
  /** Traces a request while it is served. `route` is undefined if there is no such path. */
  trace(exchange: Exchange, route: Route | undefined, serve: () => Promise<void>): Promise<void>;
  /** Requests go to the upstreams of this config. */
  know(config: Config): void;
  /** Exports what is left, for that long at most. */
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

/** Only one path has a part that varies. */
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
