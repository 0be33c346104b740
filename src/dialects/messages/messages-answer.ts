/** Reads messages and their usage. */
import { isObject, objectOf, objectsIn } from '../../core/json.ts';
import { PRICED_FIELDS, type PricedField, tierOfField } from '../../core/price-tiers.ts';
import { NO_PARTS, type TokenUsage } from '../../core/usage.ts';
import { type AnswerFacts, countOf, isInputAlone, reportedCalls, together } from '../answer.ts';
import type { Fields } from '../dialect.ts';
import { outputOfBlock } from './messages-output.ts';
import { hostCallsOf } from './messages-tools.ts';

export function readMessage(answer: Fields): AnswerFacts {
  const isMessage = Array.isArray(answer.content);
  const finished = typeof answer.stop_reason === 'string';
  const usage = objectOf(answer.usage);
  return {
    ...usageFacts(answer.usage),
    choices: isMessage ? 1 : undefined,
    progress: isMessage ? [{ index: 0, finished, ...together((answer.content as unknown[]).map(outputOfBlock)) }] : [],
    toolCalls: isMessage ? (answer.content as unknown[]).flatMap((block, index) => hostCallsOf(block, index)) : [],
    id: answer.id,
    serviceTier: servedTiers(usage),
    model: answer.model,
  };
}

/** Sums of billed tokens. */
interface Sum {
  input: number;
  cacheRead: number;
  /** All cache writes, including those with a lifetime of an hour. */
  written: number;
  written1h: number;
  output: number;
}

/** Many times the iterations of any host. */
const MAX_ITERATIONS = 1_000;

/** Returns the service tier in a usage, followed by the values of priced fields, each after a space. */
export function servedTiers(usage: Fields): string | undefined {
  const fields = (Object.keys(PRICED_FIELDS) as PricedField[]).flatMap((field) => {
    const value = usage[field];
    return typeof value === 'string' ? [tierOfField(field, value)] : [];
  });
  const tier = typeof usage.service_tier === 'string' ? [usage.service_tier] : [];
  return tier.length + fields.length === 0 ? undefined : [...tier, ...fields].join(' ');
}

export function usageFacts(reported: unknown): Pick<AnswerFacts, 'usage' | 'hasUsage' | 'isInputAlone'> {
  const usage = readUsage(reported);
  const isAlone = (report: unknown) => isInputAlone(report, usage, 'output_tokens');
  const hasUsage = isObject(reported);
  return { usage, hasUsage, isInputAlone: hasUsage && [reported, ...objectsIn(reported.iterations)].every(isAlone) };
}

/**
 * Returns the reported usage if it is valid: whole numbers, not all zero, with the input present. Anthropic's input
 * excludes cache reads and writes; ours includes both. `iterations` may exceed the totals or, in a stream, lag behind them:
 * the larger of the two counts.
 */
export function readUsage(usage: unknown): TokenUsage | undefined {
  if (!isObject(usage)) return undefined;
  const iterations = objectsIn(usage.iterations);
  if (iterations.length > MAX_ITERATIONS) return undefined;
  if (![usage, ...iterations].some((part) => countOf(part.input_tokens) !== undefined)) return undefined;
  const top = sumOf([usage]);
  const sum = sumOf(iterations);
  if (top === undefined || sum === undefined) return undefined;
  const input = Math.max(top.input, sum.input);
  const cachedTokens = Math.max(top.cacheRead, sum.cacheRead);
  const written = Math.max(top.written, sum.written);
  const cacheWrite1hTokens = Math.max(top.written1h, sum.written1h);
  const completionTokens = Math.max(top.output, sum.output);
  const promptTokens = countOf(input + cachedTokens + written);
  if (promptTokens === undefined || promptTokens + completionTokens === 0) return undefined;
  const toolCalls = reportedCalls(usage.server_tool_use, '_requests');
  const hasParts = written > 0 || Object.keys(toolCalls).length > 0;
  const parts = { ...NO_PARTS, cacheWriteTokens: written - cacheWrite1hTokens, cacheWrite1hTokens, toolCalls };
  return { promptTokens, cachedTokens, completionTokens, ...(hasParts && { parts }) };
}

/** Returns the sum; undefined if a count or a sum is invalid. */
function sumOf(reports: readonly Fields[]): Sum | undefined {
  const sum: Sum = { input: 0, cacheRead: 0, written: 0, written1h: 0, output: 0 };
  for (const report of reports) {
    const lifetimes = objectOf(report.cache_creation);
    const written5m = countOf(lifetimes.ephemeral_5m_input_tokens) ?? 0;
    const written1h = countOf(lifetimes.ephemeral_1h_input_tokens) ?? 0;
    sum.input += figureOf(report.input_tokens);
    sum.output += figureOf(report.output_tokens);
    sum.cacheRead += figureOf(report.cache_read_input_tokens);
    sum.written += Math.max(figureOf(report.cache_creation_input_tokens), written5m + written1h);
    sum.written1h += written1h;
  }
  return Object.values(sum).every((figure) => countOf(figure) !== undefined) ? sum : undefined;
}

/** Returns NaN for an invalid count, which makes the sum NaN. */
function figureOf(value: unknown): number {
  return countOf(value ?? 0) ?? Number.NaN;
}
