/**
 * The requests of the load, and what must be recorded of each, computed without the program's own
 * code.
 */

import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { estimateTokens } from '../../src/wire/token-estimate.ts';
import type { Random } from '../support/random.ts';

/** Prices in nanodollars per million tokens. Those of `odd` lead to costs that must be rounded. */
const MODELS = {
  even: { input: 150_000_000n, cached: 75_000_000n, output: 600_000_000n },
  odd: { input: 123_457n, cached: 23_456n, output: 654_321n },
  free: { input: 0n, cached: 0n, output: 0n },
} as const;
const DEFAULT_OUTPUT = 100;
const MAX_OUTPUT = 4_096;
const TOKENS_PER_PRICE = 1_000_000n;

/** Requests per minute of the key `small`. */
export const SMALL_RPM = 5;
/** Requests per minute of the other keys: more than a run can send. */
export const LARGE_RPM = 1_000_000;

export type KeyName = 'app' | 'other' | 'small' | 'off' | 'broke';
type ModelName = keyof typeof MODELS;

/** How the keys are created on the command line. */
export const KEY_OPTIONS: Readonly<Record<KeyName, readonly string[]>> = {
  // So that the audit after each kill compares their windows with the journal.
  app: ['--budget', '10s=1000', '--budget', '1h=1000000'],
  other: [],
  small: ['--rpm', String(SMALL_RPM)],
  off: [],
  broke: ['--spend-limit', '0'],
};

/**
 * What the host does, or why the request never reaches it; how often it is drawn; and how its
 * answer starts.
 */
const KINDS = {
  json: { weight: 6, stream: false, status: 200 },
  json_uncounted: { weight: 2, stream: false, status: 200 },
  stream: { weight: 6, stream: true, status: 200 },
  stream_uncounted: { weight: 2, stream: true, status: 200 },
  /** The client leaves after the first bytes. */
  left: { weight: 1, stream: true, status: 200 },
  /** The host aborts its stream. */
  broken: { weight: 1, stream: true, status: 200 },
  failing: { weight: 1, stream: false, status: 502 },
  faulty: { weight: 1, stream: false, status: 400 },
  unknown_model: { weight: 1, stream: false, status: 404 },
  malformed: { weight: 1, stream: false, status: 400 },
  disabled: { weight: 1, stream: false, status: 403 },
  spent: { weight: 1, stream: false, status: 402 },
} as const;
type Kind = keyof typeof KINDS;
const DRAWN = (Object.keys(KINDS) as Kind[]).flatMap((kind) => Array<Kind>(KINDS[kind].weight).fill(kind));
const REFUSED: readonly Kind[] = ['unknown_model', 'malformed', 'disabled', 'spent'];

/** One request of the load. */
export interface Plan {
  /** Unique in the run: the input tokens that the host reports are derived from it. */
  readonly marker: number;
  /**
   * Unique among the requests of a cycle: the estimated input, and so the hold, is derived from it.
   */
  readonly ordinal: number;
  readonly kind: Kind;
  readonly key: KeyName;
  readonly model: ModelName;
  /** `max_tokens`, if it is declared. */
  readonly declared: number | undefined;
  readonly choices: number;
  /** How long the host waits before it answers, and again in the middle of a stream. */
  readonly delayMs: number;
}

export interface Figures {
  readonly prompt: bigint;
  readonly cached: bigint;
  readonly completion: bigint;
}

export function drawPlan(marker: number, ordinal: number, random: Random): Plan {
  const kind = DRAWN[random.between(0, DRAWN.length - 1)] as Kind;
  const isDeclared = random.chance(0.5);
  return {
    marker,
    ordinal,
    kind,
    key: keyFor(kind, random),
    model: (['even', 'odd', 'odd', 'free'] as const)[random.between(0, 3)] as ModelName,
    // Sometimes more than the model's maximum.
    declared: isDeclared ? random.between(1, MAX_OUTPUT + 500) : undefined,
    choices: isDeclared && random.chance(0.2) ? 2 : 1,
    delayMs: random.chance(0.1) ? random.between(0, 400) : random.between(0, 20),
  };
}

function keyFor(kind: Kind, random: Random): KeyName {
  if (kind === 'disabled') return 'off';
  if (kind === 'spent') return 'broke';
  if (kind === 'json' && random.chance(0.2)) return 'small';
  return random.chance(0.8) ? 'app' : 'other';
}

