/** What a truthful host says in a dialect: whole answers, and the events of a stream. */
import { createCipheriv } from 'node:crypto';
import type { Fields } from '../../hostile/names.ts';
import type { Writing } from '../../hostile/writing.ts';
import type { UpstreamCall } from '../../support/fake-upstream.ts';
import type { Dialogue, HostBill } from '../dialogue.ts';

/** A request as its host reads it. */
export interface Order {
  readonly call: UpstreamCall;
  readonly dialogue: Dialogue;
  readonly fields: Fields;
  readonly bill: HostBill;
  readonly writing: Writing;
  /** The images of the answer are made. */
  isDrawn: boolean;
}

export interface Speech {
  /** The maximum of output tokens that its hosts read. */
  readonly maximum: string;
  /** What is billed, as the dialect reports it. */
  usage(order: Order): Fields;
  /** `usage`: undefined if none is reported. */
  answer(order: Order, usage: Fields | undefined): Fields;
  /** Before the first text. */
  begin(order: Order, usage: Fields | undefined): string;
  /** `usage`: a running total. */
  piece(order: Order, text: string, usage: Fields | undefined): string;
  /** After the last text. */
  finish(order: Order): string;
  /** The report, if there is one, and the end. */
  end(order: Order, usage: Fields | undefined): string;
  /** In place of the end: an error, with the report if there is one. */
  failure(order: Order, usage: Fields | undefined): string;
  /** The same in place of a whole answer. */
  failedAnswer(order: Order, usage: Fields | undefined): { readonly status: number; readonly body: Fields };
}

/** Tokens of an image. */
export const IMAGE_TOKENS = 1_290;

/** Tokens of sound for one of its words: twenty in a second. */
export const SPOKEN_TOKENS = 6;

const CIPHER = { name: 'aes-256-ctr', key: Buffer.alloc(32), start: Buffer.alloc(16) };

/** What a host sends instead of a text that nobody may read: as long as the text, in base64. */
export function sealed(text: string): string {
  return createCipheriv(CIPHER.name, CIPHER.key, CIPHER.start).update(text).toString('base64');
}

/** An event with a name, as all dialects but chat have them. */
export function named(type: string, fields: Fields): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}
