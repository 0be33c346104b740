/** Reads what a model has written, in a chat completion or in a chunk of one. */
import { isObject } from '../../core/json.ts';
import { countOf } from '../../dialects/answer.ts';
import { readUsage } from '../../dialects/chat/answer.ts';
import type { Fields } from '../../dialects/dialect.ts';

/** What one message or delta holds. Empty strings for what it does not. */
export interface ChatOutput {
  readonly thinking: string;
  readonly text: string;
  readonly refusal: string;
  readonly calls: readonly ChatCall[];
}

/** A tool call or a piece of one. */
export interface ChatCall {
  /** Which of the calls it belongs to. */
  readonly index: number;
  readonly id: string;
  readonly name: string;
  /** JSON, if the model did as it was told. */
  readonly arguments: string;
}

/** The first choice: no request that is translated asks for more. */
export function choiceOf(answer: Fields): Fields | undefined {
  return Array.isArray(answer.choices) ? answer.choices.find(isObject) : undefined;
}

export function readOutput(choice: Fields): ChatOutput {
  const message = [choice.message, choice.delta].find(isObject) ?? {};
  const { content, reasoning_content: reasoningContent, reasoning, refusal } = message;
  return {
    // Some hosts send both, with the same text.
    thinking: textOf(reasoningContent) || textOf(reasoning) || thinkingIn(content),
    text: textOf(content),
    refusal: textOf(refusal),
    calls: callsIn(message),
  };
}

/** A string, or the text of parts. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return partsIn(value)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('');
}

/** Some hosts have parts of their own for thinking, which hold parts of text. */
function thinkingIn(content: unknown): string {
  return partsIn(content)
    .map(({ thinking }) => textOf(thinking))
    .join('');
}

function partsIn(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function callsIn({ tool_calls: calls, function_call: single }: Fields): readonly ChatCall[] {
  const list: readonly Fields[] = isObject(single) ? [{ function: single }] : partsIn(calls);
  return list.map((call, position) => {
    // Nothing that is asked for answers with custom calls, but their input can be passed on.
    const named = [call.function, call.custom].find(isObject) ?? {};
    return {
      index: typeof call.index === 'number' ? call.index : position,
      id: textOf(call.id),
      name: textOf(named.name),
      arguments: argumentsIn(named.arguments ?? named.input),
    };
  });
}

function argumentsIn(value: unknown): string {
  // Some hosts send the parsed arguments.
  return isObject(value) ? JSON.stringify(value) : textOf(value);
}

/** Reasons that mean more than that the model was done. */
const STOP_REASONS: ReadonlyMap<unknown, string> = new Map([
  ['length', 'max_tokens'],
  ['model_length', 'max_tokens'],
  ['insufficient_system_resource', 'max_tokens'],
  ['content_filter', 'refusal'],
]);

/**
 * The stop reason of a message. Its calls decide, not the finish reason: a host may say `stop` with
 * calls, and a client that reads `tool_use` waits for calls.
 */
export function stopReasonOf(finish: unknown, { hasCalls, hasRefusal }: { hasCalls: boolean; hasRefusal: boolean }) {
  return STOP_REASONS.get(finish) ?? (hasRefusal ? 'refusal' : hasCalls ? 'tool_use' : 'end_turn');
}

/** The usage of a message: input without what was read from the cache and written to it. Undefined if it is unusable. */
export function messageUsage(usage: unknown): Fields | undefined {
  const read = readUsage(usage);
  if (read === undefined) return undefined;
  const written = (read.parts?.cacheWriteTokens ?? 0) + (read.parts?.cacheWrite1hTokens ?? 0);
  const details = isObject(usage) && isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {};
  const thinking = countOf(details.reasoning_tokens);
  return {
    input_tokens: read.promptTokens - read.cachedTokens - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read.cachedTokens,
    output_tokens: read.completionTokens,
    ...(thinking !== undefined && { output_tokens_details: { thinking_tokens: thinking } }),
  };
}

/** The usage before anything is known, or if nothing is reported. */
export const NO_MESSAGE_USAGE: Fields = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 0,
};
