/** Reads messages and their usage. */
import { isObject } from '../../core/json.ts';
import { NO_PARTS, type TokenUsage } from '../../core/usage.ts';
import { type AnswerFacts, countOf } from '../answer.ts';
import type { Fields } from '../dialect.ts';

export function readMessage(answer: Fields): AnswerFacts {
  const isMessage = Array.isArray(answer.content);
  const finished = typeof answer.stop_reason === 'string';
  const written = isMessage ? (answer.content as unknown[]).flatMap(textsOf) : [];
  const usage = isObject(answer.usage) ? answer.usage : {};
  return {
    usage: readUsage(answer.usage),
    hasUsage: isObject(answer.usage),
    choices: isMessage ? 1 : undefined,
    progress: isMessage ? [{ index: 0, finished, written }] : [],
    id: answer.id,
    serviceTier: usage.service_tier,
  };
}

const TEXT_FIELDS = ['text', 'thinking', 'partial_json', 'name'] as const;

/** What a model has written in a block or in a delta of one. */
export function textsOf(block: unknown): string[] {
  if (!isObject(block)) return [];
  const texts = TEXT_FIELDS.map((field) => block[field]).filter((text) => typeof text === 'string' && text !== '');
  if (isObject(block.input) && Object.keys(block.input).length > 0) texts.push(JSON.stringify(block.input));
  return texts as string[];
}

/** The fields that are added up, by their names in a sum. */
interface Sum {
  input: number;
  cacheRead: number;
  written5m: number;
  written1h: number;
  output: number;
}

/**
 * The reported usage, if it is usable: whole numbers, not all zero. Its input leaves out what was
 * read from the cache or written to it; ours includes both. `iterations`, where there are any, are
 * what is billed: the figures beside them leave out all but the last ones.
 */
export function readUsage(usage: unknown): TokenUsage | undefined {
  if (!isObject(usage)) return undefined;
  const iterations = Array.isArray(usage.iterations) ? usage.iterations.filter(isObject) : [];
  const sum: Sum = { input: 0, cacheRead: 0, written5m: 0, written1h: 0, output: 0 };
  for (const part of iterations.length === 0 ? [usage] : iterations) if (!addTo(sum, part)) return undefined;
  const promptTokens = sum.input + sum.cacheRead + sum.written5m + sum.written1h;
  if (promptTokens + sum.output === 0) return undefined;
  const toolCalls = toolCallsOf(usage.server_tool_use);
  const hasParts = sum.written5m + sum.written1h > 0 || Object.keys(toolCalls).length > 0;
  const parts = { ...NO_PARTS, cacheWriteTokens: sum.written5m, cacheWrite1hTokens: sum.written1h, toolCalls };
  return { promptTokens, cachedTokens: sum.cacheRead, completionTokens: sum.output, ...(hasParts && { parts }) };
}

/** False if a figure is impossible. */
function addTo(sum: Sum, usage: Fields): boolean {
  const input = countOf(usage.input_tokens ?? 0);
  const output = countOf(usage.output_tokens ?? 0);
  const cacheRead = countOf(usage.cache_read_input_tokens ?? 0);
  const written = countOf(usage.cache_creation_input_tokens ?? 0);
  if (input === undefined || output === undefined || cacheRead === undefined || written === undefined) return false;
  const lifetimes = isObject(usage.cache_creation) ? usage.cache_creation : {};
  const written1h = Math.min(written, countOf(lifetimes.ephemeral_1h_input_tokens) ?? 0);
  sum.input += input;
  sum.output += output;
  sum.cacheRead += cacheRead;
  sum.written1h += written1h;
  sum.written5m += written - written1h;
  return true;
}

/** `{web_search_requests: 2}` is two calls of `web_search`. */
function toolCallsOf(usage: unknown): Record<string, number> {
  if (!isObject(usage)) return {};
  const calls = Object.entries(usage).map(([name, count]) => [name.replace(/_requests$/, ''), countOf(count) ?? 0]);
  return Object.fromEntries(calls.filter(([, count]) => (count as number) > 0));
}