/** The part of the request's body that differs between requests. */
export function fieldsOf(plan: Plan): Record<string, unknown> {
  return {
    model: modelOf(plan),
    messages: plan.kind === 'malformed' ? [] : [{ role: 'user', content: promptOf(plan) }],
    ...(isStream(plan) && { stream: true }),
    ...(plan.kind === 'stream' && plan.marker % 2 === 0 && { stream_options: { include_usage: true } }),
    ...(plan.declared !== undefined && { max_tokens: plan.declared }),
    ...(plan.choices > 1 && { n: plan.choices }),
  };
}

export function modelOf(plan: Plan): string {
  return plan.kind === 'unknown_model' ? 'host/none' : `host/${plan.model}`;
}

/**
 * A length for which no other request of the cycle is estimated or counted at the same number of
 * tokens.
 */
function promptOf(plan: Plan): string {
  return `#${String(plan.marker).padStart(9, '0')} ${' word'.repeat(plan.ordinal)}`;
}

/** What the gateway holds for the input: the estimate of the prompt, and 3 tokens for the message. */
export function inputEstimate(plan: Plan): bigint {
  return BigInt(estimateTokens(promptOf(plan)) + 3);
}

export function inputCount(plan: Plan): bigint {
  return BigInt(countTokens(promptOf(plan)) + 3);
}

/** The number at the start of a prompt. */
export function markerIn(body: string): number {
  return Number(/"#(\d+) /.exec(body)?.[1]);
}

export function isStream({ kind }: Plan): boolean {
  return KINDS[kind].stream;
}

/** The status of the answer, unless a window is full. */
export function statusOf({ kind }: Plan): number {
  return KINDS[kind].status;
}

/** True if admission refuses the request in any case. */
export function isRefused({ kind }: Plan): boolean {
  return REFUSED.includes(kind);
}

/** The text of the answer, in two pieces. */
export function wordsOf({ marker }: Plan): readonly [string, string] {
  return ['An answer to ', `#${marker} and no other.`];
}

/** Above all estimates, to distinguish a reported number of tokens from an estimated one. */
const FIRST_REPORTED = 1_000_000;

/** The usage that the host reports. */
export function reported({ marker }: Plan): Figures {
  return {
    prompt: BigInt(FIRST_REPORTED + marker),
    cached: marker % 3 === 0 ? 1_000n : 0n,
    completion: BigInt((marker % 97) + 1),
  };
}

export function markerOf(reportedPrompt: bigint): number {
  return Number(reportedPrompt) - FIRST_REPORTED;
}

/** What is charged if the process dies. */
export function held(plan: Plan): Figures {
  const each = Math.min(plan.declared ?? DEFAULT_OUTPUT, MAX_OUTPUT);
  return { prompt: inputEstimate(plan), cached: 0n, completion: BigInt(each * plan.choices) };
}

/** What the gateway counts if nothing is reported. */
export function counted(plan: Plan, words: string): Figures {
  return { prompt: inputCount(plan), cached: 0n, completion: BigInt(Math.max(1, countTokens(words))) };
}

/** Nanodollars, rounded up. */
export function costOf(plan: Plan, { prompt, cached, completion }: Figures): bigint {
  const price = MODELS[plan.model];
  const total = (prompt - cached) * price.input + cached * price.cached + completion * price.output;
  return total / TOKENS_PER_PRICE + (total % TOKENS_PER_PRICE === 0n ? 0n : 1n);
}

/** The config of a gateway with that many threads and its host on that port. */
export function configFor(port: number, threads = 1): string {
  const usd = (nanos: bigint) => Number(nanos) / 1e9;
  const models = Object.entries(MODELS).map(
    ([name, { input, cached, output }]) =>
      `      ${name}: { input: ${usd(input)}, cached_input: ${usd(cached)}, output: ${usd(output)}, ` +
      `max_output: ${MAX_OUTPUT}, default_output: ${DEFAULT_OUTPUT} }`,
  );
  return `listen: 127.0.0.1:0
threads: ${threads}
state: ./state.db
overload: { loop_delay: off }
tiers:
  standard: { rpm: ${LARGE_RPM}, tpm: 1000000000000, concurrency: 10000 }
providers:
  host:
    kind: openai
    base_url: http://127.0.0.1:${port}/v1
    models:
${models.join('\n')}
`;
}
