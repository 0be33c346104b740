/**
 * The waist of answers: what a model writes, piece by piece, in no dialect. A reader for each dialect of
 * hosts says it to a writer for each dialect of clients.
 */
import { parseArguments } from '../core/json.ts';
import { cacheWritesOf, NO_PARTS, type TokenUsage } from '../core/usage.ts';
import { countOf } from '../dialects/answer.ts';
import type { Fields, StreamEnds } from '../dialects/dialect.ts';
import type { ByModality } from '../dialects/modalities.ts';

/** What an answer says about itself. */
export interface AnswerHead {
  /** Not checked: some hosts send none. */
  readonly id?: unknown;
  readonly model?: unknown;
}

export interface AnswerUsage {
  /** With what was read from the cache and written to it. */
  readonly input: number;
  readonly cached: number;
  readonly cacheWritten: number;
  readonly output: number;
  /** Part of the output. Undefined if the host does not say it. */
  readonly reasoning: number | undefined;
  /** The audio and images of the input, cached or not, of the cached input, and of the output. */
  readonly inputMedia: ByModality;
  readonly cachedMedia: ByModality;
  readonly outputMedia: ByModality;
}

/** As it is billed. `reasoning`: not checked. */
export function usageOf(billed: TokenUsage | undefined, reasoning: unknown): AnswerUsage | undefined {
  if (billed === undefined) return undefined;
  const { promptTokens, cachedTokens, completionTokens, parts = NO_PARTS } = billed;
  const { cachedAudioTokens, cachedImageTokens } = parts;
  return {
    input: promptTokens,
    cached: cachedTokens,
    cacheWritten: cacheWritesOf(billed),
    output: completionTokens,
    reasoning: countOf(reasoning),
    inputMedia: {
      audio: parts.audioInputTokens + cachedAudioTokens,
      image: parts.imageInputTokens + cachedImageTokens,
    },
    cachedMedia: { audio: cachedAudioTokens, image: cachedImageTokens },
    outputMedia: { audio: parts.audioOutputTokens, image: parts.imageOutputTokens },
  };
}

/** Nothing for what a host has in the place of a text. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Why a model has ended: it had written all, it waits for its calls, or it was cut short by a limit or by a filter. */
export type AnswerEnd = 'complete' | 'calls' | 'length' | 'filtered';

/** Takes an answer in the order in which the model writes it. Empty texts say nothing. */
export interface AnswerWriter {
  /** As reported last. */
  usage: AnswerUsage | undefined;
  /** As the host says that it has served the request, in the words of OpenAI. */
  serviceTier: string | undefined;
  /** The answer begins. Only the first time counts; some hosts begin with something else. */
  begin(head: AnswerHead): void;
  /** Begins a piece of reasoning of its own. */
  beginReasoning(): void;
  reasoning(text: string): void;
  /** `block`: the reasoning that is open, as the messages dialect has it. The host wants it back unchanged. */
  sealReasoning(block: Fields): void;
  text(text: string, logprobs?: readonly unknown[]): void;
  refusal(text: string): void;
  /** An image that the model has made: a data URL, or an address. */
  image(url: string): void;
  /** A source of the text before it, in the words of OpenAI. */
  annotation(annotation: Fields): void;
  /**
   * Begins a call. `key`: what the reader names it by; a call that has the same is over. `id`: not checked, and
   * no text or an empty one if the host gives none.
   */
  beginCall(key: unknown, id: unknown, hostName: string): void;
  /** A piece of the arguments of a call, which are JSON. */
  callArguments(key: unknown, json: string): void;
  /** The arguments of a call are complete. White space may follow. */
  endArguments(key: unknown): void;
  /** Something follows, so none of the calls whose arguments are complete was cut short. */
  completeCalls(): void;
  finish(end: AnswerEnd): void;
}

export interface WholeWriter extends AnswerWriter {
  whole(): Fields;
}

export interface StreamWriter extends AnswerWriter, StreamEnds {
  /** The events since the last time. */
  take(): string;
}

/** Reads what a host answers to one request. */
export interface HostReader {
  readWhole(answer: Fields): void;
  readEvent(event: Fields): void;
  /** The stream is over, though the host may have left something open. */
  end(): void;
}

/** A call of a tool, as a whole. */
export interface GatheredCall {
  readonly id: unknown;
  readonly hostName: string;
  json: string;
}

/** What an answer depends on besides its request. */
export interface ResponseContext {
  /** The id of the gateway's request, such as `req_…`. */
  readonly requestId: string;
  /** The time in seconds since 1970. */
  readonly nowS: number;
}

/** A writer for a dialect that has no words for some of it. `Options`: what the request decides about its answer. */
export abstract class TerseWriter<Options> implements AnswerWriter {
  usage: AnswerUsage | undefined;
  serviceTier: string | undefined;
  protected readonly options: Options;
  protected readonly context: ResponseContext;
  protected head: AnswerHead = {};
  protected ending: AnswerEnd | undefined;
  /** Calls that are gathered, by their keys. */
  readonly #open = new Map<unknown, GatheredCall>();

  constructor(options: Options, context: ResponseContext) {
    this.options = options;
    this.context = context;
  }

  begin(head: AnswerHead): void {
    this.head = head;
  }

  finish(end: AnswerEnd): void {
    this.ending = end;
  }

  beginReasoning(): void {}
  abstract reasoning(text: string): void;
  sealReasoning(_: Fields): void {}
  abstract text(text: string): void;
  abstract refusal(text: string): void;
  abstract image(url: string): void;
  annotation(): void {}
  abstract beginCall(key: unknown, id: unknown, hostName: string): void;
  endArguments(_: unknown): void {}
  completeCalls(): void {}

  callArguments(key: unknown, json: string): void {
    const call = this.#open.get(key);
    if (call !== undefined) call.json += json;
  }

  /** A call to which the arguments that follow are added. */
  protected gather(key: unknown, id: unknown, hostName: string): GatheredCall {
    const call = { id, hostName, json: '' };
    this.#open.set(key, call);
    return call;
  }
}

/** A writer for a dialect in which a refusal is text, and the reason of the end. */
export abstract class TextWriter<Options> extends TerseWriter<Options> {
  protected hasRefusal = false;

  refusal(text: string): void {
    this.hasRefusal ||= text !== '';
    this.text(text);
  }
}

/** The arguments of a call in a dialect that has objects only. Any other text becomes the field `input` of one, so that nothing is lost. */
export function objectOf(json: string): Fields {
  if (json.trim() === '') return {};
  return parseArguments(json) ?? { input: json };
}
