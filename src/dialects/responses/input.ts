/** The input of a responses request: its texts and attachments. */
import type { Fields, ModelRequest } from '../dialect.ts';
import { type Attachment, type FieldKinds, type OnText, walkFields, walkMessage } from '../input.ts';

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
  if (typeof input === 'string') return walkMessage({ content: input }, readAttachment, onText);
  let tokens = 0;
  for (const item of input as readonly Fields[]) tokens += walkMessage(item, readAttachment, onText);
  return tokens;
}

/** Images and files are parts of a type, with their data or their address in a field. */
function readAttachment(_: string, value: Fields): Attachment | undefined {
  const { type } = value;
  if (type === 'input_image') {
    const { image_url: data, ...others } = value;
    return { kind: 'image', data, others };
  }
  if (type !== 'input_file') return undefined;
  const { file_data: data, ...others } = value;
  return { kind: data === undefined || data === null ? 'remote_file' : 'file', data, others };
}
