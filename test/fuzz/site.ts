/**
 * A fuzzed gateway in a process of its own, with the host behind it and the keys of its clients.
 */
import assert from 'node:assert/strict';
import { Site, type SiteKey, UPSTREAM_HEADER, UPSTREAM_KEY } from '../control/site.ts';
import { answering, completion } from '../support/answers.ts';
import { SERVE } from '../support/cli.ts';
import type { Script } from '../support/fake-upstream.ts';
import { descriptorsOf } from '../support/process.ts';
import type { Scope } from '../support/run-scope.ts';
import { until } from '../support/wait.ts';

/** The provider whose responses are always valid. */
export const CALM_MODEL = 'calm/echo';
/** The host's own name of that model. */
export const VENDOR_MODEL = 'vendor-echo-1';
/** Providers whose responses are mutated: enough that none of them fails at every request. */
export const WILD_PROVIDERS = 64;
/** The body limit. */
export const BODY_BYTES = 64 * 1024;
/** How many requests each key may have in flight: more than there are clients. */
export const SLOTS = 128;
/** For first byte and idle: what a mutated response leaves open is aborted soon. */
const SHORT_MS = 400;

/** Keys of clients. */
export interface Secrets {
  readonly calm: string;
  readonly wild: string;
  readonly disabled: string;
}

export interface FuzzSite {
  readonly site: Site;
  readonly keys: readonly SiteKey[];
  readonly secrets: Secrets;
  readonly pid: number;
  /** Files and sockets that the process had open before the first request. */
  readonly descriptorsAtStart: number;
}

/** The calls of a host are kept in memory, so they are cleared from time to time. */
const KEPT_CALLS = 1_000;

/** Makes the host of a site follow a script, for any number of requests. */
export function followLong({ site: { upstream } }: FuzzSite, script: Script): void {
  upstream.follow((call) => {
    if (upstream.calls.length > KEPT_CALLS) upstream.calls.length = 0;
    return script(call);
  });
}

export async function openFuzzSite(scope: Scope): Promise<FuzzSite> {
  const site = await Site.open(scope, {}, SERVE);
  const model = { upstream: VENDOR_MODEL, input: 0.001, output: 0.002, max_output: 1000 };
  const provider = (name: string, fields = {}) => ({
    ...site.host(fields),
    base_url: `http://127.0.0.1:${site.upstream.port}/${name}/v1`,
    models: { echo: model },
  });
  const wild = Array.from({ length: WILD_PROVIDERS }, (_, index) => `wild${index}`);
  const short = { timeouts: { first_byte: `${SHORT_MS}ms`, idle: `${SHORT_MS}ms` } };
  await site.reload({
    max_body: `${BODY_BYTES / 1024}kb`,
    tiers: { standard: { rpm: 100_000_000, tpm: 100_000_000_000, concurrency: SLOTS, models_rpm: 100_000_000 } },
    providers: {
      calm: provider('calm'),
      ...Object.fromEntries(wild.map((name) => [name, provider(name, short)])),
    },
  });
  const [calm, wildKey, disabled] = [site.key(), site.key(), site.key()];
  const { pid } = await site.snapshot();
  await site.place.json('keys', 'disable', disabled.id);
  await warmUp(site, calm);
  return {
    site,
    keys: [calm, wildKey],
    secrets: { calm: calm.secret, wild: wildKey.secret, disabled: disabled.secret },
    pid,
    descriptorsAtStart: descriptorsOf(pid),
  };
}

/**
 * Starts what is started by the first request, and by the first one whose tokens have to be
 * counted.
 */
async function warmUp(site: Site, key: SiteKey): Promise<void> {
  site.upstream.follow(answering(completion('hi', { usage: undefined })));
  const answer = await site.chat(key, { model: CALM_MODEL });
  assert.equal(answer.status, 200, await answer.text());
  site.upstream.dropConnections();
}

/** Closes all connections to the host; then the process must have open what it had at the start. */
export async function descriptorsLeft({ site, pid, descriptorsAtStart }: FuzzSite): Promise<number> {
  site.upstream.dropConnections();
  await until(() => descriptorsOf(pid) <= descriptorsAtStart).catch(() => {});
  return descriptorsOf(pid) - descriptorsAtStart;
}

/** What must reach no client: the operator's credentials and addresses. */
export function secretsOf({ site }: Pick<FuzzSite, 'site'>): string[] {
  return [UPSTREAM_KEY, UPSTREAM_HEADER, `127.0.0.1:${site.upstream.port}`];
}
