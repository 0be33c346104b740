/** Writes chat completions and their stream chunks. */
import { type ClientError, errorBody } from '../../core/errors.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { DONE_EVENT, dataEvent } from '../../wire/sse.ts';
import {
  type AnswerEnd,
  type AnswerHead,
  type AnswerUsage,
  type GatheredCall,
  type ResponseContext,
  type StreamWriter,
  TerseWriter,
  type WholeWriter,
} from '../answer.ts';
import { CustomInputReader } from '../custom-input.ts';
import { openAiDetails } from '../modalities.ts';
import type { ToolNames } from '../tool-names.ts';

/** Request settings that affect the answer. */
export interface CompletionOptions {
  /** The requested model, used unless the host reports one. */
  readonly model: string;
  readonly includeUsage: boolean;
  readonly names: ToolNames;
  /** Whether the request uses `functions`: the answer has at most one call, in the deprecated `function_call`. */
  readonly isFunctionCall: boolean;
}

export class CompletionWriter extends TerseWriter<CompletionOptions> implements WholeWriter {
  #text = '';
  #reasoning = '';
  #refusal = '';
  readonly #seals: Fields[] = [];
  readonly #calls: GatheredCall[] = [];
  readonly #images: Fields[] = [];

  reasoning(text: string): void {
    this.#reasoning += text;
  }

  override sealReasoning(block: Fields): void {
    this.#seals.push(block);
  }

  text(text: string): void {
    this.#text += text;
  }

  refusal(text: string): void {
    this.#refusal += text;
  }

  image(url: string): void {
    this.#images.push(imageFields(url, this.#images.length));
  }

  beginCall(key: unknown, id: unknown, hostName: string): void {
    this.#calls.push(this.gather(key, id, hostName));
  }

