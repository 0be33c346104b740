/** The input of a messages request: its texts and attachments. */
import { isObject } from '../../core/json.ts';
import { FETCHED_IMAGE, type Reading, readData, readUnknownPart } from '../attachments.ts';
import type { Fields, InputVisitor, ModelRequest } from '../dialect.ts';
import { type FieldKinds, visitToolReferences, walkFields, walkMessage } from '../input.ts';
import { toolReferences } from './messages-tools.ts';

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

export function walkMessages({ body: { fields } }: ModelRequest, visit: InputVisitor): number {
  walkFields(fields, FIELDS, visit);
  visitToolReferences(fields, toolReferences(fields), visit);
  let tokens = 0;
  if (fields.system !== undefined && fields.system !== null) {
    tokens += walkMessage({ content: fields.system }, readObject, visit);
  }
  for (const message of fields.messages as readonly Fields[]) tokens += walkMessage(message, readObject, visit);
  return tokens;
}

/** Known types of blocks. Blocks of the host's tools contain addresses together with their contents. */
const KNOWN_BLOCKS: ReadonlySet<unknown> = new Set([
  ...['text', 'image', 'document', 'search_result', 'thinking', 'redacted_thinking', 'compaction', 'container_upload'],
  ...['tool_use', 'tool_result', 'tool_reference', 'tool_addition', 'tool_removal', 'fallback', 'browser_state'],
  ...['server_tool_use', 'mcp_tool_use', 'mcp_tool_listing', 'mcp_tool_result', 'advisor_tool_result'],
  ...['web_search_tool_result', 'web_search_result', 'web_fetch_tool_result', 'tool_search_tool_result'],
  ...['code_execution_tool_result', 'bash_code_execution_tool_result', 'text_editor_code_execution_tool_result'],
  ...['code_execution_output', 'bash_code_execution_output'],
]);

/**
 * Reads an object. Images and documents have a source: base64 data, an address or a text. The input of a call counts as
 * text, whatever it contains.
 */
function readObject(name: string, block: Fields): Reading | undefined {
  const { input, ...others } = block;
  if (typeof input === 'object' && input !== null) {
    return { attachments: [], texts: [JSON.stringify({ input })], others };
  }
  if (block.type === 'image' || block.type === 'document') return readSource(block, block.type);
  return name !== 'content[]' || KNOWN_BLOCKS.has(block.type) ? undefined : readUnknownPart(block);
}

function readSource(block: Fields, type: 'image' | 'document'): Reading | undefined {
  const { source } = block;
  const expected = type === 'image' ? 'image' : 'file';
  if (!isObject(source)) return undefined;
  if (source.type === 'base64') {
    const reading = readData({ holder: source, field: 'data' }, expected, String(source.media_type));
    return { ...reading, others: { ...block, source: reading.others } };
  }
  if (source.type === 'url') {
    const reading = readData({ holder: source, field: 'url' }, expected);
    // The host downloads any `url`.
    if (type === 'image') return { ...reading, others: { ...block, source: reading.others } };
    return { attachments: [{ kind: 'reference', holder: source, field: 'url' }], texts: [], others: block };
  }
  return type === 'image' ? { attachments: [FETCHED_IMAGE], texts: [], others: block } : undefined;
}
