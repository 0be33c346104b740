/** Reads chat completions and their stream chunks. */
import { isObject, objectOf, objectsIn } from '../../core/json.ts';
import { readUsage } from '../../dialects/chat/chat-answer.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { type AnswerEnd, type AnswerWriter, type HostReader, usageOf } from '../answer.ts';
import { THINKING_FIELDS } from '../thought-signature.ts';
import { detailsIn, PastThinking } from './past-thinking.ts';

/** A call in progress. */
interface OpenCall {
  id: string;
  name: string;
  /** Detects the end of the arguments. */
  readonly end: JsonEnd;
  hasBegun: boolean;
  /** Arguments received before the name. */
  waiting: string;
}

/** A call or a piece of one. Missing values are empty strings. */
interface CallPiece {
  /** Omitted by some hosts. */
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  /** Usually JSON. */
  readonly json: string;
}

export class ChatAnswerReader implements HostReader {
  readonly #writer: AnswerWriter;
  /** The latest call per index. */
  readonly #calls = new Map<number, OpenCall>();
  /** Calls without a name. */
  readonly #nameless = new Map<number, OpenCall>();
  /** Index of the latest call. */
  #lastIndex = 0;
  readonly #thinking = new PastThinking();

  constructor(writer: AnswerWriter) {
    this.#writer = writer;
  }

  readWhole(completion: Fields): void {
    const choice = this.#readHead(completion) ?? {};
    const message = [choice.message, choice.delta].find(isObject) ?? {};
    this.#readMessage(message, logprobsOf(choice));
    for (const piece of callsIn(message)) {
      if (isEmptyCall(piece.name, piece.json)) continue;
      const key = Symbol();
      this.#beginCall(key, piece);
      this.#writer.callArguments(key, piece.json);
    }
    this.#seal();
    this.#readFinish(choice);
  }

  /** Reads a chunk. Some hosts repeat the complete text next to the delta; only the delta is read. */
  readEvent(chunk: Fields): void {
    const choice = this.#readHead(chunk);
    if (choice === undefined) return;
    const delta = [choice.delta, choice.message].find(isObject) ?? {};
    this.#readMessage(delta, logprobsOf(choice));
    const pieces = callsIn(delta);
    for (const [position, piece] of pieces.entries()) {
      this.#readCall(piece.index ?? (pieces.length > 1 ? position : this.#indexOf(piece)), piece);
    }
    this.#readFinish(choice);
  }

  end(): void {
    for (const [index, call] of this.#nameless) this.#begin(index, call);
    this.#seal();
  }

  /** Returns the first choice: translated requests ask for one. */
  #readHead(answer: Fields): Fields | undefined {
    const { reasoning_tokens: reasoning } = objectOf(objectOf(answer.usage).completion_tokens_details);
    this.#writer.usage = usageOf(readUsage(answer.usage), reasoning) ?? this.#writer.usage;
    if (typeof answer.service_tier === 'string') this.#writer.serviceTier = answer.service_tier;
    this.#writer.begin(answer);
    return objectsIn(answer.choices)[0];
  }

