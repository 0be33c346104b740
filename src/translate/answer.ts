/** The neutral form of answers, streamed or not. A reader per host dialect calls a writer per client dialect. */
import { parseArguments } from '../core/json.ts';
import { cacheWritesOf, NO_PARTS, type TokenUsage } from '../core/usage.ts';
import { countOf } from '../dialects/answer.ts';
import type { Fields, StreamEnds } from '../dialects/dialect.ts';
import type { ByModality } from '../dialects/modalities.ts';

/** Metadata of an answer. */
export interface AnswerHead {
  /** Not validated: some hosts omit it. */
  readonly id?: unknown;
  readonly model?: unknown;
}

export interface AnswerUsage {
  /** Includes cache reads and writes. */
  readonly input: number;
  readonly cached: number;
  readonly cacheWritten: number;
  readonly output: number;
  /** Part of the output. Undefined if the host does not report it. */
  readonly reasoning: number | undefined;
  /** Audio and image tokens of the input (cached or not), the cached input, and the output. */
  readonly inputMedia: ByModality;
  readonly cachedMedia: ByModality;
  readonly outputMedia: ByModality;
}

/** Returns the billed usage. `reasoning`: not validated. */
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

/** Returns a string; empty for other values. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Reason of the end: complete, waiting for call results, or cut by a limit or a filter. */
export type AnswerEnd = 'complete' | 'calls' | 'length' | 'filtered';

/** Receives an answer in the model's order. Empty texts are permitted. */
export interface AnswerWriter {
  /** The last reported usage. */
  usage: AnswerUsage | undefined;
  /** The reported service tier in OpenAI's terms. */
  serviceTier: string | undefined;
  /** Starts the answer. Repeated calls are ignored. Some hosts send other events first. */
  begin(head: AnswerHead): void;
  /** Starts a separate piece of reasoning. */
  beginReasoning(): void;
  reasoning(text: string): void;
  /** `block`: the current reasoning in the form of the messages dialect. The host requires it back unchanged. */
  sealReasoning(block: Fields): void;
  text(text: string, logprobs?: readonly unknown[]): void;
  refusal(text: string): void;
  /** Adds an output image: a data URL or a URL. */
  image(url: string): void;
  /** Adds a source of the preceding text, in OpenAI's terms. */
  annotation(annotation: Fields): void;
  /**
   * Starts a call. `key`: the reader's identifier; an earlier call with the same key ends. `id`: not validated, possibly missing.
   */
  beginCall(key: unknown, id: unknown, hostName: string): void;
  /** Adds a piece of a call's JSON arguments. */
  callArguments(key: unknown, json: string): void;
  /** Marks a call's arguments as complete. White space may follow. */
  endArguments(key: unknown): void;
  /** Called when other output follows: calls with complete arguments were not cut short. */
  completeCalls(): void;
  finish(end: AnswerEnd): void;
}

export interface WholeWriter extends AnswerWriter {
  whole(): Fields;
}

export interface StreamWriter extends AnswerWriter, StreamEnds {
  /** Returns the events since the last call. */
  take(): string;
}

/** Reads the host's answer to one request. */
export interface HostReader {
  readWhole(answer: Fields): void;
  readEvent(event: Fields): void;
  /** Handles the end of the stream, even if the host has left blocks open. */
  end(): void;
}

/** A complete tool call. */
export interface GatheredCall {
  readonly id: unknown;
  readonly hostName: string;
  json: string;
}

/** Data of an answer that are not in its request. */
export interface ResponseContext {
  /** The gateway's request id, such as `req_…`. */
  readonly requestId: string;
  /** Time in seconds since 1970. */
  readonly nowS: number;
}

/** Base of writers for dialects without some features. `Options`: request settings that affect the answer. */
export abstract class TerseWriter<Options> implements AnswerWriter {
  usage: AnswerUsage | undefined;
  serviceTier: string | undefined;
  protected readonly options: Options;
  protected readonly context: ResponseContext;
  protected head: AnswerHead = {};
  protected ending: AnswerEnd | undefined;
  /** Calls in progress, by key. */
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

  /** Starts a call, to which arguments are appended. */
  protected gather(key: unknown, id: unknown, hostName: string): GatheredCall {
    const call = { id, hostName, json: '' };
    this.#open.set(key, call);
    return call;
  }
}

/** Base of writers for dialects without refusals: a refusal becomes text and an end reason. */
export abstract class TextWriter<Options> extends TerseWriter<Options> {
  protected hasRefusal = false;

  refusal(text: string): void {
    this.hasRefusal ||= text !== '';
    this.text(text);
  }
}

/** Returns the arguments as an object. Invalid JSON becomes its field `input`, so that no text is lost. */
export function objectOf(json: string): Fields {
  if (json.trim() === '') return {};
  return parseArguments(json) ?? { input: json };
}
