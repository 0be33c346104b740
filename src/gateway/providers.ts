/** Turns the providers of a config into running ones. */
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

/** Starts the active providers. Connections are opened when requests need them. `warn` receives warnings of packages. */
export function startProviders(configs: readonly ProviderConfig[], warn: (line: string) => void = () => {}): Providers {
  return new Map(configs.filter(isActive).map((config) => [config.name, startProvider(config, warn)]));
}

export async function closeProviders(providers: Providers): Promise<void> {
  await Promise.all([...providers.values()].map((provider) => provider.close()));
}

/** The upstreams of all providers and their states, in the order of the config. */
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
      // A mock fails when a prompt asks it to. That must not open the circuit for other prompts.
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
