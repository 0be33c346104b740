/** Streams that a host writes at its own pace, whoever reads them, through a gateway that has just been started. */
import { setTimeout } from 'node:timers/promises';
import { Site } from '../control/site.ts';
import { chunk } from '../support/answers.ts';
import { SERVE } from '../support/cli.ts';
import type { UpstreamCall } from '../support/fake-upstream.ts';
import type { Scope } from '../support/run-scope.ts';
import { HOST_MODELS } from './pricing.ts';
import { DEFAULT_OUTPUT } from './site.ts';
import { Writing } from './writing.ts';

export interface PaceOptions {
  readonly streams: number;
  readonly tokensPerSecond: number;
  readonly spendLimitNanos: number;
}

const { output } = HOST_MODELS['vendor-cheap'] as { output: number };
const MOST_TOKENS = 60_000;
const PIECES_AT_ONCE = 2;
const NANOS_PER_PRICE = 1_000;

/** What the host bills for streams without a maximum that all begin at once: each until it sees that it is stopped. */
export async function billedAtPace(
  scope: Scope,
  { streams, tokensPerSecond, spendLimitNanos }: PaceOptions,
): Promise<number> {
  // A process of its own has counted nothing yet.
  const site = await Site.open(scope, {}, SERVE);
  const model = { input: 0, output: output / NANOS_PER_PRICE, default_output: DEFAULT_OUTPUT };
  await site.reload({ providers: { host: site.host({ models: { model } }) } });
  const billed: Promise<number>[] = [];
  site.upstream.follow((call) => {
    billed.push(write(call, tokensPerSecond));
  });
  const key = site.key({ spendLimitNanos: BigInt(spendLimitNanos) });
  const read = async () => (await site.chat(key, { stream: true })).text();
  await Promise.all(Array.from({ length: streams }, read));
  const tokens = (await Promise.all(billed)).reduce((sum, each) => sum + each, 0);
  await site.stop();
  return tokens * output;
}

/** Tokens written until the connection is closed. */
async function write(call: UpstreamCall, tokensPerSecond: number): Promise<number> {
  let isClosed = false;
  void call.closed.then(() => {
    isClosed = true;
  });
  const writing = new Writing('prose', MOST_TOKENS, 0);
  const startedMs = performance.now();
  call.stream();
  for (let text = writing.several(PIECES_AT_ONCE); !isClosed && text !== ''; text = writing.several(PIECES_AT_ONCE)) {
    call.send(chunk(text));
    await setTimeout(Math.max(0, startedMs + (writing.tokens * 1_000) / tokensPerSecond - performance.now()));
  }
  call.hangUp();
  return writing.tokens;
}
