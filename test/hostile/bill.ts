/**
 * What a truthful host bills for a request's input: every text and name that becomes part of the
 * prompt, by its tokens.
 */
import type { Fields } from './names.ts';
import { tokensIn } from './tokens.ts';

/** What the format adds to each message. */
const TOKENS_PER_MESSAGE = 3;
/** A picture of one megapixel at the most expensive hosts. */
const TOKENS_PER_IMAGE = 1_600;

/** Settings of the request: they are no part of the prompt. */
const SETTINGS: ReadonlySet<string> = new Set([
  ...['model', 'stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'n', 'user', 'service_tier'],
  ...['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'seed', 'store'],
]);
/** Names that the format itself has in messages: they are part of the three tokens. */
const NAMES_OF_MESSAGES: ReadonlySet<string> = new Set([
  ...['role', 'content', 'type', 'text', 'name', 'image_url', 'url', 'tool_calls', 'function', 'arguments', 'id'],
  ...['tool_call_id', 'function_call', 'detail'],
]);
/** Their values are words of the format. */
const WORDS_OF_THE_FORMAT: ReadonlySet<string> = new Set(['role', 'type', 'detail']);

/**
 * Tokens that the host takes in. `fields` are those of the request, by the names that the host
 * reads.
 */
export function inputTokens(fields: Fields): number {
  let tokens = 0;
  for (const [name, value] of Object.entries(fields)) {
    if (SETTINGS.has(name)) continue;
    if (name === 'messages') tokens += messagesTokens(value);
    else tokens += schemaTokens(value);
  }
  return tokens;
}

function messagesTokens(messages: unknown): number {
  if (!Array.isArray(messages)) return 0;
  return messages.reduce<number>((sum, message) => sum + TOKENS_PER_MESSAGE + textTokens(message), 0);
}

/** Every text and every unusual name within a message. */
function textTokens(value: unknown): number {
  if (typeof value === 'string') return tokensIn(value);
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + textTokens(item), 0);
  if (typeof value !== 'object' || value === null) return 0;
  const isPicture = 'type' in value && value.type === 'image_url';
  let tokens = 0;
  for (const [name, item] of Object.entries(value)) {
    if (!NAMES_OF_MESSAGES.has(name)) tokens += tokensIn(name);
    if (WORDS_OF_THE_FORMAT.has(name)) continue;
    tokens += isPicture && name === 'image_url' && isImage(item) ? TOKENS_PER_IMAGE : textTokens(item);
  }
  return tokens;
}

/** Valid base64, or an address. */
const IMAGE =
  /^(?:https?:\/\/[!-~]{1,200}|data:[\w/+.-]{0,100};base64,(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/;

function isImage(value: unknown): boolean {
  const url = typeof value === 'object' && value !== null && 'url' in value ? value.url : value;
  return typeof url === 'string' && IMAGE.test(url);
}

/**
 * Schemas and fields that only the host knows: hosts write them into the prompt with their names
 * and numbers.
 */
function schemaTokens(value: unknown): number {
  if (typeof value === 'string') return tokensIn(value);
  if (typeof value === 'number') return tokensIn(String(value));
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + schemaTokens(item), 0);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.entries(value).reduce((sum, [name, item]) => sum + tokensIn(name) + schemaTokens(item), 0);
}
