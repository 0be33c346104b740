/** The input of a chat-completions request: its texts and attachments. */

import type { Fields } from '../dialect.ts';
import { type Attachment, type FieldKinds, type OnText, walkFields, walkMessage } from '../input.ts';
import type { ChatRequest } from './check.ts';

const FIELDS: FieldKinds = {
  settings: new Set([
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
  ]),
  unnamed: new Set([
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
  ]),
  walked: new Set(['messages']),
};

/** Passes every text to `onText`, and returns the tokens of everything that is not text. */
export function walkChat({ body, messages }: ChatRequest, onText: OnText): number {
  walkFields(body.fields, FIELDS, onText);
  let tokens = 0;
  for (const message of messages) tokens += walkMessage(message, readAttachment, onText);
  return tokens;
}

/** Where the format has attachments. */
const DATA_FIELDS: Readonly<Record<string, { readonly kind: Attachment['kind']; readonly field: string }>> = {
  image_url: { kind: 'image', field: 'url' },
  input_audio: { kind: 'audio', field: 'data' },
  file: { kind: 'file', field: 'file_data' },
};

function readAttachment(name: string, value: Fields): Attachment | undefined {
  const found = Object.hasOwn(DATA_FIELDS, name) ? DATA_FIELDS[name] : undefined;
  if (found === undefined) return undefined;
  const { [found.field]: data, ...others } = value;
  return { kind: found.kind, data, others };
}
