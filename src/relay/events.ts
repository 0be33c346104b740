/** Reads the events of a stream: meters each, and decides what to send to the client. */
import type { ClientError } from '../core/errors.ts';
import { readJson } from '../core/json.ts';
import type { Dialect, Fields, Judgement, StreamReader } from '../dialects/dialect.ts';
import type { StreamTranslator } from '../translate/translation.ts';
import { withoutSecrets } from '../wire/answer-secrets.ts';
import { PieceSplitter } from '../wire/pieces.ts';
import { holdsCredential, holdsVerbatim, type Secrets } from '../wire/secrets.ts';
import { type EventSplitter, namedEvent, type SseEvent, SseSplitter } from '../wire/sse.ts';
import { excessOf, MAX_EVENT_PARTS } from '../wire/structure.ts';
import { errorForErrorValue, errorForInvalidResponse } from './failures.ts';
import type { Meter } from './meter.ts';
import { TextEvents } from './text-events.ts';

export interface EventReaderOptions {
  /** The dialect of the host. */
  readonly dialect: Dialect;
  /** Reads the stream of the host. */
  readonly reader: StreamReader;
  /** Writes the stream for a client of another dialect. */
  readonly translator: StreamTranslator | undefined;
  /** Whether the client requested events that hold only usage. */
  readonly showUsage: boolean;
  /** Secrets that must never reach a client. */
  readonly secrets: Secrets;
}

/** The action to take for an event. */
export type EventAction =
  /**
   * `instead`: the bytes to send in place of the event. `isEmpty`: the event contains no part of the answer, like a ping.
   * `mayBeLast`: the event is the final one if no other follows.
   */
  | { readonly kind: 'forward'; readonly instead?: Buffer; readonly isEmpty?: true; readonly mayBeLast?: true }
  | { readonly kind: 'hide'; readonly mayBeLast?: true }
  | { readonly kind: 'done'; readonly instead?: Buffer }
  | StreamError;

export interface StreamError {
  readonly kind: 'error';
  readonly error: ClientError;
  readonly note: string;
  /**
   * The upstream itself reported the error. If this is its first event, the upstream did no work, unless the error reports
   * usage.
   */
  readonly isReported: boolean;
}

/** Splits the stream of a host. */
export function splitterFor({ joinPieces }: Dialect, maxEventBytes: number): EventSplitter {
  return joinPieces === undefined ? new SseSplitter(maxEventBytes) : new PieceSplitter(maxEventBytes);
}

const FORWARD: EventAction = { kind: 'forward' };
const DONE: EventAction = { kind: 'done' };
const FORWARD_EMPTY: EventAction = { kind: 'forward', isEmpty: true };
/** The name of keep-alive events. */
const PING = 'ping';

export class EventReader {
  /** Events that need not be parsed. */
  readonly texts: TextEvents;
  readonly #meter: Meter;
  readonly #options: EventReaderOptions;

  constructor(meter: Meter, options: EventReaderOptions) {
    this.#meter = meter;
    this.#options = options;
    this.texts = new TextEvents(options);
  }

  /** `isWithin`: whether an earlier piece of the same event was read. */
  read(event: SseEvent, isWithin: boolean): EventAction {
    this.texts.forget();
    const judged = this.meter(event, isWithin);
    if (judged === 'unparsed') return this.#readUnparsed(event.bytes.toString('latin1'), isPiece(event, isWithin));
    if (typeof judged === 'string') return this.#invalid(`an event exceeds the limit of JSON ${judged}`);
    if (judged.kind === 'invalid') return this.#invalid('an event is not a JSON object');
    if (judged.kind === 'error') {
      const error = errorForErrorValue(judged.value, 'error_event', this.#options.secrets);
      return { kind: 'error', error, note: 'the upstream sent an error event', isReported: true };
    }
    if (judged.kind === 'part' && judged.isHidden && !this.#options.showUsage) return { kind: 'hide' };
    const { value } = judged;
    if (value === undefined) return this.#done();
    const action = this.#forward(event, value, judged.kind === 'end');
    const mayBeLast = judged.kind === 'part' && judged.mayBeLast === true;
    if (action === FORWARD && judged.kind === 'part' && !mayBeLast) this.texts.learn(event, value, judged.facts);
    return mayBeLast && action.kind !== 'done' && action.kind !== 'error' ? { ...action, mayBeLast } : action;
  }

  /** Meters an event and judges it. If the event cannot be parsed, the result is `unparsed` or the exceeded JSON limit. */
  meter(event: SseEvent, isWithin: boolean): Judgement | 'unparsed' | 'depth' | 'parts' {
    if (event.data === undefined || event.data.trim() === '') {
      if (isPiece(event, isWithin)) this.#meter.readUnparsed(event.bytes.length);
      return 'unparsed';
    }
    // Each part takes at least one byte.
    const excess = event.bytes.length > MAX_EVENT_PARTS ? excessOf(event.bytes, MAX_EVENT_PARTS) : undefined;
    if (excess !== undefined) {
      this.#meter.readUnparsed(event.bytes.length);
      return excess;
    }
    const judged = this.#options.reader.judge(event);
    const facts = 'facts' in judged ? judged.facts : undefined;
    if (facts !== undefined && judged.kind === 'error') this.#meter.readError(facts);
    else if (facts !== undefined) this.#meter.read(facts);
    return judged;
  }

  /** A final event without content. */
  #done(): EventAction {
    const { translator } = this.#options;
    return translator === undefined ? DONE : { kind: 'done', instead: Buffer.from(translator.completion()) };
  }

  #forward(event: SseEvent, value: Fields, isEnd: boolean): EventAction {
    const { translator, secrets, dialect } = this.#options;
    const clean = withoutSecrets(event.data as string, value, secrets, dialect.answerFields);
    const kind = isEnd ? 'done' : 'forward';
    if (translator === undefined) {
      if (clean === undefined) return isEnd ? DONE : event.name === PING ? FORWARD_EMPTY : FORWARD;
      return { kind, instead: Buffer.from(namedEvent(event.name, clean)) };
    }
    const translated = translator.push(clean === undefined ? value : (readJson(clean) as Fields));
    if (isEnd) return { kind, instead: Buffer.from(translated + translator.completion()) };
    return translated === '' ? { kind: 'hide' } : { kind, instead: Buffer.from(translated) };
  }

  /** Handles a comment or a piece of an oversized event. Secrets cannot be removed from either. */
  #readUnparsed(text: string, isPiece: boolean): EventAction {
    const { secrets, translator } = this.#options;
    // Only parsed events can be translated.
    if (isPiece && translator !== undefined) return this.#invalid('an event is too long to be translated');
    if (translator !== undefined) return { kind: 'hide' };
    if (isPiece && holdsCredential(text, secrets)) return this.#invalid('an oversized event holds a credential');
    return !isPiece && holdsVerbatim(text, secrets) ? { kind: 'hide' } : FORWARD;
  }

  #invalid(note: string): StreamError {
    return { kind: 'error', error: errorForInvalidResponse(this.#options.dialect, note), note, isReported: false };
  }
}

/** Distinguishes a piece of an oversized event from a comment; neither has data. */
function isPiece({ complete }: SseEvent, isWithin: boolean): boolean {
  return !complete || isWithin;
}
