/** Relays a non-streaming response: validates it, then sends its bytes unchanged. */
import { isObject, parseJson, readJson, withLongIntegers } from '../core/json.ts';
import type { Dialect, Fields, ModelRequest, StreamReader } from '../dialects/dialect.ts';
import type { Attempt } from '../upstream/attempt.ts';
import { withoutSecrets } from '../wire/answer-secrets.ts';
import type { Secrets } from '../wire/secrets.ts';
import { excessOf, MAX_RESPONSE_PARTS } from '../wire/structure.ts';
import { isErrorValue } from '../wire/upstream-error.ts';
import {
  errorForErrorValue,
  errorForInvalidResponse,
  errorForMismatch,
  meteredByError,
  readAll,
  relayFailure,
} from './failures.ts';
import type { Meter } from './meter.ts';
import { readPieces } from './pieces.ts';
import { NO_WORK, type RelayResult } from './relay.ts';

/** Maximum length of a response. The longest ones contain base64 images. */
export const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
/** A shorter response is parsed in a few milliseconds, regardless of its content. */
const LONG_RESPONSE_BYTES = 256 * 1024;

export interface JsonOptions {
  /** The dialect of the host. */
  readonly dialect: Dialect;
  /** Translates the answer for a client of another dialect. */
  readonly translateAnswer: ((answer: Fields) => Fields) | undefined;
  /** Writes the answer in the client's format; undefined if the host was asked for that format. */
  readonly render?: ModelRequest['render'];
  /** Why a valid answer does not match the request; undefined if it does. */
  readonly mismatch?: ((answer: Fields) => string | undefined) | undefined;
  readonly secrets: Secrets;
  /** Reads an answer sent as pieces of a stream; undefined if no host does that. */
  readonly reader?: StreamReader;
}

/** Reads the whole response, at once if all of it has arrived. */
export function relayJson(attempt: Attempt, meter: Meter, options: JsonOptions): RelayResult | Promise<RelayResult> {
  const relay = (body: Buffer | undefined) => {
    if (body !== undefined) return relayBody(body, meter, options);
    attempt.abort();
    meter.readUnparsed(MAX_RESPONSE_BYTES);
    return unreadable(meter, options.dialect, `the response exceeds ${MAX_RESPONSE_BYTES} bytes`);
  };
  const chunks: Buffer[] = [];
  const body = readAll(attempt, MAX_RESPONSE_BYTES, chunks);
  if (!(body instanceof Promise)) return relay(body);
  return body.then(relay, (error) => relayBroken(attempt, error, Buffer.concat(chunks), meter, options));
}

/** Reads the usage of a response that broke off after the end of its JSON, and charges by it. */
function relayBroken(attempt: Attempt, error: unknown, part: Buffer, meter: Meter, options: JsonOptions): RelayResult {
  const relayed = relayFailure(attempt, error, meter);
  const { dialect } = options;
  const answer = excessIn(part) === undefined ? parseJson(part.toString('utf8'))?.value : undefined;
  const facts = isObject(answer) ? dialect.readAnswer(answer) : undefined;
  if (facts?.choices === undefined || facts.usage === undefined) return relayed;
  meter.readWhole(facts);
  return { ...relayed, metered: meter.figures() };
}

function excessIn(body: Buffer): ReturnType<typeof excessOf> {
  return body.length > LONG_RESPONSE_BYTES ? excessOf(body, MAX_RESPONSE_PARTS) : undefined;
}