  #readMessage(message: Fields, logprobs: readonly Fields[]): void {
    const { content, refusal, annotations } = message;
    const hasThought = this.#readThinking(message);
    if (typeof content === 'string') this.#text(content, logprobs);
    // Some hosts put reasoning into content parts, which contain text parts.
    for (const part of objectsIn(content)) {
      if (typeof part.text === 'string') this.#text(part.text, logprobs);
      if (!hasThought) this.#writer.reasoning(textOf(part.thinking));
    }
    for (const { image_url: image } of [...objectsIn(content), ...objectsIn(message.images)]) {
      if (isObject(image) && typeof image.url === 'string') this.#image(image.url);
    }
    if (textOf(refusal) !== '') this.#seal();
    this.#writer.refusal(textOf(refusal));
    for (const { type, url_citation: citation } of objectsIn(annotations)) {
      if (type === 'url_citation' && isObject(citation)) this.#writer.annotation({ type, ...citation });
    }
  }

  /** Returns whether the message has reasoning text. */
  #readThinking(message: Fields): boolean {
    // Some hosts send both fields with equal text.
    const field = THINKING_FIELDS.find((name) => textOf(message[name]) !== '');
    const details = detailsIn(message);
    if (this.#thinking.isEmpty && details.length > 0) this.#writer.beginReasoning();
    this.#thinking.addDetails(details);
    if (field === undefined) return false;
    const text = textOf(message[field]);
    this.#thinking.addText(field, text);
    this.#writer.reasoning(text);
    return true;
  }

  #text(text: string, logprobs: readonly Fields[]): void {
    if (text !== '') this.#seal();
    this.#writer.text(text, logprobs);
  }

  #image(url: string): void {
    this.#seal();
    this.#writer.image(url);
  }

  /** Ends the reasoning, because other output follows. */
  #seal(): void {
    const block = this.#thinking.seal();
    if (block !== undefined) this.#writer.sealReasoning(block);
  }

  #beginCall(key: unknown, { id, name }: { readonly id: string; readonly name: string }): void {
    this.#seal();
    this.#writer.beginCall(key, id, name);
  }

  #readFinish({ finish_reason: reason }: Fields): void {
    if (typeof reason !== 'string' || reason === '') return;
    this.end();
    this.#writer.finish(endOf(reason));
  }

  /** Returns the call index for a piece without one: the first call if the ids match, else the latest. */
  #indexOf(piece: CallPiece): number {
    const last = this.#calls.get(this.#lastIndex);
    const isOfFirst = piece.id !== '' && piece.id === this.#calls.get(0)?.id;
    return last !== undefined && !isOfFirst && belongsTo(piece, last) ? this.#lastIndex : 0;
  }

  #readCall(index: number, piece: CallPiece): void {
    this.#lastIndex = index;
    const call = this.#callOf(index, piece);
    call.id ||= piece.id;
    call.name ||= piece.name;
    call.end.read(piece.json);
    call.waiting += piece.json;
    if (call.hasBegun) this.#write(index, call);
    else if (call.name === '') this.#nameless.set(index, call);
    else this.#begin(index, call);
  }

  #callOf(index: number, piece: CallPiece): OpenCall {
    const known = this.#calls.get(index);
    if (known !== undefined && belongsTo(piece, known)) return known;
    if (known?.hasBegun === false) this.#begin(index, known);
    const call = { id: '', name: '', end: new JsonEnd(), hasBegun: false, waiting: '' };
    this.#calls.set(index, call);
    return call;
  }

  #begin(index: number, call: OpenCall): void {
    this.#nameless.delete(index);
    if (isEmptyCall(call.name, call.waiting)) return;
    call.hasBegun = true;
    this.#beginCall(index, call);
    this.#write(index, call);
  }

  #write(index: number, call: OpenCall): void {
    this.#writer.callArguments(index, call.waiting);
    call.waiting = '';
    if (call.end.isReached) this.#writer.endArguments(index);
  }
}

/** Some hosts give all calls index 0, and some repeat id and name in every piece. */
function belongsTo(piece: CallPiece, { id, name, end }: OpenCall): boolean {
  if (piece.name === '') return true;
  if (piece.id !== '' && id !== '') return piece.id === id;
  if (name !== '' && piece.name !== name) return false;
  return !end.isReached || piece.json.trim() === '';
}

/** Some hosts send empty calls. */
function isEmptyCall(name: string, json: string): boolean {
  return name === '' && json === '';
}

function callsIn({ tool_calls: calls, function_call: single }: Fields): readonly CallPiece[] {
  const listed = objectsIn(calls);
  // Some hosts send the deprecated field in addition to the list.
  const list = listed.length === 0 && isObject(single) ? [{ function: single }] : listed;
  return list.map((call) => {
    // Custom calls are never requested, but their input can be passed on.
    const named = [call.function, call.custom].find(isObject) ?? {};
    return {
      index: typeof call.index === 'number' ? call.index : undefined,
      id: textOf(call.id),
      name: textOf(named.name),
      json: argumentsIn(named.arguments ?? named.input),
    };
  });
}

function argumentsIn(value: unknown): string {
  // Some hosts send arguments as an object.
  return isObject(value) ? JSON.stringify(value) : textOf(value);
}

/** Returns a string, or the joined text of parts. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return objectsIn(value)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('');
}

function logprobsOf({ logprobs }: Fields): readonly Fields[] {
  return isObject(logprobs) ? objectsIn(logprobs.content) : [];
}

const ENDS: ReadonlyMap<string, AnswerEnd> = new Map<string, AnswerEnd>([
  ['tool_calls', 'calls'],
  ['function_call', 'calls'],
  ['content_filter', 'filtered'],
  // Other hosts' names for an answer cut short by a limit or an error. The output may end anywhere, so its calls must not be run.
  ...['length', 'model_length', 'insufficient_system_resource', 'error', 'abort'].map(
    (reason) => [reason, 'length'] as const,
  ),
]);

function endOf(finishReason: string): AnswerEnd {
  return ENDS.get(finishReason) ?? 'complete';
}

const OPENING = '{[';
const CLOSING = '}]';

/** Detects the end of streamed JSON without buffering it. */
class JsonEnd {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #isReached = false;

  /** Whether the JSON is complete. */
  get isReached(): boolean {
    return this.#isReached;
  }

  read(text: string): void {
    for (const character of text) {
      if (this.#isInString) this.#readInString(character);
      else if (character === '"') this.#isInString = true;
      else if (OPENING.includes(character)) this.#depth++;
      else if (CLOSING.includes(character) && --this.#depth === 0) this.#isReached = true;
    }
  }

  #readInString(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (character === '\\') this.#isEscaped = true;
    else if (character === '"') this.#isInString = false;
  }
}
