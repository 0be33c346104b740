/** Writes a response and its stream events. Text and reasoning items are sequential; calls may be open concurrently. */
import type { ClientError } from '../../core/errors.ts';
import type { Fields } from '../../dialects/dialect.ts';
import type { AnswerEnd, AnswerUsage, ResponseContext, StreamWriter, WholeWriter } from '../answer.ts';
import { readDataUrl } from '../data-url.ts';
import type { ToolNames } from '../tool-names.ts';
import {
  type CallItem,
  callItem,
  type Emit,
  EventLog,
  ImageItem,
  type ItemPlace,
  MessageItem,
  type OutputItem,
  ReasoningItem,
} from './output-items.ts';
import { idEnding, type ResponseState, responseOf } from './response.ts';
import { encryptedContent } from './thinking.ts';

/** Request data that affect the response. */
export interface ResponseSource {
  /** Fields of the client's request. */
  readonly request: Fields;
  readonly names: ToolNames;
}

/** Reason of an incomplete response, if any. */
type CutReason = 'max_output_tokens' | 'content_filter' | undefined;

const CUT_REASONS: Readonly<Record<AnswerEnd, CutReason>> = {
  complete: undefined,
  calls: undefined,
  length: 'max_output_tokens',
  filtered: 'content_filter',
};

export class ResponseWriter implements WholeWriter, StreamWriter {
  readonly #source: ResponseSource;
  readonly #context: ResponseContext;
  readonly #log = new EventLog();
  readonly #emit: Emit;
  readonly #items: OutputItem[] = [];
  /** The text or reasoning item in progress. */
  #text: MessageItem | ReasoningItem | undefined;
  /** Open calls by the host's keys. */
  readonly #calls = new Map<unknown, CallItem>();
  /** Keys of calls with complete arguments. */
  readonly #complete = new Set<unknown>();
  readonly #callIds = new Set<string>();
  #hasStarted = false;
  #cutReason: CutReason;
  usage: AnswerUsage | undefined;
  serviceTier: string | undefined;

  /** `isStream`: whether to write events. */
  constructor(source: ResponseSource, context: ResponseContext, { isStream }: { readonly isStream: boolean }) {
    this.#source = source;
    this.#context = context;
    this.#emit = isStream ? this.#log.emit : () => {};
  }

  begin(): void {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    const response = this.#response({ status: 'in_progress', output: [] });
    this.#emit('response.created', { response });
    this.#emit('response.in_progress', { response });
  }

  reasoning(text: string): void {
    if (text !== '') this.#textItem(ReasoningItem).write(text);
  }

  beginReasoning(): void {
    this.#endText();
    this.#textItem(ReasoningItem);
  }

  sealReasoning(block: Fields): void {
    if (this.#text instanceof ReasoningItem) this.#text.encrypt(encryptedContent(block));
  }

  text(text: string, logprobs: readonly unknown[] = []): void {
    if (text !== '') this.#textItem(MessageItem).write('text', text, logprobs);
  }

  refusal(text: string): void {
    if (text !== '') this.#textItem(MessageItem).write('refusal', text, []);
  }

  /** Adds an image. The format has no image URLs, so a URL becomes text. */
  image(url: string): void {
    const found = readDataUrl(url);
    if (found === undefined) return this.text(`![image](${url})`);
    this.#endText();
    this.#items.push(new ImageItem(this.#place(), found.data));
  }

  annotation(annotation: Fields): void {
    this.#textItem(MessageItem).annotate(annotation);
  }

  beginCall(key: unknown, id: unknown, hostName: string): void {
    this.#endText();
    this.#endCall(key);
    const isUsable = typeof id === 'string' && id !== '' && !this.#callIds.has(id);
    const callId = isUsable ? id : `call_${this.#idEnding()}`;
    this.#callIds.add(callId);
    const item = callItem(this.#place(), { callId, tool: this.#source.names.identity(hostName) });
    this.#items.push(item);
    this.#calls.set(key, item);
  }

  callArguments(key: unknown, json: string): void {
    this.#calls.get(key)?.write(json);
  }

  /** Marks arguments as complete. The item stays open, because the last item of an incomplete response is incomplete, too. */
  endArguments(key: unknown): void {
    this.#complete.add(key);
  }

  completeCalls(): void {
    for (const key of this.#complete) this.#endCall(key);
  }

  finish(end: AnswerEnd): void {
    this.#cutReason = CUT_REASONS[end];
    this.#endAll();
  }

  /** Closes all items. The last one gets the status of the response. */
  #endAll(): void {
    const cutReason = this.#cutReason;
    const last = this.#items.at(-1);
    for (const item of this.#openItems()) {
      item.end(cutReason !== undefined && item === last ? 'incomplete' : 'completed');
    }
    this.#text = undefined;
    this.#calls.clear();
    this.#complete.clear();
  }

  take(): string {
    return this.#log.take();
  }

  whole(): Fields {
    this.#endAll();
    return this.#response(this.#endState());
  }

  /** Writes the last event of a stream. */
  completion(): string {
    this.begin();
    // A host may leave items open, or send output after its finish reason.
    this.#endAll();
    const state = this.#endState();
    this.#emit(`response.${state.status}`, { response: this.#response(state) });
    return this.take();
  }

  /** Writes the last event of a failed stream. Open items get no further events. */
  failure({ code, message, requestFault }: ClientError): string {
    this.begin();
    const output = this.#output().map((item) =>
      item.status === 'in_progress' ? { ...item, status: 'incomplete' } : item,
    );
    const state = {
      status: 'failed',
      output,
      usage: this.usage,
      error: { code: requestFault?.code ?? code, message },
    } as const;
    this.#emit('response.failed', { response: this.#response(state) });
    return this.take();
  }

  #endState(): ResponseState {
    const output = this.#output();
    const { usage, serviceTier } = this;
    if (this.#cutReason === undefined) return { status: 'completed', output, usage, serviceTier };
    return { status: 'incomplete', reason: this.#cutReason, output, usage, serviceTier };
  }

  #openItems(): readonly OutputItem[] {
    return [...(this.#text === undefined ? [] : [this.#text]), ...this.#calls.values()];
  }

  /** Returns the open item of this kind, or a new one. */
  #textItem<Item extends ReasoningItem | MessageItem>(Kind: new (place: ItemPlace) => Item): Item {
    if (this.#text instanceof Kind) return this.#text;
    this.#endText();
    const item = new Kind(this.#place());
    this.#items.push(item);
    this.#text = item;
    return item;
  }

  #endCall(key: unknown): void {
    this.#calls.get(key)?.end('completed');
    this.#calls.delete(key);
    this.#complete.delete(key);
  }

  #endText(): void {
    this.#text?.end('completed');
    this.#text = undefined;
  }

  #place(): ItemPlace {
    // Some hosts omit the start.
    this.begin();
    const ending = this.#idEnding();
    return { index: this.#items.length, emit: this.#emit, id: (prefix) => `${prefix}_${ending}` };
  }

  /** Suffix of the next item's id. */
  #idEnding(): string {
    return `${idEnding(this.#context)}_${this.#items.length}`;
  }

  #output(): readonly Fields[] {
    return this.#items.map((item) => item.value);
  }

  #response(state: ResponseState): Fields {
    return responseOf(this.#source.request, this.#context, state);
  }
}
