/** Guesses the dialect of a body when only the body is available. */
import type { DialectName } from '../core/dialects.ts';
import { isObject } from '../core/json.ts';
import type { Fields } from './dialect.ts';

/** Top-level fields of the messages API that chat completions lack. */
const OF_MESSAGES: readonly string[] = ['system', 'thinking', 'stop_sequences', 'top_k', 'mcp_servers', 'container'];
const OF_EMBEDDINGS: readonly string[] = ['encoding_format', 'dimensions'];
/** The suffix with which Claude Code asks for a model's long context. */
const MARKED = /\[1m\]$/;

/** Defaults to chat. */
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
