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

/** What is billed, by the names of the fields in a sum. */
interface Sum {
  input: number;
  cacheRead: number;
  /** All that was written to the cache, with what is kept for an hour. */
  written: number;
  written1h: number;
  output: number;
}

/** Many times what any host makes of one request. */
const MAX_ITERATIONS = 1_000;

/** The service tier that a usage reports, and the values of priced fields behind it, each after a space. */
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
 * The reported usage, if it is usable: whole numbers, with those of the input, not all zero. Its
 * input leaves out what was read from the cache or written to it; ours includes both. `iterations`
 * may hold more than the figures beside them or, in a stream, be older: the larger of the two counts.
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

/** Undefined if a figure or a sum is impossible. */
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

/** NaN if it is impossible, which makes a sum so. */
function figureOf(value: unknown): number {
  return countOf(value ?? 0) ?? Number.NaN;
}
