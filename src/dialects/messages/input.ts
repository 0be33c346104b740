/** The input of a messages request: its texts and attachments. */
import { isObject } from '../../core/json.ts';
import type { Fields, ModelRequest } from '../dialect.ts';
import { type Attachment, type FieldKinds, type OnText, walkFields, walkMessage } from '../input.ts';

const FIELDS: FieldKinds = {
  settings: new Set([
    'model',
    'stream',
    'max_tokens',
    'temperature',
    'top_p',
    'top_k',
    'service_tier',
    'thinking',
    'cache_control',
  ]),
  unnamed: new Set([
    'tools',
    'tool_choice',
    'stop_sequences',
    'metadata',
    'output_config',
    'context_management',
    'mcp_servers',
  ]),
  walked: new Set(['messages', 'system']),
};

export function walkMessages({ body: { fields } }: ModelRequest, onText: OnText): number {
  walkFields(fields, FIELDS, onText);
  let tokens = 0;
  if (fields.system !== undefined && fields.system !== null) {
    tokens += walkMessage({ content: fields.system }, readAttachment, onText);
  }
  for (const message of fields.messages as readonly Fields[]) tokens += walkMessage(message, readAttachment, onText);
  return tokens;
}

/** Images and documents have a source: data in base64, an address, or a text. */
function readAttachment(name: string, value: Fields): Attachment | undefined {
  const { source, ...block } = value;
  // The length of an image does not matter, wherever it is.
  if (value.type === 'image' && isObject(source) && source.type !== 'base64') {
    return { kind: 'image', data: undefined, others: { ...block, ...source } };
  }
  if (name !== 'source') return undefined;
  const { data, ...others } = value;
  if (value.type === 'base64') {
    const isImage = typeof value.media_type === 'string' && value.media_type.startsWith('image/');
    return { kind: isImage ? 'image' : 'file', data, others };
  }
  if (value.type === 'url' || value.type === 'file') return { kind: 'remote_file', data, others };
  return undefined;
}
