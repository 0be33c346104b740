/** The input of a responses request: its texts and attachments. */
import { isObject } from '../../core/json.ts';
import type { Fields, ModelRequest } from '../dialect.ts';
import {
  type Attachment,
  type FieldKinds,
  type OnText,
  type ReadAttachment,
  walkFields,
  walkMessage,
} from '../input.ts';

const FIELDS: FieldKinds = {
  settings: new Set([
    'model',
    'stream',
    'stream_options',
    'max_output_tokens',
    'max_tool_calls',
    'temperature',
    'top_p',
    'user',
    'service_tier',
    'store',
    'background',
    'truncation',
    'include',
    'prompt_cache_key',
    'safety_identifier',
    'parallel_tool_calls',
  ]),
  unnamed: new Set(['instructions', 'tools', 'tool_choice', 'text', 'reasoning', 'metadata']),
  walked: new Set(['input']),
};

export function walkResponses({ body: { fields } }: ModelRequest, onText: OnText): number {
  walkFields(fields, FIELDS, onText);
  const { input } = fields;
  const items: readonly Fields[] = typeof input === 'string' ? [{ content: input }] : (input as readonly Fields[]);
  let tokens = 0;
  for (const item of items) {
    const { role } = item;
    // The roles of the format are within what each message counts.
    if (role !== undefined && !ROLES.includes(role)) onText(JSON.stringify(role));
    tokens += walkMessage(item, attachmentsIn(item), onText);
  }
  return tokens;
}

const ROLES: readonly unknown[] = ['user', 'assistant', 'system', 'developer'];

/** The format has attachments in the content of messages and in the outputs of tools. All else is text. */
function attachmentsIn(item: Fields): ReadAttachment {
  const isOutput = typeof item.type === 'string' && item.type.endsWith('_output');
  const value = isOutput ? item.output : isMessage(item) ? item.content : undefined;
  const parts = new Set((Array.isArray(value) ? value : [value]).filter(isObject));
  return (_, part) => (parts.has(part) ? readAttachment(part) : undefined);
}

/** A message may have no type. */
function isMessage({ type }: Fields): boolean {
  return type === 'message' || type === undefined || type === null || type === '';
}

function readAttachment(part: Fields): Attachment | undefined {
  const { type } = part;
  if (type === 'input_image' || type === 'computer_screenshot') {
    const { image_url: data, ...others } = part;
    return { kind: 'image', data, others };
  }
  if (type !== 'input_file') return undefined;
  const { file_data: data, ...others } = part;
  // Data beside an address counts as text: hosts may read either.
  if (hasText(part.file_url) || hasText(part.file_id)) return { kind: 'remote_file', data: undefined, others: part };
  return { kind: hasText(data) ? 'file' : 'remote_file', data, others };
}

function hasText(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}
