/** The requests of the load, and what must be recorded of each. */

import { setTimeout as pause } from 'node:timers/promises';
import type { NewKey, OwnLimits } from '../../src/state/keys.ts';
import { costNanos, INPUT_TOKENS } from '../races/allowance.ts';
import { chunk, completion, DONE, usageChunk } from '../support/answers.ts';
import type { UpstreamCall } from '../support/fake-upstream.ts';
import { chat } from '../support/gateway.ts';
import type { Random } from '../support/random.ts';

/** What the limits of the keys leave under load: of the last three, less than is asked for. */
export const KEY_LIMITS = {
  // What is in the window is compared with the journal.
  ample: { budgets: [{ period: '1h', limitNanos: 1_000_000_000_000n }] },
  windowed: { rpm: 60 },
  narrow: { concurrency: 4 },
  poor: { spendLimitNanos: 1_000_000_000n },
} as const satisfies Readonly<Record<string, Partial<OwnLimits> & Pick<NewKey, 'budgets'>>>;
export type KeyName = keyof typeof KEY_LIMITS;
export const KEY_NAMES = Object.keys(KEY_LIMITS) as KeyName[];

/** One request. */
export interface Plan {
  /** Unique in a run. The host reports so many output tokens, and twice as many are held. */
  readonly marker: number;
  readonly key: KeyName;
  readonly stream: boolean;
  /** How long the host waits before its answer, and again in the middle of a stream. */
  readonly delayMs: number;
}

export function drawPlan(marker: number, random: Random): Plan {
  return {
    marker,
    key: random.chance(0.7) ? 'ample' : random.pick(KEY_NAMES),
    stream: random.chance(0.5),
    delayMs: random.chance(0.2) ? random.between(50, 600) : random.between(0, 30),
  };
}

export function bodyOf({ marker, stream }: Plan): string {
  return chat({ user: String(marker), stream, max_tokens: 2 * marker });
}

/** What it costs as the host reports it, and as it is held. */
export function costOf({ marker }: Plan): bigint {
  return costNanos(marker);
}

export function holdOf({ marker }: Plan): bigint {
  return costNanos(2 * marker);
}

/** The host: answers each request as it was planned, and remembers it. */
export class Host {
  /** How often each request arrived, by its marker. */
  readonly seen = new Map<number, number>();
  readonly #plans: ReadonlyMap<number, Plan>;

  constructor(plans: ReadonlyMap<number, Plan>) {
    this.#plans = plans;
  }

  async receive(call: UpstreamCall): Promise<void> {
    const marker = Number((JSON.parse(call.body) as { user: string }).user);
    this.seen.set(marker, (this.seen.get(marker) ?? 0) + 1);
    const { delayMs = 0, stream = false } = this.#plans.get(marker) ?? {};
    const usage = { prompt_tokens: INPUT_TOKENS, completion_tokens: marker, total_tokens: INPUT_TOKENS + marker };
    await pause(delayMs);
    if (!stream) return call.answer(200, completion('hi', { usage }));
    call.stream();
    call.send(chunk('hi'));
    await pause(delayMs);
    call.send(chunk('', 'stop') + usageChunk(usage) + DONE);
    call.end();
  }
}
