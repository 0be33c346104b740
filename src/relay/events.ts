/** Reads the events of a stream: what each is to the meter, and what the client gets of it. */
import type { ClientError } from '../core/errors.ts';
import { isObject, parseJson } from '../core/json.ts';
import { withoutSecrets } from '../wire/answer-secrets.ts';
import { readCompletion } from '../wire/completion.ts';
import { holdsCredential, holdsVerbatim, type Secrets } from '../wire/secrets.ts';
import { DONE, dataEvent, type SseEvent } from '../wire/sse.ts';
import { excessOf, MAX_EVENT_PARTS } from '../wire/structure.ts';
import { isErrorValue } from '../wire/upstream-error.ts';
import { errorForErrorValue, errorForInvalidResponse } from './failures.ts';
import type { Meter } from './meter.ts';

export interface EventReaderOptions {
  /** Whether the client requested the chunk that holds only usage. */
  readonly showUsage: boolean;
  /** What must never reach a client. */
  readonly secrets: Secrets;
}

/** What to do with an event. */
export type EventAction =
  /** `clean`: the bytes to send in place of the event's own, which hold a secret. */
  | { readonly kind: 'forward'; readonly clean?: Buffer }
  | { readonly kind: 'hide' }
  | { readonly kind: 'done' }
  | StreamError;

export interface StreamError {
  readonly kind: 'error';
  readonly error: ClientError;
  readonly note: string;
  /** The upstream itself reported the error. As its first event, this means that it did no work. */
  readonly isReported: boolean;
}

const FORWARD: EventAction = { kind: 'forward' };

export class EventReader {
  readonly #meter: Meter;
  readonly #options: EventReaderOptions;

  constructor(meter: Meter, options: EventReaderOptions) {
    this.#meter = meter;
    this.#options = options;
  }

  /** `isWithin`: whether an earlier piece of the same event was read. */
  read(event: SseEvent, isWithin: boolean): EventAction {
    if (event.data === undefined || event.data.trim() === '') {
      const isPiece = !event.complete || isWithin;
      if (isPiece) this.#meter.readUnparsed(event.bytes.length);
      return this.#readUnparsed(event.bytes.toString('latin1'), isPiece);
    }
    if (event.data.trim() === DONE) return { kind: 'done' };
    // Each part takes a byte at least.
    const excess = event.bytes.length > MAX_EVENT_PARTS ? excessOf(event.bytes, MAX_EVENT_PARTS) : undefined;
    if (excess !== undefined) {
      this.#meter.readUnparsed(event.bytes.length);
      return invalidEvent(`an event exceeds the limit of JSON ${excess}`);
    }
    const value = parseJson(event.data)?.value;
    if (event.name === 'error' || isErrorValue(value)) {
      const error = errorForErrorValue(value ?? event.data, 'error_event', this.#options.secrets);
      return { kind: 'error', error, note: 'the upstream sent an error event', isReported: true };
    }
    if (!isObject(value)) return invalidEvent('an event is not a JSON object');
    const facts = readCompletion(value);
    this.#meter.read(facts);
    const isUsageOnly = facts.hasUsage && (facts.choices ?? 0) === 0;
    if (isUsageOnly && !this.#options.showUsage) return { kind: 'hide' };
    const clean = withoutSecrets(event.data, value, this.#options.secrets);
    return clean === undefined ? FORWARD : { kind: 'forward', clean: Buffer.from(dataEvent(clean)) };
  }

  /** A comment, or a piece of an oversized event, from which nothing can be removed. */
  #readUnparsed(text: string, isPiece: boolean): EventAction {
    const { secrets } = this.#options;
    if (isPiece && holdsCredential(text, secrets)) return invalidEvent('an oversized event holds a credential');
    return !isPiece && holdsVerbatim(text, secrets) ? { kind: 'hide' } : FORWARD;
  }
}

function invalidEvent(note: string): StreamError {
  return { kind: 'error', error: errorForInvalidResponse(note), note, isReported: false };
}
