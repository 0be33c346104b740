/**
 * Carries what a host wants back with the next turn through clients of another dialect: Google's signatures of thoughts
 * and what hosts of chat have thought as blocks of thinking, and blocks of thinking as signatures of thoughts.
 */
import { isObject, parseJson } from '../core/json.ts';
import type { Fields } from '../dialects/dialect.ts';

/** Tells Google's signatures from those of hosts of the messages dialect, which are base64. */
const OF_GOOGLE = 'google.';
/** Tells in the same way what a host of chat has thought. The name of its field follows. */
const OF_CHAT = 'chat.';
/** Tells our content from Google's own. */
const OURS = 'inf-gw.';

/** A block of thinking that holds a signature of Google's. */
export function blockOfSignature(signature: string): Fields {
  return { type: 'thinking', thinking: '', signature: OF_GOOGLE + signature };
}

/** The signature that such a block holds; undefined if another host has made it. */
export function signatureInBlock({ signature }: Fields): string | undefined {
  const isOfGoogle = typeof signature === 'string' && signature.startsWith(OF_GOOGLE);
  return isOfGoogle ? signature.slice(OF_GOOGLE.length) : undefined;
}

/** The fields in which hosts of chat take back the text of what they have thought. */
export const THINKING_FIELDS = ['reasoning_content', 'reasoning'] as const;
export type ThinkingField = (typeof THINKING_FIELDS)[number];

/** The signature of a block of thinking that a host of chat has named by this field. */
export function signatureOfField(field: ThinkingField): string {
  return OF_CHAT + field;
}

/** The signature of a block of which the client is to see nothing: that of a host of chat holds the text as well. */
export function signatureOfUnseen({ thinking, signature }: Fields): string {
  const isField = THINKING_FIELDS.some((field) => signature === signatureOfField(field));
  if (isField) return `${signature}.${Buffer.from(String(thinking)).toString('base64')}`;
  return typeof signature === 'string' ? signature : '';
}

/** Of a block for which a host of chat wants back more than its text. */
const DETAILS = `${OF_CHAT}reasoning_details.`;

export function signatureOfDetails(details: readonly Fields[]): string {
  return DETAILS + Buffer.from(JSON.stringify(details)).toString('base64');
}

/** Whether a host of chat has thought it, as far as one can believe its client. */
export function isOfChat(signature: unknown): signature is string {
  return typeof signature === 'string' && signature.startsWith(OF_CHAT);
}

/** Whether a host of the messages dialect may have made a block. */
export function isOfMessages(block: Fields): boolean {
  return signatureInBlock(block) === undefined && !isOfChat(block.signature);
}

/**
 * The fields of a message that give a host of chat a block back; undefined if another has made it. A client may have
 * written anything into it: it is text that the client pays for, in the fields that such hosts have for it.
 */
export function chatFieldsOf({ thinking, signature }: Fields): Fields | undefined {
  if (!isOfChat(signature)) return undefined;
  for (const field of THINKING_FIELDS) {
    const own = signatureOfField(field);
    if (signature === own) return { [field]: thinking };
    if (signature.startsWith(`${own}.`)) {
      return { [field]: Buffer.from(signature.slice(own.length + 1), 'base64').toString('utf8') };
    }
  }
  const details = signature.startsWith(DETAILS) ? detailsIn(signature.slice(DETAILS.length)) : [];
  return details.length === 0 ? undefined : { reasoning_details: details };
}

function detailsIn(base64: string): readonly Fields[] {
  const value = parseJson(Buffer.from(base64, 'base64').toString('utf8'))?.value;
  return Array.isArray(value) ? value.filter(isObject).map(detailOf) : [];
}

const TEXTS_OF_DETAIL = ['type', 'id', 'format', 'text', 'summary', 'data', 'signature'];

/** A detail of thinking with nothing beside what its host has for it. */
export function detailOf(detail: Fields): Fields {
  return Object.fromEntries(
    Object.entries(detail).filter(([name, value]) =>
      name === 'index' ? Number.isSafeInteger(value) : TEXTS_OF_DETAIL.includes(name) && typeof value === 'string',
    ),
  );
}

/** A signature, which is base64, that holds blocks of thinking. */
export function signatureOfBlocks(blocks: readonly Fields[]): string {
  return Buffer.from(OURS + JSON.stringify(blocks)).toString('base64');
}

/** The blocks that such a signature holds; undefined if Google has made it. */
export function blocksInSignature(signature: unknown): readonly Fields[] | undefined {
  if (typeof signature !== 'string') return undefined;
  const text = Buffer.from(signature, 'base64').toString('utf8');
  const blocks = text.startsWith(OURS) ? parseJson(text.slice(OURS.length))?.value : undefined;
  return Array.isArray(blocks) ? blocks.map(thinkingBlockOf).filter((block) => block !== undefined) : undefined;
}

/** A block of the messages dialect with nothing beside what its host checks; undefined if it is none. */
export function thinkingBlockOf(value: unknown): Fields | undefined {
  if (!isObject(value)) return undefined;
  const { type, thinking, signature, data } = value;
  if (type === 'thinking' && typeof thinking === 'string' && typeof signature === 'string') {
    return { type, thinking, signature };
  }
  return type === 'redacted_thinking' && typeof data === 'string' ? { type, data } : undefined;
}
