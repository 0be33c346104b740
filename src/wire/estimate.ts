/** Tokens without asking: what a request is expected to take in, and what a text comes to. */

import { isObject } from '../core/json.ts';
import { TextSample, tokensOfBytes } from './text-sample.ts';

/** What the format adds to each message. */
const TOKENS_PER_MESSAGE = 3;
/** About a 1-megapixel picture at the dearer hosts. Other attachments are counted like a picture. */
const TOKENS_PER_ATTACHMENT = 1_600;

/** What a request is expected to take in. Data in base64 never counts by its bytes. */
export function estimateInput(messages: readonly unknown[], tools: readonly unknown[]): number {
  let bytes = 0;
  const extra = walkInput(messages, tools, (text) => {
    bytes += Buffer.byteLength(text);
  });
  return tokensOfBytes(bytes) + extra;
}

/** A request's input to be counted: its text, and the tokens of what is no text. */
export interface InputSample {
  readonly text: TextSample;
  readonly extraTokens: number;
}

export function sampleInput(messages: readonly unknown[], tools: readonly unknown[]): InputSample {
  const text = new TextSample();
  const extraTokens = walkInput(messages, tools, (piece) => text.add(piece));
  return { text, extraTokens };
}

/** Hands every text to `onText`, and returns the tokens of all that is no text. */
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

/** Fields of a message that name or link something and are not read by the model as text. */
const NOT_TEXT: ReadonlySet<string> = new Set(['role', 'type', 'id', 'tool_call_id']);
/** Content parts that are an attachment, whatever else stands in them. */
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

/** Every text within a value. Its depth is bounded by that of the body. */
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
