/**
 * Estimates the input tokens of a request before it is sent, and samples its text for exact
 * counting.
 */

import { isObject } from '../core/json.ts';
import { TextSample, tokensOfBytes } from './text-sample.ts';

/** The overhead of the chat format per message. */
const TOKENS_PER_MESSAGE = 3;
/**
 * About a 1-megapixel image at the more expensive hosts. Other attachments count as much as an
 * image.
 */
const TOKENS_PER_ATTACHMENT = 1_600;

/**
 * The estimated input tokens of a request. Base64 data counts as an attachment, not by its bytes.
 */
export function estimateInput(messages: readonly unknown[], tools: readonly unknown[]): number {
  let bytes = 0;
  const extra = walkInput(messages, tools, (text) => {
    bytes += Buffer.byteLength(text);
  });
  return tokensOfBytes(bytes) + extra;
}

/** A request's input for counting: its text, and the tokens of everything that is not text. */
export interface InputSample {
  readonly text: TextSample;
  readonly extraTokens: number;
}

export function sampleInput(messages: readonly unknown[], tools: readonly unknown[]): InputSample {
  const text = new TextSample();
  const extraTokens = walkInput(messages, tools, (piece) => text.add(piece));
  return { text, extraTokens };
}

/** Passes every text to `onText`, and returns the tokens of everything that is not text. */
function walkInput(messages: readonly unknown[], tools: readonly unknown[], onText: (text: string) => void): number {
  const tally: Tally = { onText, attachments: 0 };
  for (const message of messages) countMessage(message, tally);
  for (const tool of tools) onText(JSON.stringify(tool));
  return messages.length * TOKENS_PER_MESSAGE + tally.attachments * TOKENS_PER_ATTACHMENT;
}

interface Tally {
  readonly onText: (text: string) => void;
  attachments: number;
}

/** Message fields that name or link something, and are not text to the model. */
const NOT_TEXT: ReadonlySet<string> = new Set(['role', 'type', 'id', 'tool_call_id']);
/** Content parts that are attachments, whatever else they contain. */
const ATTACHMENTS: ReadonlySet<string> = new Set(['image_url', 'input_audio', 'file', 'video_url', 'audio_url']);

function countMessage(message: unknown, tally: Tally): void {
  if (!isObject(message)) return;
  for (const [name, value] of Object.entries(message)) {
    if (name === 'content' && Array.isArray(value)) for (const part of value) countPart(part, tally);
    else if (!NOT_TEXT.has(name)) countText(value, tally);
  }
}

function countPart(part: unknown, tally: Tally): void {
  if (isObject(part) && ATTACHMENTS.has(String(part.type))) tally.attachments++;
  else countText(part, tally);
}

/** Fields that hold base64 in parts of any type. */
const RAW_DATA: ReadonlySet<string> = new Set(['data', 'file_data']);
const DATA_URL = /^data:[^,]{0,200};base64,/;

function countString(text: string, tally: Tally): void {
  if (DATA_URL.test(text)) tally.attachments++;
  else tally.onText(text);
}

/** Passes on every text within a value. The recursion is bounded by MAX_JSON_DEPTH. */
function countText(value: unknown, tally: Tally): void {
  if (typeof value === 'string') countString(value, tally);
  else if (Array.isArray(value)) for (const item of value) countText(item, tally);
  else if (isObject(value)) {
    for (const [name, item] of Object.entries(value)) {
      if (RAW_DATA.has(name) && typeof item === 'string') tally.attachments++;
      else if (!NOT_TEXT.has(name)) countText(item, tally);
    }
  }
}
