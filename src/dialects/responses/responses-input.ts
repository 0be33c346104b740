/** The input of a responses request: its texts and attachments. */
import { isObject } from '../../core/json.ts';
import { type Reading, readData, readUnknownPart, referenceIn } from '../attachments.ts';
import type { Fields, InputVisitor, ModelRequest } from '../dialect.ts';
import { type FieldKinds, type ReadObject, visitToolReferences, walkFields, walkMessage } from '../input.ts';
import { toolReferences } from './responses-tools.ts';

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

export function walkResponses({ body: { fields } }: ModelRequest, visit: InputVisitor): number {
  walkFields(fields, FIELDS, visit);
  visitToolReferences(fields, toolReferences(fields), visit);
  const { input } = fields;
  const items: readonly Fields[] = typeof input === 'string' ? [{ content: input }] : (input as readonly Fields[]);
  let tokens = 0;
  for (const item of items) {
    const { role } = item;
    // The message overhead covers the roles of the format.
    if (role !== undefined && !ROLES.includes(role)) visit.text(JSON.stringify(role));
    tokens += walkMessage(item, objectsIn(item), visit);
  }
  return tokens;
}

const ROLES: readonly unknown[] = ['user', 'assistant', 'system', 'developer'];

/** Attachments occur in message content and in tool outputs. Other objects count as text. */
function objectsIn(item: Fields): ReadObject {
  const isOutput = typeof item.type === 'string' && item.type.endsWith('_output');
  const value = isOutput ? item.output : isMessage(item) ? item.content : undefined;
  const parts = new Set((Array.isArray(value) ? value : [value]).filter(isObject));
  return (_, part) => (parts.has(part) ? readPart(part) : undefined);
}

/** Whether an item is a message, whose type is optional. */
function isMessage({ type }: Fields): boolean {
  return type === 'message' || type === undefined || type === null || type === '';
}

const TEXT_PARTS: ReadonlySet<unknown> = new Set([
  ...['input_text', 'output_text', 'summary_text', 'reasoning_text', 'text', 'refusal'],
  ...['stdout', 'stderr', 'logs'],
]);

function readPart(part: Fields): Reading | undefined {
  switch (part.type) {
    case 'input_image':
    case 'computer_screenshot':
      return readData({ holder: part, field: 'image_url' }, 'image');
    case 'input_file':
      return readFile(part);
    case 'input_audio': {
      const { input_audio: audio } = part;
      if (!isObject(audio)) return readUnknownPart(part);
      const reading = readData({ holder: audio, field: 'data' }, 'audio');
      return { ...reading, others: { ...part, input_audio: reading.others } };
    }
    default:
      return TEXT_PARTS.has(part.type) ? undefined : readUnknownPart(part);
  }
}

/**
 * Reads a file. Data counts even with an address next to it, since hosts may read either. A file without data is a
 * reference.
 */
function readFile(part: Fields): Reading | undefined {
  if (typeof part.file_data === 'string' && part.file_data !== '') {
    return readData({ holder: part, field: 'file_data' }, 'file');
  }
  if (referenceIn(part) !== undefined) return undefined;
  return { attachments: [{ kind: 'reference', holder: part, field: 'file_data' }], texts: [], others: part };
}
