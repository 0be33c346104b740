/** Creates running providers from the config. */
import { type HttpProviderConfig, isActive, type ProviderConfig, type UpstreamConfig } from '../config/config.ts';
import { VERSION } from '../core/program.ts';
import type { UpstreamFacts } from '../observe/monitor.ts';
import { BedrockUpstream } from '../upstream/bedrock.ts';
import { HttpUpstream } from '../upstream/http.ts';
import { MockUpstream } from '../upstream/mock.ts';
import { Provider } from '../upstream/provider.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { VertexUpstream } from '../upstream/vertex.ts';

/** Running providers, by name. */
export type Providers = ReadonlyMap<string, Provider>;

/** Starts the active providers. Connections are opened on demand. `warn` receives warnings of packages. */
export function startProviders(configs: readonly ProviderConfig[], warn: (line: string) => void = () => {}): Providers {
  return new Map(configs.filter(isActive).map((config) => [config.name, startProvider(config, warn)]));
}

export async function closeProviders(providers: Providers): Promise<void> {
  await Promise.all([...providers.values()].map((provider) => provider.close()));
}

/** Returns the upstreams of all providers with their states, in config order. */
export function upstreamsOf(providers: Providers): UpstreamFacts[] {
  return [...providers].flatMap(([provider, { members }]) =>
    members.map(({ name, state }) => ({ provider, name, state })),
  );
}

function startProvider(config: ProviderConfig, warn: (line: string) => void): Provider {
  switch (config.kind) {
    case 'openai':
    case 'azure':
    case 'anthropic':
    case 'gemini':
    case 'bedrock':
    case 'vertex': {
      const upstreams = config.upstreams.filter(isActive).map((upstream) => ({
        name: upstream.name,
        weight: upstream.weight,
        upstream: upstreamOf(config, upstream, warn),
      }));
      return new Provider(upstreams, { onDisconnect: config.onDisconnect, tracksHealth: true });
    }
    case 'mock': {
      const { name, timeouts } = config;
      const upstreams = [{ name, weight: 1, upstream: new MockUpstream(timeouts) }];
      // The mock fails only on request, which must not open the circuit breaker for other requests.
      return new Provider(upstreams, { onDisconnect: 'abort', tracksHealth: false });
    }
  }
}

function upstreamOf(config: HttpProviderConfig, upstream: UpstreamConfig, warn: (line: string) => void): Upstream {
  const host = { ...config, ...upstream };
  const userAgent = `inf-gw/${VERSION}`;
  const { region, project, timeouts } = config;
  if (region !== undefined) {
    const notice = (line: string) => warn(`provider ${config.name}: ${line}`);
    return new BedrockUpstream({ ...host, region }, timeouts, userAgent, notice);
  }
  if (project !== undefined) return new VertexUpstream({ ...host, project }, timeouts, userAgent);
  return new HttpUpstream(host, timeouts, userAgent);
}
