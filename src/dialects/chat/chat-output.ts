/** Reads the output in a message or delta, in OpenAI's fields and in other hosts' fields. */
import { isObject } from '../../core/json.ts';
import { bytesOfBase64, type Output, unseenTokensOf } from '../answer.ts';
import type { Fields } from '../dialect.ts';

/** Each is a string or an array of parts with text. Hosts of open models write the thinking to one of the last two. */
const TEXT_FIELDS = ['content', 'refusal', 'reasoning_content', 'reasoning'] as const;

/** Returns the path of the text in a delta: a field, or the arguments of its only call. */
export function placeOfText(delta: Fields): readonly (string | number)[] | undefined {
  const field = TEXT_FIELDS.find((each) => typeof delta[each] === 'string' && delta[each] !== '');
  if (field !== undefined) return [field];
  const { tool_calls: calls } = delta;
  const call: unknown = Array.isArray(calls) && calls.length === 1 ? calls[0] : undefined;
  return isObject(call) && isObject(call.function) ? ['tool_calls', 0, 'function', 'arguments'] : undefined;
}

/** An output while it is being read. */
interface Draft {
  readonly written: string[];
  unseenTokens: number;
  images: number;
  audioBytes: number;
}

/**
 * `text`: from a choice of the older completions API. `annotations`, `citations` and `search_results` are not output;
 * `logprobs` repeats the text.
 */
export function readOutput(message: unknown, text: unknown): Output {
  const draft: Draft = { written: [], unseenTokens: 0, images: 0, audioBytes: 0 };
  if (isObject(message)) addMessage(message, draft);
  addText(text, draft);
  return draft;
}

function addMessage(message: Fields, to: Draft): void {
  for (const field of TEXT_FIELDS) addText(message[field], to);
  addCall(message.function_call, to);
  for (const call of listOf(message.tool_calls)) {
    addCall(call.function ?? call.custom, to);
    addSignature(call.extra_content, to);
  }
  addSignature(message.extra_content, to);
  // Groq's compound models: the arguments of executed tools are output, their results are not.
  for (const { arguments: written } of listOf(message.executed_tools)) addText(written, to);
  addReasoning(message.reasoning_details, typeof message.reasoning === 'string', to);
  // OpenRouter returns `images`; other hosts return images among the content parts.
  to.images += listOf(message.images).length + listOf(message.content).filter(isImage).length;
  if (!isObject(message.audio)) return;
  addText(message.audio.transcript, to);
  to.audioBytes += bytesOfBase64(message.audio.data);
}

function isImage({ type }: Fields): boolean {
  return type === 'image_url' || type === 'image' || type === 'output_image';
}

function addCall(call: unknown, to: Draft): void {
  if (!isObject(call)) return;
  addText(call.name, to);
  addText(call.arguments, to);
  addText(call.input, to);
}

/** Adds OpenRouter's thinking. `isShown`: another field also contains its text. */
function addReasoning(details: unknown, isShown: boolean, to: Draft): void {
  for (const { text, summary, data } of listOf(details)) {
    to.unseenTokens += unseenTokensOf(data);
    if (isShown) continue;
    addText(text, to);
    addText(summary, to);
  }
}

/** Adds Gemini's encrypted thinking, attached to a call or a text. */
function addSignature(extra: unknown, to: Draft): void {
  if (isObject(extra) && isObject(extra.google)) to.unseenTokens += unseenTokensOf(extra.google.thought_signature);
}

/** Adds content: a string, or an array of parts with text. Mistral nests such parts in `thinking`. */
function addText(value: unknown, to: Draft): void {
  if (typeof value === 'string') to.written.push(value);
  else if (Array.isArray(value)) {
    for (const part of value.flatMap((each) => (isObject(each) ? [each, ...listOf(each.thinking)] : []))) {
      if (typeof part.text === 'string') to.written.push(part.text);
    }
  }
}

const NONE: readonly Fields[] = [];

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : NONE;
}
