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

/** What a choice of a whole completion holds. */
export function readMessage({ message, delta }: Fields): ChatOutput {
  return readOutput([message, delta].find(isObject) ?? {});
}

/** What a choice of a chunk adds. Some hosts repeat all that is written so far beside it. */
export function readDelta({ message, delta }: Fields): ChatOutput {
  return readOutput([delta, message].find(isObject) ?? {});
}

function readOutput(message: Fields): ChatOutput {
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

/**
 * As hosts name it where an answer is cut short: by its limit, by theirs, or by an error of theirs.
 * What has been written may end anywhere, so a call in it must not be run.
 */
export const CUT_SHORT: readonly unknown[] = [
  'length',
  'model_length',
  'insufficient_system_resource',
  'error',
  'abort',
];

/**
 * The stop reason of a message. Its calls decide, not the finish reason: a host may say `stop` with
 * calls, and a client that reads `tool_use` waits for calls.
 */
export function stopReasonOf(finish: unknown, { hasCalls, hasRefusal }: { hasCalls: boolean; hasRefusal: boolean }) {
  if (CUT_SHORT.includes(finish)) return 'max_tokens';
  if (finish === 'content_filter' || hasRefusal) return 'refusal';
  return hasCalls ? 'tool_use' : 'end_turn';
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
