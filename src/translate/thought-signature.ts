/**
 * Carries what a host wants back with the next turn through clients of another dialect: Google's signatures of thoughts as
 * blocks of thinking, and blocks of thinking as signatures of thoughts.
 */
import { isObject, parseJson } from '../core/json.ts';
import type { Fields } from '../dialects/dialect.ts';

/** Tells Google's signatures from those of hosts of the messages dialect. */
const OF_GOOGLE = 'google.';
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
