/** Reads the pieces of an answer that its host streamed, and bills, although a whole answer was requested. */
import type { Dialect, Fields, StreamReader } from '../dialects/dialect.ts';
import type { Secrets } from '../wire/secrets.ts';
import { EventReader, splitterFor } from './events.ts';
import type { Meter } from './meter.ts';
import { TURNS } from './turns.ts';

/** Maximum number of bytes split into events at once. */
const SLICE_BYTES = 64 * 1024;

export interface PieceOptions {
  readonly dialect: Dialect;
  readonly reader: StreamReader;
  readonly secrets: Secrets;
}

/** The pieces of an answer. Reading stops at an error of the host (`value`) and at the first invalid piece. */
export type Pieces =
  | { readonly kind: 'pieces'; readonly values: readonly Fields[] }
  | { readonly kind: 'error'; readonly value: unknown }
  | { readonly kind: 'invalid' };

/** Meters an answer in pieces. Undefined if the body has no pieces. */
export async function readPieces(body: Buffer, meter: Meter, options: PieceOptions): Promise<Pieces | undefined> {
  const events = new EventReader(meter, { ...options, translator: undefined, showUsage: true });
  // An event may be as long as the whole answer, which is in memory.
  const splitter = splitterFor(options.dialect, body.length);
  const values: Fields[] = [];
  let hasEvents = false;
  for (let at = 0; at < body.length; at += SLICE_BYTES) {
    const whole = splitter.push(body.subarray(at, at + SLICE_BYTES));
    const rest = at + SLICE_BYTES < body.length ? undefined : splitter.end();
    for (const event of rest === undefined ? whole : [...whole, rest]) {
      const turn = TURNS.wait(event.bytes.length);
      if (turn !== undefined) await turn;
      const judged = events.meter(event, false);
      // A comment, or an event with a name only.
      if (judged === 'unparsed' && event.complete) continue;
      if (typeof judged === 'string' || judged.kind === 'invalid') return hasEvents ? { kind: 'invalid' } : undefined;
      if (judged.kind === 'error') return judged;
      hasEvents = true;
      if (judged.value !== undefined) values.push(judged.value);
    }
  }
  return hasEvents ? { kind: 'pieces', values } : undefined;
}
