/** A gateway whose providers have several upstreams, each a host that follows a script. */
import assert from 'node:assert/strict';
import { answering, chunk, completion, DONE, streaming, usageChunk } from '../support/answers.ts';
import { FakeUpstream, type Script } from '../support/fake-upstream.ts';
import {
  chat,
  type GatewayOptions,
  type Reply,
  type Row,
  type TestGateway,
  type TestKey,
  withGateway,
} from '../support/gateway.ts';

/** The columns of the journal on who served a request. */
export interface ServedRow extends Row {
  readonly requested_model: string | null;
  readonly upstream: string | null;
  readonly attempts: number | null;
  readonly hold_nanos: number;
}

export type Fields = Record<string, unknown>;

/** The credential of the host with this index, which no client may see. */
export const secretOf = (host: number) => `canary-of-host-${host}-4711`;

/** A host that listens, or a port where nothing does. */
export type Host = Pick<FakeUpstream, 'port'>;

/** An upstream of a provider in the config file. */
export function upstreamOf(host: Host, number: number, fields: Fields = {}): Fields {
  return { base_url: `http://127.0.0.1:${host.port}/v1`, api_key: secretOf(number), ...fields };
}

const MODELS = { echo: { upstream: 'vendor-echo-1', input: 1, cached_input: 0.25, output: 2, max_output: 1000 } };

/** A provider with these hosts as its upstreams; its model is `echo`. */
export function providerOf(hosts: readonly Host[], fields: Fields = {}): Fields {
  return { kind: 'openai', upstreams: hosts.map((host, i) => upstreamOf(host, i + 1)), models: MODELS, ...fields };
}

/** The ways in which an upstream rejects a request. */
export const REFUSALS: readonly number[] = [429, 503, 529];

export const refusing = (status: number, headers: Record<string, string> = {}): Script =>
  answering({ error: { message: `No: ${status}.` } }, status, headers);

/** Responds as requested: with a plain completion or a stream. */
export function serving(words: string): Script {
  const [whole, stream] = [answering(completion(words)), streaming(chunk(words, 'stop'), usageChunk(), DONE)];
  return (call) => (JSON.parse(call.body).stream === true ? stream(call) : whole(call));
}

export interface StageOptions extends GatewayOptions {
  /** One per host; 1 by default. */
  readonly weights?: readonly number[];
  /** The providers of the config; by default `fake`, with all hosts as its upstreams. */
  readonly providers?: (hosts: readonly FakeUpstream[]) => Fields;
}

export class Stage {
  readonly gateway: TestGateway;
  readonly hosts: readonly FakeUpstream[];

  constructor(gateway: TestGateway, hosts: readonly FakeUpstream[]) {
    this.gateway = gateway;
    this.hosts = hosts;
  }

  host(place: number): FakeUpstream {
    return this.hosts[place] as FakeUpstream;
  }

  /** Sets the scripts of the hosts, in order. */
  follow(...scripts: readonly Script[]): void {
    for (const [place, script] of scripts.entries()) this.host(place).follow(script);
  }

  /** How often each host got a request since its script was set. */
  get asked(): number[] {
    return this.hosts.map(({ calls }) => calls.length);
  }

  /** A key without an effective rate limit. */
  key(settings: Parameters<TestGateway['key']>[0] = {}): TestKey {
    return this.gateway.key({ rpm: 100_000, tpm: 100_000_000, concurrency: 1_000, ...settings });
  }

  ask(key: TestKey, fields: Fields = {}): Promise<Reply> {
    return this.gateway.complete(key, chat(fields));
  }

  /** Sends requests one after the other, and returns their statuses. */
  async statuses(key: TestKey, count: number, fields: Fields = {}): Promise<number[]> {
    const statuses: number[] = [];
    for (let i = 0; i < count; i++) statuses.push((await this.ask(key, fields)).status);
    return statuses;
  }

  rows(key: TestKey): ServedRow[] {
    return this.gateway.rows(key) as ServedRow[];
  }

  async row(key: TestKey): Promise<ServedRow> {
    return (await this.gateway.row(key)) as ServedRow;
  }
}

/**
 * Runs a test with this many hosts and a gateway; afterwards everything must be settled and the
 * sums correct.
 */
export async function withStage(
  count: number,
  options: StageOptions,
  run: (stage: Stage) => Promise<void>,
): Promise<void> {
  const hosts = await Promise.all(Array.from({ length: count }, () => FakeUpstream.start()));
  const { weights = [], providers, ...others } = options;
  const upstreams = hosts.map((host, i) => upstreamOf(host, i + 1, { weight: weights[i] ?? 1 }));
  const gatewayOptions: GatewayOptions = {
    ...others,
    provider: { base_url: undefined, api_key: undefined, upstreams, ...others.provider },
    config: { ...(providers && { providers: providers(hosts) }), ...others.config },
  };
  try {
    await withGateway(gatewayOptions, async (gateway) => {
      await run(new Stage(gateway, hosts));
      await gateway.assertSettled();
    });
  } finally {
    await Promise.all(hosts.map((host) => host.close()));
  }
}

/** No response may contain anything of the hosts'. */
export function assertNoSecret({ hosts }: Stage, reply: Reply): void {
  const text = reply.text + JSON.stringify([...reply.headers]);
  for (const [place, { port }] of hosts.entries()) {
    for (const secret of [secretOf(place + 1), `127.0.0.1:${port}`]) assert.ok(!text.includes(secret), text);
  }
}
