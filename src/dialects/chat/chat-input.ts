/** The input of a chat-completions request: its texts and attachments. */

import { isObject } from '../../core/json.ts';
import { type Reading, readData, readUnknownPart } from '../attachments.ts';
import type { Fields, InputVisitor } from '../dialect.ts';
import { type FieldKinds, visitToolReferences, walkFields, walkMessage } from '../input.ts';
import type { ChatRequest } from './chat-check.ts';
import { toolReferences } from './chat-tools.ts';

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

/** Visits every text and attachment, and returns the message overhead. */
export function walkChat({ body, messages }: ChatRequest, visit: InputVisitor): number {
  walkFields(body.fields, FIELDS, visit);
  visitToolReferences(body.fields, toolReferences(body.fields), visit);
  let tokens = 0;
  for (const message of messages) tokens += walkMessage(message, readObject, visit);
  return tokens;
}

/** Known types of parts, whose other members can only be text. */
const KNOWN_PARTS: ReadonlySet<unknown> = new Set(['text', 'refusal', 'image_url', 'input_audio', 'file', 'thinking']);

/** Data fields of attachments, by the member of a part that contains them. */
const DATA_FIELDS: Readonly<Record<string, { readonly kind: 'image' | 'audio' | 'file'; readonly field: string }>> = {
  image_url: { kind: 'image', field: 'url' },
  input_audio: { kind: 'audio', field: 'data' },
  file: { kind: 'file', field: 'file_data' },
};

function readObject(name: string, value: Fields): Reading | undefined {
  // Audio of a past answer, stored at the host.
  if (name === 'audio' && value.id !== undefined) {
    const attachment = { kind: 'reference', hasSound: true, holder: value, field: 'id' } as const;
    return { attachments: [attachment], texts: [], others: value };
  }
  const data = dataFieldOf(name);
  if (data !== undefined)
    return value[data.field] === undefined ? undefined : readData({ holder: value, field: data.field }, data.kind);
  if (name !== 'content[]') return undefined;
  const { type } = value;
  if (!KNOWN_PARTS.has(type)) return readUnknownPart(value);
  // Some hosts accept the data without an enclosing object.
  const bare = dataFieldOf(type);
  const isBare = bare !== undefined && value[type as string] !== undefined && !isObject(value[type as string]);
  return isBare ? readData({ holder: value, field: type as string }, bare.kind) : undefined;
}

function dataFieldOf(name: unknown): (typeof DATA_FIELDS)[string] | undefined {
  return typeof name === 'string' && Object.hasOwn(DATA_FIELDS, name) ? DATA_FIELDS[name] : undefined;
}