  whole(): Fields {
    const finish_reason = finishReasonOf(this.ending ?? 'complete', this.options);
    return {
      ...headOf(this.head, 'chat.completion', this.options, this.context),
      choices: [{ index: 0, message: this.#message(), logprobs: null, finish_reason }],
      ...(this.serviceTier !== undefined && { service_tier: this.serviceTier }),
      ...(this.usage !== undefined && { usage: usageFields(this.usage) }),
    };
  }

  #message(): Fields {
    const hasOtherContent = this.#calls.length > 0 || this.#refusal !== '';
    return {
      role: 'assistant',
      content: this.#text === '' && hasOtherContent ? null : this.#text,
      refusal: this.#refusal === '' ? null : this.#refusal,
      ...(this.#reasoning !== '' && { reasoning_content: this.#reasoning }),
      ...(this.#seals.length > 0 && { thinking_blocks: this.#seals }),
      ...(this.#images.length > 0 && { images: this.#images }),
      ...callFields(this.#calls, this.options),
    };
  }
}

/** Returns the message fields for calls. */
function callFields(calls: readonly GatheredCall[], { names, isFunctionCall }: CompletionOptions): Fields {
  const [first] = calls;
  if (first === undefined) return {};
  const functionOf = ({ hostName: name, json }: GatheredCall) => ({ name, arguments: json });
  if (isFunctionCall) return { function_call: functionOf(first) };
  return {
    tool_calls: calls.map((call) => {
      const { id, hostName, json } = call;
      const { kind, name } = names.identity(hostName);
      if (kind === 'function') return { id, type: 'function', function: functionOf(call) };
      const reader = new CustomInputReader();
      return { id, type: 'custom', custom: { name, input: reader.push(json) + reader.end() } };
    }),
  };
}

/** A call in progress. */
interface OpenCall {
  /** Creates the delta for further arguments or text. */
  readonly toDelta: (text: string) => Fields;
  /** Set for custom tools. */
  readonly reader: CustomInputReader | undefined;
}

export class ChunkWriter extends TerseWriter<CompletionOptions> implements StreamWriter {
  /** Fields of every chunk; undefined before the start. */
  #head: Fields | undefined;
  #isFinished = false;
  readonly #open = new Map<unknown, OpenCall>();
  #calls = 0;
  #seals = 0;
  #images = 0;
  #refusal = '';
  #chunks = '';

  override begin(head: AnswerHead): void {
    if (this.#head !== undefined) return;
    this.#head = {
      ...headOf(head, 'chat.completion.chunk', this.options, this.context),
      ...(this.serviceTier !== undefined && { service_tier: this.serviceTier }),
    };
    this.#write({ role: 'assistant', content: '' });
  }

  reasoning(text: string): void {
    if (text !== '') this.#write({ reasoning_content: text });
  }

  /** Writes a sealed block. Client libraries merge list entries by index. */
  override sealReasoning(block: Fields): void {
    this.#write({ thinking_blocks: [{ index: this.#seals++, ...block }] });
  }

  text(text: string): void {
    if (text !== '') this.#write({ content: text });
  }

  image(url: string): void {
    this.#write({ images: [imageFields(url, this.#images++)] });
  }

  /** Collects the refusal, which is written at the end. */
  refusal(text: string): void {
    this.#refusal += text;
  }

  beginCall(key: unknown, id: unknown, hostName: string): void {
    this.endArguments(key);
    const { names, isFunctionCall } = this.options;
    // The deprecated form supports one call.
    if (isFunctionCall && this.#calls > 0) return;
    const index = this.#calls++;
    if (isFunctionCall) {
      this.#open.set(key, { reader: undefined, toDelta: (text) => ({ function_call: { arguments: text } }) });
      return this.#write({ function_call: { name: hostName, arguments: '' } });
    }
    const { kind, name } = names.identity(hostName);
    const inCall = (fields: Fields) => ({ tool_calls: [{ index, ...fields }] });
    if (kind === 'custom') {
      this.#open.set(key, { reader: new CustomInputReader(), toDelta: (input) => inCall({ custom: { input } }) });
      return this.#write(inCall({ id, type: kind, custom: { name, input: '' } }));
    }
    this.#open.set(key, { reader: undefined, toDelta: (text) => inCall({ function: { arguments: text } }) });
    this.#write(inCall({ id, type: kind, function: { name: hostName, arguments: '' } }));
  }

  override callArguments(key: unknown, json: string): void {
    const call = this.#open.get(key);
    if (call !== undefined) this.#add(call, call.reader === undefined ? json : call.reader.push(json));
  }

  override endArguments(key: unknown): void {
    const call = this.#open.get(key);
    this.#open.delete(key);
    if (call?.reader !== undefined) this.#add(call, call.reader.end());
  }

  override finish(end: AnswerEnd): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    for (const key of [...this.#open.keys()]) this.endArguments(key);
    this.#write(this.#refusal === '' ? {} : { refusal: this.#refusal }, finishReasonOf(end, this.options));
  }

  take(): string {
    const chunks = this.#chunks;
    this.#chunks = '';
    return chunks;
  }

  completion(): string {
    // Some hosts send no finish reason. Client libraries treat a stream without one as broken.
    this.finish(this.#calls > 0 ? 'calls' : 'complete');
    const usage = this.options.includeUsage ? this.usage : undefined;
    if (usage !== undefined) this.#chunk({ choices: [], usage: usageFields(usage) });
    return this.take() + DONE_EVENT;
  }

  failure(error: ClientError): string {
    return dataEvent(errorBody(error)) + DONE_EVENT;
  }

  #add({ toDelta }: OpenCall, text: string): void {
    if (text !== '') this.#write(toDelta(text));
  }

  /** Writes a delta, preceded by the start if the host has omitted it. */
  #write(delta: Fields, finishReason: string | null = null): void {
    this.begin({});
    const choices = [{ index: 0, delta, finish_reason: finishReason }];
    this.#chunk({ choices, ...(this.options.includeUsage && { usage: null }) });
  }

  #chunk(fields: Fields): void {
    this.#chunks += dataEvent(JSON.stringify({ ...this.#head, ...fields }));
  }
}

function headOf(head: AnswerHead, object: string, options: CompletionOptions, context: ResponseContext): Fields {
  return {
    id: typeof head.id === 'string' ? head.id : context.requestId,
    object,
    created: context.nowS,
    model: typeof head.model === 'string' ? head.model : options.model,
  };
}

function finishReasonOf(end: AnswerEnd, { isFunctionCall }: CompletionOptions): string {
  switch (end) {
    case 'calls':
      return isFunctionCall ? 'function_call' : 'tool_calls';
    case 'length':
      return 'length';
    case 'filtered':
      return 'content_filter';
    case 'complete':
      return 'stop';
  }
}

/** An image in OpenRouter's format. OpenAI's chat models return no images. */
function imageFields(url: string, index: number): Fields {
  return { type: 'image_url', image_url: { url }, index };
}

function usageFields(usage: AnswerUsage): Fields {
  const { input, cached, cacheWritten, output, reasoning, inputMedia, outputMedia } = usage;
  const written = {
    ...(reasoning !== undefined && { reasoning_tokens: reasoning }),
    ...openAiDetails(outputMedia),
  };
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: {
      cached_tokens: cached,
      cache_write_tokens: cacheWritten,
      ...openAiDetails(inputMedia),
    },
    ...(Object.keys(written).length > 0 && { completion_tokens_details: written }),
  };
}
