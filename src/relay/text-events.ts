/**
 * Recognizes events that differ from an earlier event of their stream only in a piece of text, which applies to nearly all
 * events. The earlier event was parsed, metered and searched for secrets, so only the text of a later event must be read.
 */
import { readJson } from '../core/json.ts';
import type { AnswerFacts } from '../dialects/answer.ts';
import type { Dialect, Fields, StreamReader, TextEvent } from '../dialects/dialect.ts';
import { locate } from '../wire/members.ts';
import type { Secrets } from '../wire/secrets.ts';
import type { SseEvent } from '../wire/sse.ts';
import { MAX_EVENT_PARTS } from '../wire/structure.ts';
import type { Meter } from './meter.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ZERO = 0x30;
/** Maximum digits of a number that is read here; the parser reads longer ones. */
const MAX_DIGITS = 15;
/** Minimum length for a comparison by Node, which is slower than a loop for fewer bytes. */
const LEAST_COMPARED_BYTES = 96;
/** A credential of this form cannot extend beyond a string or number of JSON, regardless of the context. */
const PLAIN_CREDENTIAL = /^[^",:{}[\]\s\\]{16,}$/;
/** After this many patterns without a match, only one event in EVENTS_PER_TRIAL becomes a pattern. */
const MAX_MISSES = 8;
const EVENTS_PER_TRIAL = 64;

/** A part of an event that may differ. */
type Gap = 'text' | 'string' | 'number';

/** The bytes that all matching events share, and the gaps between them. There is one gap fewer than literals. */
interface Pattern {
  readonly event: TextEvent;
  /** The index of the choice. */
  readonly choice: number;
  readonly literals: readonly Uint8Array[];
  readonly gaps: readonly Gap[];
}

export interface TextEventsOptions {
  readonly dialect: Dialect;
  readonly reader: StreamReader;
  readonly secrets: Secrets;
}

export class TextEvents {
  readonly #options: TextEventsOptions;
  readonly #credentials: readonly string[];
  /** No credential is shorter. */
  readonly #leastCredentialBytes: number;
  readonly #isPossible: boolean;
  #pattern: Pattern | undefined;
  #isKept = false;
  #misses = 0;
  #eventsUntilTrial = 0;
  /** The text and number of the last match. */
  #text = '';
  #number: number | undefined;

  constructor(options: TextEventsOptions) {
    const { credentials, ofRequest = [] } = options.secrets;
    this.#options = options;
    this.#credentials = [...credentials, ...ofRequest];
    this.#leastCredentialBytes = Math.min(...this.#credentials.map(({ length }) => length));
    this.#isPossible =
      options.reader.textEventOf !== undefined && this.#credentials.every((each) => PLAIN_CREDENTIAL.test(each));
  }

  /** The text of the last match. */
  get text(): string {
    return this.#text;
  }

  /** Makes an event the pattern for the following ones. `value` is its parsed data; its bytes were forwarded unchanged. */
  learn(event: SseEvent, value: Fields, facts: AnswerFacts): void {
    if (!this.#isPossible || this.#pattern !== undefined) return;
    if (this.#misses >= MAX_MISSES && --this.#eventsUntilTrial > 0) return;
    this.#eventsUntilTrial = EVENTS_PER_TRIAL;
    const { dialect, reader } = this.#options;
    const written = onlyTextOf(facts);
    const read = written && reader.textEventOf?.(value);
    const found = read && partsOf(event, read, written.text, dialect);
    if (!found) return;
    this.#pattern = { event: read, choice: written.choice, ...found };
    this.#misses++;
  }

  /** Called before another event is parsed: only the last parsed event is a pattern. Matching events keep the pattern. */
  forget(): void {
    if (!this.#isKept) this.#pattern = undefined;
    this.#isKept = false;
  }

  /** Keeps the pattern although the matched event is parsed. */
  keep(): void {
    this.#isKept = true;
  }

  /** Returns the end of the event at this offset if it matches the pattern; otherwise 0. */
  match(bytes: Buffer, start: number): number {
    const pattern = this.#pattern;
    if (pattern === undefined) return 0;
    const { literals, gaps } = pattern;
    this.#number = undefined;
    let at = start;
    for (let i = 0; ; i++) {
      at = endOfLiteral(bytes, at, literals[i] as Uint8Array);
      if (at === 0) return 0;
      if (i === gaps.length) break;
      const gap = gaps[i] as Gap;
      const end = gap === 'number' ? this.#endOfNumber(bytes, at) : this.#endOfString(bytes, at, gap === 'text');
      if (end < 0) return 0;
      at = end;
    }
    return at - start <= MAX_EVENT_PARTS ? at : 0;
  }

  /** Passes the last match to the meter and to the dialect's reader. */
  read(meter: Meter): void {
    const { event, choice } = this.#pattern as Pattern;
    this.#misses = 0;
    event.repeat?.(this.#text, this.#number);
    meter.readText(this.#text, choice);
  }

  /** The offset of the closing quote, or -1 for a string that the parser must read. */
  #endOfString(bytes: Buffer, start: number, isText: boolean): number {
    let at = start;
    let codes = 0;
    let hasEscape = false;
    for (let code = bytes[at] as number; code !== QUOTE; code = bytes[++at] as number) {
      // Control characters are invalid. Beyond the end of the bytes, the code is undefined.
      if (!(code >= 0x20)) return -1;
      codes |= code;
      if (code !== BACKSLASH) continue;
      hasEscape = true;
      at++;
    }
    const mayHoldCredential = at - start >= this.#leastCredentialBytes;
    if (!isText) return hasEscape || mayHoldCredential ? -1 : at;
    // An event without text is no progress, and counts against the idle limit.
    if (at === start) return -1;
    const source = bytes.toString(codes < 0x80 ? 'latin1' : 'utf8', start, at);
    const text = hasEscape ? unescaped(source) : source;
    if (text === undefined) return -1;
    // A credential may be written with escapes, or look like escapes.
    if (mayHoldCredential && this.#credentials.some((each) => source.includes(each) || text.includes(each))) return -1;
    this.#text = text;
    return at;
  }

  #endOfNumber(bytes: Buffer, start: number): number {
    let at = start;
    let value = 0;
    for (let digit = (bytes[at] as number) - ZERO; digit >= 0 && digit <= 9; digit = (bytes[++at] as number) - ZERO) {
      value = 10 * value + digit;
    }
    const length = at - start;
    if (length === 0 || length > MAX_DIGITS || (length > 1 && bytes[start] === ZERO)) return -1;
    this.#number = value;
    return at;
  }
}

/** The text of an event that reports only text; undefined for other events. */
function onlyTextOf(facts: AnswerFacts): { readonly text: string; readonly choice: number } | undefined {
  const { hasUsage, toolCalls, kept, isInputBilled, isWithoutOutput, progress } = facts;
  const [choice] = progress;
  if (choice === undefined || progress.length > 1 || choice.finished) return undefined;
  if (choice.unseenTokens + choice.images + choice.audioBytes > 0) return undefined;
  if (hasUsage || toolCalls !== undefined || kept !== undefined || isInputBilled || isWithoutOutput) return undefined;
  const texts = choice.written.filter((text) => text !== '');
  return texts.length === 1 ? { text: texts[0] as string, choice: choice.index } : undefined;
}

/** The offset after these bytes, or 0 if they do not match. */
function endOfLiteral(bytes: Buffer, start: number, literal: Uint8Array): number {
  const end = start + literal.length;
  if (end > bytes.length) return 0;
  if (literal.length >= LEAST_COMPARED_BYTES) {
    return bytes.compare(literal, 0, literal.length, start, end) === 0 ? end : 0;
  }
  for (let i = 0; i < literal.length; i++) if (bytes[start + i] !== literal[i]) return 0;
  return end;
}

function unescaped(source: string): string | undefined {
  try {
    return JSON.parse(`"${source}"`) as string;
  } catch {
    return undefined;
  }
}

/** The parts of an event with the text `text`; undefined for an event in an unusual format. */
function partsOf(
  { bytes, data = '', name }: SseEvent,
  event: TextEvent,
  text: string,
  { answerFields }: Dialect,
): Pick<Pattern, 'literals' | 'gaps'> | undefined {
  const before = `${name === undefined ? '' : `event: ${name}\n`}data: `;
  if (!bytes.equals(Buffer.from(`${before}${data}\n\n`))) return undefined;
  const others = event.others.filter((other) => answerFields.has(other)).map((other) => [other]);
  const gaps: { readonly kind: Gap; readonly start: number; readonly end: number }[] = [];
  for (const path of [event.text, ...others]) {
    const found = locate(data, path);
    if (found === undefined) continue;
    const value = readJson(data.slice(found.start, found.end));
    const isText = path === event.text;
    if (isText && value !== text) return undefined;
    if (typeof value === 'string') {
      gaps.push({ kind: isText ? 'text' : 'string', start: found.start + 1, end: found.end - 1 });
    } else if (Number.isSafeInteger(value)) {
      gaps.push({ kind: 'number', ...found });
    }
  }
  gaps.sort((a, b) => a.start - b.start);
  const starts = [0, ...gaps.map(({ end }) => end)];
  const ends = [...gaps.map(({ start }) => start), data.length];
  const texts = starts.map((start, i) => data.slice(start, ends[i]));
  const literals = texts.map((literal, i) =>
    Buffer.from(`${i === 0 ? before : ''}${literal}${i === gaps.length ? '\n\n' : ''}`),
  );
  return gaps.some(({ kind }) => kind === 'text') ? { literals, gaps: gaps.map(({ kind }) => kind) } : undefined;
}
