/** Writes messages and their stream events. */
import type { ClientError } from '../../core/errors.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { messagesErrorBody } from '../../dialects/messages/messages-errors.ts';
import { namedEvent } from '../../wire/sse.ts';
import {
  type AnswerEnd,
  type AnswerHead,
  type AnswerUsage,
  type GatheredCall,
  objectOf,
  type ResponseContext,
  type StreamWriter,
  TextWriter,
  type WholeWriter,
} from '../answer.ts';
import { signatureOfUnseen } from '../thought-signature.ts';
import { ContentBlocks, event } from './content-blocks.ts';

/** Request settings that affect the answer. */
export interface MessageOptions {
  /** Model name used unless the host reports one. */
  readonly model: string;
  /** `sealed`: signatures without text, which the client sends back. */
  readonly thinking: 'shown' | 'sealed' | 'none';
}

/** A block of an unstreamed message, to which text may be appended. */
type Block = { type: 'text'; text: string } | { type: 'thinking'; thinking: string; signature: string } | OtherBlock;
type OtherBlock =
  | { readonly type: 'call'; readonly call: GatheredCall }
  | { readonly type: 'sealed'; readonly block: Fields };

/** An unstreamed message. Its blocks keep the host's order, which the host verifies in the next turn. */
export class MessageWriter extends TextWriter<MessageOptions> implements WholeWriter {
  readonly #blocks: Block[] = [];

  reasoning(text: string): void {
    if (text !== '' && this.options.thinking === 'shown') this.#unsigned().thinking += text;
  }

  override sealReasoning(block: Fields): void {
    const { thinking } = this.options;
    if (thinking === 'none') return;
    if (isSealed(block)) this.#blocks.push({ type: 'sealed', block });
    else {
      const signature = thinking === 'shown' ? signatureOf(block) : signatureOfUnseen(block);
      if (signature !== '') this.#unsigned().signature = signature;
    }
  }

  text(text: string): void {
    const last = this.#blocks.at(-1);
    if (last?.type === 'text') last.text += text;
    else if (text !== '') this.#blocks.push({ type: 'text', text });
  }

  /** Dropped: the format has no images. Requests to models that return images by default are refused. */
  image(): void {}

  beginCall(key: unknown, id: unknown, hostName: string): void {
    this.#blocks.push({ type: 'call', call: this.gather(key, id, hostName) });
  }

  whole(): Fields {
    let calls = 0;
    const content = this.#blocks.map((block): Fields => {
      if (block.type === 'call') return toolUse(block.call, calls++, this.context);
      return block.type === 'sealed' ? block.block : block;
    });
    return {
      ...headOf(this.head, this.options, this.context),
      content,
      stop_reason: stopReasonOf(this.ending, { hasCalls: calls > 0, hasRefusal: this.hasRefusal }),
      stop_sequence: null,
      usage: usageFields(this.usage),
    };
  }

  /** Returns the unsigned thinking block in progress, or a new one. A signature ends a block. */
  #unsigned(): { thinking: string; signature: string } {
    const last = this.#blocks.at(-1);
    if (last?.type === 'thinking' && last.signature === '') return last;
    const block = { type: 'thinking' as const, thinking: '', signature: '' };
    this.#blocks.push(block);
    return block;
  }
}

/** Whether only its host can decrypt it. */
function isSealed({ type }: Fields): boolean {
  return type === 'redacted_thinking';
}

function toolUse({ id, hostName: name, json }: GatheredCall, position: number, context: ResponseContext): Fields {
  const hasId = typeof id === 'string' && id !== '';
  return { type: 'tool_use', id: hasId ? id : callId(position, context), name, input: objectOf(json) };
}

function signatureOf({ signature }: Fields): string {
  return typeof signature === 'string' ? signature : '';
}

export class EventWriter extends TextWriter<MessageOptions> implements StreamWriter {
  readonly #blocks = new ContentBlocks((position) => callId(position, this.context));
  #events = '';
  #hasBegun = false;

