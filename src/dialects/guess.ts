/** Which dialect a body is in, where nothing but the body says so. Pure. */
import type { DialectName } from '../core/dialects.ts';
import { isObject } from '../core/json.ts';
import type { Fields } from './dialect.ts';

/** What requests of the messages API have at the top level, and chat completions do not. */
const OF_MESSAGES: readonly string[] = ['system', 'thinking', 'stop_sequences', 'top_k', 'mcp_servers', 'container'];
const OF_EMBEDDINGS: readonly string[] = ['encoding_format', 'dimensions'];
/** What Claude Code adds to the name of a model to ask for its long context. */
const MARKED = /\[1m\]$/;

/** Chat where nothing speaks for another one. */
export function guessDialect(fields: Fields): DialectName {
  const has = (names: readonly string[]) => names.some((name) => fields[name] !== undefined);
  if (fields.contents !== undefined) return 'gemini';
  if (isObject(fields.content) || Array.isArray(fields.requests)) return 'gemini_embeddings';
  if (Array.isArray(fields.messages)) {
    const isMarked = typeof fields.model === 'string' && MARKED.test(fields.model);
    return isMarked || has(OF_MESSAGES) || hasInputSchema(fields.tools) ? 'messages' : 'chat';
  }
  if (fields.query !== undefined && Array.isArray(fields.documents)) return 'rerank';
  if (typeof fields.prompt === 'string') return 'images';
  if (fields.input === undefined) return 'chat';
  if (fields.voice !== undefined) return 'speech';
  return has(OF_EMBEDDINGS) ? 'embeddings' : 'responses';
}

function hasInputSchema(tools: unknown): boolean {
  return Array.isArray(tools) && tools.some((tool) => isObject(tool) && tool.input_schema !== undefined);
}
