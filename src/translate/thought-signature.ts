/**
 * Carries reasoning that a host requires back with the next turn through clients of other dialects. Google's signatures and
 * reasoning of chat hosts travel as thinking blocks; thinking blocks travel as Google signatures.
 */
import { isObject, parseJson } from '../core/json.ts';
import type { Fields } from '../dialects/dialect.ts';

/** Prefix of Google's signatures. Signatures of messages hosts are base64, so they cannot contain the dot. */
const OF_GOOGLE = 'google.';
/** Prefix for reasoning of chat hosts, followed by the field's name. */
const OF_CHAT = 'chat.';
/** Marks our content among Google's signatures. */
const OURS = 'inf-gw.';

/** Wraps a Google signature in a thinking block. */
export function blockOfSignature(signature: string): Fields {
  return { type: 'thinking', thinking: '', signature: OF_GOOGLE + signature };
}

/** Unwraps a Google signature; undefined for blocks of other hosts. */
export function signatureInBlock({ signature }: Fields): string | undefined {
  const isOfGoogle = typeof signature === 'string' && signature.startsWith(OF_GOOGLE);
  return isOfGoogle ? signature.slice(OF_GOOGLE.length) : undefined;
}

/** Fields for reasoning text in chat messages. */
export const THINKING_FIELDS = ['reasoning_content', 'reasoning'] as const;
export type ThinkingField = (typeof THINKING_FIELDS)[number];

/** Returns the signature of a thinking block whose text came in this chat field. */
export function signatureOfField(field: ThinkingField): string {
  return OF_CHAT + field;
}

/** Returns the signature of a block hidden from the client. For chat hosts it includes the text. */
export function signatureOfUnseen({ thinking, signature }: Fields): string {
  const isField = THINKING_FIELDS.some((field) => signature === signatureOfField(field));
  if (isField) return `${signature}.${Buffer.from(String(thinking)).toString('base64')}`;
  return typeof signature === 'string' ? signature : '';
}

/** Prefix of signatures with `reasoning_details`, for chat hosts that require more than the text. */
const DETAILS = `${OF_CHAT}reasoning_details.`;

export function signatureOfDetails(details: readonly Fields[]): string {
  return DETAILS + Buffer.from(JSON.stringify(details)).toString('base64');
}

/** Whether a signature claims to be from a chat host. The client could have forged it. */
export function isOfChat(signature: unknown): signature is string {
  return typeof signature === 'string' && signature.startsWith(OF_CHAT);
}

/** Whether a block may be from a messages host. */
export function isOfMessages(block: Fields): boolean {
  return signatureInBlock(block) === undefined && !isOfChat(block.signature);
}

/**
 * Returns the chat fields that return a block to its host; undefined for blocks of other hosts. A client may forge the block,
 * which is harmless: its text goes into reasoning fields, and the client pays for it.
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

/** Copies the known fields of a reasoning detail. */
export function detailOf(detail: Fields): Fields {
  return Object.fromEntries(
    Object.entries(detail).filter(([name, value]) =>
      name === 'index' ? Number.isSafeInteger(value) : TEXTS_OF_DETAIL.includes(name) && typeof value === 'string',
    ),
  );
}

/** Encodes thinking blocks as a base64 signature. */
export function signatureOfBlocks(blocks: readonly Fields[]): string {
  return Buffer.from(OURS + JSON.stringify(blocks)).toString('base64');
}

/** Decodes such a signature; undefined for Google's own. */
export function blocksInSignature(signature: unknown): readonly Fields[] | undefined {
  if (typeof signature !== 'string') return undefined;
  const text = Buffer.from(signature, 'base64').toString('utf8');
  const blocks = text.startsWith(OURS) ? parseJson(text.slice(OURS.length))?.value : undefined;
  return Array.isArray(blocks) ? blocks.map(thinkingBlockOf).filter((block) => block !== undefined) : undefined;
}

/** Copies the known fields of a thinking block; undefined for other values. */
export function thinkingBlockOf(value: unknown): Fields | undefined {
  if (!isObject(value)) return undefined;
  const { type, thinking, signature, data } = value;
  if (type === 'thinking' && typeof thinking === 'string' && typeof signature === 'string') {
    return { type, thinking, signature };
  }
  return type === 'redacted_thinking' && typeof data === 'string' ? { type, data } : undefined;
}
