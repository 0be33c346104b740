/**
 * Carries thinking blocks in the encrypted content of reasoning items, which clients send back unread. Hosts verify the
 * signature, so blocks must not change.
 */
import { objectsIn, parseJson } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { isOfChat, thinkingBlockOf } from '../thought-signature.ts';

/** Marks our content among other hosts' encrypted content. */
const PREFIX = 'messages.';

/** `block`: thinking or redacted thinking. Blocks of chat hosts have their text in the summary. */
export function encryptedContent(block: Fields): string {
  if (isOfChat(block.signature)) return block.signature;
  return PREFIX + Buffer.from(JSON.stringify(block)).toString('base64');
}

/** Decodes a block. Undefined for content of other hosts. `summary`: the summary of the same item. */
export function thinkingBlock(content: unknown, summary?: unknown): Fields | undefined {
  if (isOfChat(content)) return { type: 'thinking', thinking: textOf(summary), signature: content };
  if (typeof content !== 'string' || !content.startsWith(PREFIX)) return undefined;
  return thinkingBlockOf(parseJson(Buffer.from(content.slice(PREFIX.length), 'base64').toString('utf8'))?.value);
}

function textOf(summary: unknown): string {
  const parts = objectsIn(summary);
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('');
}
