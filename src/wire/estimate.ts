/** Estimates the input tokens of a request before it is sent, and samples its text for exact counting. */
import { isObject } from '../core/json.ts';
import type { ChatRequest } from './request.ts';
import { TextSample } from './text-sample.ts';
import { estimateTokensOf } from './token-estimate.ts';

/** The overhead of the chat format per message: its role, and what separates it from the next one. */
const TOKENS_PER_MESSAGE = 3;
/** About a 1-megapixel image at the more expensive hosts. */
const TOKENS_PER_IMAGE = 1_600;
/** The slowest MP3 (8 kbit/s), at the ten tokens per second that OpenAI counts. */
const AUDIO_BYTES_PER_TOKEN = 100;
/** A dense PDF: 5 KB and 600 tokens per page. */
const FILE_BYTES_PER_TOKEN = 8;

/** The estimated input tokens of a request: of everything in its body that a host may make tokens of. */
export function estimateInput(request: ChatRequest): number {
  const texts: string[] = [];
  const otherTokens = walkInput(request, (text) => texts.push(text));
  return estimateTokensOf(texts) + otherTokens;
}

/** A request's input for counting: its text, and the tokens of everything that is not text. */
export interface InputSample {
  readonly text: TextSample;
  readonly extraTokens: number;
}

export function sampleInput(request: ChatRequest): InputSample {
  const text = new TextSample();
  const extraTokens = walkInput(request, (piece) => text.add(piece));
  return { text, extraTokens };
}

type OnText = (text: string) => void;

/** Settings of a request, of which no host makes tokens. Whatever else is in a body counts, by its name and its value. */
const SETTINGS: ReadonlySet<string> = new Set([
  'model',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'n',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'seed',
  'user',
  'service_tier',
  'store',
]);
/** Other fields of the format: they count by their values alone. */
const UNNAMED: ReadonlySet<string> = new Set([
  'messages',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'reasoning_effort',
  'verbosity',
  'stop',
  'logprobs',
  'top_logprobs',
  'logit_bias',
  'metadata',
  'safety_identifier',
  'prompt_cache_key',
]);

/** Passes every text to `onText`, and returns the tokens of everything that is not text. */
function walkInput({ body, messages }: ChatRequest, onText: OnText): number {
  for (const [name, value] of Object.entries(body.fields)) {
    if (SETTINGS.has(name)) continue;
    if (!UNNAMED.has(name)) onText(name);
    if (name === 'messages') continue;
    if (typeof value === 'string') onText(value);
    // Hosts show definitions to the model as text much like this.
    else if (typeof value === 'object' && value !== null) onText(JSON.stringify(value));
  }
  let tokens = messages.length * TOKENS_PER_MESSAGE;
  for (const message of messages) {
    for (const [name, value] of Object.entries(message)) {
      // Known roles alone get this far.
      if (name === 'role') continue;
      if (name !== 'content') onText(name);
      tokens += walkValue(value, onText);
    }
  }
  return tokens;
}

/** Passes on every text and name within a value of a message. The recursion is bounded by MAX_JSON_DEPTH. */
function walkValue(value: unknown, onText: OnText): number {
  if (typeof value === 'string') onText(value);
  else if (typeof value === 'number') onText(String(value));
  else if (Array.isArray(value)) {
    return value.reduce<number>((sum, item) => sum + walkValue(item, onText), 0);
  } else if (isObject(value)) {
    return Object.entries(value).reduce((sum, [name, item]) => sum + walkField(name, item, onText), 0);
  }
  return 0;
}

/** Where the format has attachments, and the tokens of one from the length of its data in base64. */
const ATTACHMENTS: Readonly<Record<string, { readonly field: string; tokens(base64Length: number): number }>> = {
  image_url: { field: 'url', tokens: () => TOKENS_PER_IMAGE },
  input_audio: { field: 'data', tokens: (length) => Math.ceil((length * 3) / 4 / AUDIO_BYTES_PER_TOKEN) },
  file: { field: 'file_data', tokens: (length) => Math.ceil((length * 3) / 4 / FILE_BYTES_PER_TOKEN) },
};

function walkField(name: string, value: unknown, onText: OnText): number {
  onText(name);
  const attachment = Object.hasOwn(ATTACHMENTS, name) ? ATTACHMENTS[name] : undefined;
  if (attachment === undefined || !isObject(value)) return walkValue(value, onText);
  const { [attachment.field]: data, ...others } = value;
  const length = base64Length(data);
  // An image that the host is to fetch, say.
  const tokens = attachment.tokens(length ?? 0) + (length === undefined ? walkValue(data, onText) : 0);
  return tokens + walkValue(others, onText);
}

const DATA_URL = /^data:[^,]{0,200};base64,/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** The length of data in base64, by itself or in a data URL. Undefined for anything else, which is text. */
function base64Length(data: unknown): number | undefined {
  if (typeof data !== 'string') return undefined;
  const start = DATA_URL.exec(data)?.[0].length ?? 0;
  const base64 = start === 0 ? data : data.slice(start);
  return BASE64.test(base64) ? base64.length : undefined;
}