  override begin(head: AnswerHead): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const message = {
      ...headOf(head, this.options, this.context),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: usageFields(this.usage),
    };
    this.#events += event('message_start', { message });
  }

  reasoning(text: string): void {
    if (this.options.thinking === 'shown') this.#events += this.#blocks.add('thinking', text);
  }

  override sealReasoning(block: Fields): void {
    const { thinking } = this.options;
    if (thinking === 'none') return;
    this.#events += isSealed(block)
      ? this.#blocks.addSealed(String(block.data))
      : this.#blocks.sign(thinking === 'shown' ? signatureOf(block) : signatureOfUnseen(block));
  }

  text(text: string): void {
    this.#events += this.#blocks.add('text', text);
  }

  /** Dropped: the format has no images. Requests to models that return images by default are refused. */
  image(): void {}

  beginCall(key: unknown, id: unknown, hostName: string): void {
    this.#events += this.#blocks.addCall(key, typeof id === 'string' ? id : '', hostName);
  }

  override callArguments(key: unknown, json: string): void {
    this.#events += this.#blocks.addArguments(key, json);
  }

  override endArguments(key: unknown): void {
    this.#events += this.#blocks.endArguments(key);
  }

  override finish(end: AnswerEnd): void {
    super.finish(end);
    this.#events += this.#blocks.close();
  }

  take(): string {
    const events = this.#events;
    this.#events = '';
    return events;
  }

  /**
   * Writes the rest of the message with the usage, which may follow the model's end. A missing finish reason means a complete
   * answer.
   */
  completion(): string {
    this.begin({});
    const reasons = { hasCalls: this.#blocks.hasCalls, hasRefusal: this.hasRefusal };
    const delta = { stop_reason: stopReasonOf(this.ending, reasons), stop_sequence: null };
    const end = event('message_delta', { delta, usage: usageFields(this.usage) }) + event('message_stop', {});
    return this.take() + this.#blocks.close() + end;
  }

  failure(error: ClientError): string {
    return namedEvent('error', messagesErrorBody(error, this.context.requestId));
  }
}

/** Returns the head of a message in this dialect's field order. The id is our own, because some hosts repeat or omit ids. */
function headOf(head: AnswerHead, { model }: MessageOptions, context: ResponseContext): Fields {
  return {
    id: `msg_${ownId(context)}`,
    type: 'message',
    role: 'assistant',
    model: typeof head.model === 'string' && head.model !== '' ? head.model : model,
  };
}

/** Returns an id for a call without one. */
function callId(position: number, context: ResponseContext): string {
  return `toolu_${ownId(context)}_${position}`;
}

/** Returns the unique part of the request id. */
function ownId({ requestId }: ResponseContext): string {
  return requestId.replace(/^req_/, '');
}

/**
 * Returns `tool_use` if the message has calls, even if the host reports a complete answer: clients run calls only with
 * `tool_use`.
 */
function stopReasonOf(
  end: AnswerEnd | undefined,
  { hasCalls, hasRefusal }: { hasCalls: boolean; hasRefusal: boolean },
) {
  if (end === 'length') return 'max_tokens';
  if (end === 'filtered' || hasRefusal) return 'refusal';
  return hasCalls ? 'tool_use' : 'end_turn';
}

/** Usage before the host's report, or without one. */
const NO_USAGE = { input: 0, cached: 0, cacheWritten: 0, output: 0, reasoning: undefined };

/** Usage in this dialect: `input_tokens` excludes cache reads and writes. */
function usageFields(usage: AnswerUsage | undefined): Fields {
  const { input, cached, cacheWritten, output, reasoning } = usage ?? NO_USAGE;
  return {
    input_tokens: input - cached - cacheWritten,
    cache_creation_input_tokens: cacheWritten,
    cache_read_input_tokens: cached,
    output_tokens: output,
    ...(reasoning !== undefined && { output_tokens_details: { thinking_tokens: reasoning } }),
  };
}