function relayBody(body: Buffer, meter: Meter, options: JsonOptions): RelayResult | Promise<RelayResult> {
  const { dialect, secrets } = options;
  const invalid = (note: string) => unreadable(meter, dialect, note);
  const excess = excessIn(body);
  if (excess !== undefined) {
    meter.readUnparsed(body.length);
    return invalid(`the response exceeds the limit of JSON ${excess}`);
  }
  const text = body.toString('utf8');
  const answer = parseJson(text)?.value;
  if (!isObject(answer)) return relayStreamed(body, meter, options);
  const facts = dialect.readAnswer(answer);
  if (isErrorValue(answer) && !facts.choices) {
    return {
      metered: meteredByError(answer, dialect, meter),
      termination: { kind: 'error', error: errorForErrorValue(answer, 'error_answer', secrets) },
      note: 'the upstream sent an error with status 200',
    };
  }
  meter.readWhole(facts);
  if (facts.choices === undefined) return invalid(`the response is no answer in the ${dialect.title} format`);
  return { ...answered({ text, body, answer }, options), metered: meter.figures() };
}

/**
 * Relays an answer that was streamed without a request for a stream. The client gets it whole if the dialect can join the
 * pieces; the host bills it in any case.
 */
async function relayStreamed(body: Buffer, meter: Meter, options: JsonOptions): Promise<RelayResult> {
  const { dialect, reader, secrets } = options;
  const pieces = reader && (await readPieces(body, meter, { dialect, reader, secrets }));
  if (pieces === undefined) return unreadable(meter, dialect, 'the response is not a JSON object');
  const metered = meter.figuresOfPart();
  if (pieces.kind === 'error') {
    const error = errorForErrorValue(pieces.value, 'error_event', secrets);
    const note = 'the upstream sent an error event';
    return { metered: meter.hasRead ? metered : NO_WORK, termination: { kind: 'error', error }, note };
  }
  const invalid = (note: string) => ({ ...invalidResponse(meter, dialect, note), metered });
  const isComplete = pieces.kind === 'pieces' && meter.complete;
  if (!isComplete) return { ...invalid('the response is a stream without its end'), unseen: 'rest' };
  if (dialect.joinPieces === undefined) return invalid('the response is a stream, although none was requested');
  const text = JSON.stringify(dialect.joinPieces(pieces.values));
  return { ...answered({ text, body: Buffer.from(text), answer: readJson(text) as Fields }, options), metered };
}

/** An answer as bytes, text and parsed value. */
interface Answer {
  readonly body: Buffer;
  readonly text: string;
  readonly answer: Fields;
}

/** Returns the client's answer: checked against the request, without secrets, and translated. */
function answered(
  { body, text, answer }: Answer,
  { dialect, secrets, translateAnswer, render, mismatch: mismatchOf }: JsonOptions,
): Pick<RelayResult, 'termination' | 'note'> {
  const mismatch = mismatchOf?.(answer);
  if (mismatch !== undefined) return mismatched(mismatch);
  const clean = withoutSecrets(text, answer, secrets, dialect.answerFields);
  const note = clean === undefined ? undefined : SECRETS_REMOVED;
  if (translateAnswer !== undefined) {
    const translated = translateAnswer(
      clean === undefined ? withLongIntegers(text, answer) : withLongIntegers(clean, readJson(clean) as Fields),
    );
    return { termination: { kind: 'json', body: Buffer.from(JSON.stringify(translated)) }, note };
  }
  const rendered = render?.(clean === undefined ? answer : (readJson(clean) as Fields));
  if (typeof rendered === 'string') return mismatched(rendered);
  return { termination: rendered ?? { kind: 'json', body: clean === undefined ? body : Buffer.from(clean) }, note };
}

function mismatched(sent: string): Pick<RelayResult, 'termination' | 'note'> {
  return { termination: { kind: 'error', error: errorForMismatch(sent) }, note: sent };
}

const SECRETS_REMOVED = 'the response held a secret or words about the account, which were removed';

/** The result for a response that does not reveal the host's work. */
export function unreadable(meter: Meter, dialect: Dialect, note: string): RelayResult {
  return { ...invalidResponse(meter, dialect, note), unseen: 'answer' };
}

/** The result for a response that the client cannot read. */
export function invalidResponse(meter: Meter, dialect: Dialect, note: string): RelayResult {
  const error = errorForInvalidResponse(dialect, note);
  return { metered: meter.figures(), termination: { kind: 'error', error }, note };
}
