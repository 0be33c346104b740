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

/**
 * Images and documents have a source: data in base64, an address, or a text. The input of a call is
 * text to a model, whatever it looks like.
 */
function readAttachment(_name: string, block: Fields): Attachment | undefined {
  const { input, ...others } = block;
  // No base64, so it counts as the text that it is.
  if (typeof input === 'object' && input !== null) return { kind: 'file', data: JSON.stringify({ input }), others };
  const { source } = block;
  if (!isObject(source)) return undefined;
  const isImage = block.type === 'image';
  if (!isImage && block.type !== 'document') return undefined;
  if (source.type === 'base64') {
    const { data, ...rest } = source;
    const isPicture = isImage && String(source.media_type).startsWith('image/');
    return { kind: isPicture ? 'image' : 'file', data, others: { ...block, source: rest } };
  }
  // The length of an image does not matter, wherever it is.
  if (isImage) return { kind: 'image', data: undefined, others: block };
  const isRemote = source.type === 'url' || source.type === 'file';
  return isRemote ? { kind: 'remote_file', data: undefined, others: block } : undefined;
}
