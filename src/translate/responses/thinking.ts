/**
 * Carries thinking through clients of the responses dialect, which give the encrypted content of
 * reasoning back unread. Hosts check the signature of a block, so nothing in it may change.
 */
import { parseJson } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { thinkingBlockOf } from '../thought-signature.ts';

/** Tells our content from that of other hosts. */
const PREFIX = 'messages.';

/** `block`: of thinking, or of redacted thinking. */
export function encryptedContent(block: Fields): string {
  return PREFIX + Buffer.from(JSON.stringify(block)).toString('base64');
}

/** The block that a content holds. Undefined if another host has made it. */
export function thinkingBlock(content: unknown): Fields | undefined {
  if (typeof content !== 'string' || !content.startsWith(PREFIX)) return undefined;
  return thinkingBlockOf(parseJson(Buffer.from(content.slice(PREFIX.length), 'base64').toString('utf8'))?.value);
}
