/**
 * Carries thinking through clients of the responses dialect, which give the encrypted content of
 * reasoning back unread. Hosts check the signature of a block, so nothing in it may change.
 */
import { objectsIn, parseJson } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { isOfChat, thinkingBlockOf } from '../thought-signature.ts';

/** Tells our content from that of other hosts. */
const PREFIX = 'messages.';

/** `block`: of thinking, or of redacted thinking. That of a host of chat has its text in the summary. */
export function encryptedContent(block: Fields): string {
  if (isOfChat(block.signature)) return block.signature;
  return PREFIX + Buffer.from(JSON.stringify(block)).toString('base64');
}

/** The block that a content holds. Undefined if another host has made it. `summary`: beside it, of the same item. */
export function thinkingBlock(content: unknown, summary?: unknown): Fields | undefined {
  if (isOfChat(content)) return { type: 'thinking', thinking: textOf(summary), signature: content };
  if (typeof content !== 'string' || !content.startsWith(PREFIX)) return undefined;
  return thinkingBlockOf(parseJson(Buffer.from(content.slice(PREFIX.length), 'base64').toString('utf8'))?.value);
}

function textOf(summary: unknown): string {
  const parts = objectsIn(summary);
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('');
}
