/** Output items of a response and their stream events. */
import type { Fields } from '../../dialects/dialect.ts';
import { CustomInputReader } from '../custom-input.ts';
import type { ToolIdentity } from '../tool-names.ts';

export type Emit = (type: string, fields: Fields) => void;

/** Writes the numbered events of a responses stream. */
export class EventLog {
  #nextNumber = 0;
  #text = '';

  readonly emit: Emit = (type, fields) => {
    const data = JSON.stringify({ type, sequence_number: this.#nextNumber++, ...fields });
    this.#text += `event: ${type}\ndata: ${data}\n\n`;
  };

  /** Returns the events since the last call. */
  take(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }
}

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** Position of an item in the output. */
export interface ItemPlace {
  readonly index: number;
  readonly emit: Emit;
  /** Creates a unique id. */
  id(prefix: string): string;
}

/** An item, in progress or complete. */
export interface OutputItem {
  readonly value: Fields;
  end(status: ItemStatus): void;
}

abstract class Item implements OutputItem {
  protected readonly id: string;
  readonly #place: ItemPlace;
  protected status: ItemStatus = 'in_progress';

  constructor(place: ItemPlace, prefix: string) {
    this.#place = place;
    this.id = place.id(prefix);
  }

  abstract get value(): Fields;

  abstract end(status: ItemStatus): void;

  protected begin(): void {
    this.#place.emit('response.output_item.added', { output_index: this.#place.index, item: this.value });
  }

  protected finish(): void {
    this.#place.emit('response.output_item.done', { output_index: this.#place.index, item: this.value });
  }

  /** Writes an event of the item. */
  protected emit(type: string, fields: Fields): void {
    this.#place.emit(type, { item_id: this.id, output_index: this.#place.index, ...fields });
  }
}

/** Reasoning, written as a summary: most clients display only summaries. */
export class ReasoningItem extends Item {
  #text = '';
  #hasText = false;
  #encrypted: string | undefined;

  constructor(place: ItemPlace) {
    super(place, 'rs');
    this.begin();
  }

  get value(): Fields {
    const summary = this.#hasText ? [this.#part] : [];
    return {
      id: this.id,
      type: 'reasoning',
      status: this.status,
      summary,
      ...(this.#encrypted !== undefined && { encrypted_content: this.#encrypted }),
    };
  }

  get #part(): Fields {
    return { type: 'summary_text', text: this.#text };
  }

  write(text: string): void {
    if (!this.#hasText) {
      this.emit('response.reasoning_summary_part.added', { summary_index: 0, part: this.#part });
      this.#hasText = true;
    }
    this.#text += text;
    this.emit('response.reasoning_summary_text.delta', { summary_index: 0, delta: text });
  }

  /** Sets the content that the client sends back unread. */
  encrypt(content: string): void {
    this.#encrypted = content;
  }

  end(status: ItemStatus): void {
    this.status = status;
    if (this.#hasText) {
      this.emit('response.reasoning_summary_text.done', { summary_index: 0, text: this.#text });
      this.emit('response.reasoning_summary_part.done', { summary_index: 0, part: this.#part });
    }
    this.finish();
  }
}

/** An image, which arrives in one piece. */
export class ImageItem extends Item {
  #result: string | null = null;

  /** `data`: in base64. */
  constructor(place: ItemPlace, data: string) {
    super(place, 'ig');
    this.begin();
    this.#result = data;
    this.end('completed');
  }

  get value(): Fields {
    return { id: this.id, type: 'image_generation_call', status: this.status, result: this.#result };
  }

  end(status: ItemStatus): void {
    this.status = status;
    this.finish();
  }
}

/** A part of a message. */
interface WrittenPart {
  readonly kind: 'text' | 'refusal';
  text: string;
  readonly annotations: Fields[];
  readonly logprobs: unknown[];
}

export class MessageItem extends Item {
  readonly #parts: WrittenPart[] = [];

  constructor(place: ItemPlace) {
    super(place, 'msg');
    this.begin();
  }

  get value(): Fields {
    const content = this.#parts.map(partValue);
    return { id: this.id, type: 'message', status: this.status, role: 'assistant', content };
  }

  write(kind: WrittenPart['kind'], text: string, logprobs: readonly unknown[]): void {
    const part = this.#part(kind);
    part.text += text;
    for (const each of logprobs) part.logprobs.push(each);
    const delta = { content_index: this.#index, delta: text };
    if (kind === 'text') this.emit('response.output_text.delta', { ...delta, logprobs });
    else this.emit('response.refusal.delta', delta);
  }

  annotate(annotation: Fields): void {
    const part = this.#part('text');
    const fields = { content_index: this.#index, annotation_index: part.annotations.length, annotation };
    part.annotations.push(annotation);
    this.emit('response.output_text.annotation.added', fields);
  }

  end(status: ItemStatus): void {
    this.status = status;
    this.#endPart();
    this.finish();
  }

  get #index(): number {
    return this.#parts.length - 1;
  }

  #part(kind: WrittenPart['kind']): WrittenPart {
    const last = this.#parts.at(-1);
    if (last?.kind === kind) return last;
    this.#endPart();
    const part: WrittenPart = { kind, text: '', annotations: [], logprobs: [] };
    this.#parts.push(part);
    this.emit('response.content_part.added', { content_index: this.#index, part: partValue(part) });
    return part;
  }

  #endPart(): void {
    const part = this.#parts.at(-1);
    if (part === undefined) return;
    const { kind, text, logprobs } = part;
    const content_index = this.#index;
    if (kind === 'text') this.emit('response.output_text.done', { content_index, text, logprobs });
    else this.emit('response.refusal.done', { content_index, refusal: text });
    this.emit('response.content_part.done', { content_index, part: partValue(part) });
  }
}

function partValue({ kind, text, annotations, logprobs }: WrittenPart): Fields {
  if (kind === 'refusal') return { type: 'refusal', refusal: text };
  return { type: 'output_text', text, annotations: [...annotations], logprobs: [...logprobs] };
}

/** Id and tool of a call. */
export interface CallHead {
  readonly callId: string;
  readonly tool: ToolIdentity;
}

/** A call in progress. */
export interface CallItem extends OutputItem {
  /** Adds a piece of the JSON arguments. */
  write(json: string): void;
}

export function callItem(place: ItemPlace, head: CallHead): CallItem {
  return head.tool.kind === 'custom' ? new CustomCallItem(place, head) : new FunctionCallItem(place, head);
}

class FunctionCallItem extends Item implements CallItem {
  readonly #head: CallHead;
  #arguments = '';

  constructor(place: ItemPlace, head: CallHead) {
    super(place, 'fc');
    this.#head = head;
    this.begin();
  }

  get value(): Fields {
    const named = headFields(this.#head);
    return { id: this.id, type: 'function_call', status: this.status, ...named, arguments: this.#arguments };
  }

  write(json: string): void {
    if (json === '') return;
    this.#arguments += json;
    this.emit('response.function_call_arguments.delta', { delta: json });
  }

  /** Ends the call. Clients run completed calls, so an incomplete one gets no "done" event. */
  end(status: ItemStatus): void {
    this.status = status;
    if (status !== 'completed') return;
    // Some hosts send empty arguments.
    if (this.#arguments === '') this.write('{}');
    this.emit('response.function_call_arguments.done', { name: this.#head.tool.name, arguments: this.#arguments });
    this.finish();
  }
}

class CustomCallItem extends Item implements CallItem {
  readonly #head: CallHead;
  readonly #reader = new CustomInputReader();
  #input = '';

  constructor(place: ItemPlace, head: CallHead) {
    super(place, 'ctc');
    this.#head = head;
    this.begin();
  }

  get value(): Fields {
    const named = headFields(this.#head);
    return { id: this.id, type: 'custom_tool_call', status: this.status, ...named, input: this.#input };
  }

  write(json: string): void {
    this.#add(this.#reader.push(json));
  }

  end(status: ItemStatus): void {
    this.status = status;
    this.#add(this.#reader.end());
    if (status !== 'completed') return;
    this.emit('response.custom_tool_call_input.done', { input: this.#input });
    this.finish();
  }

  #add(text: string): void {
    if (text === '') return;
    this.#input += text;
    this.emit('response.custom_tool_call_input.delta', { delta: text });
  }
}

function headFields({ callId, tool }: CallHead): Fields {
  const { name, namespace } = tool;
  return { call_id: callId, name, ...(namespace !== undefined && { namespace }) };
}
