/** Writes the content of a streamed message: one block after another, although hosts may interleave calls. */
import type { Fields } from '../../dialects/dialect.ts';
import { namedEvent } from '../../wire/sse.ts';
import type { ChatCall } from './chat-output.ts';
import { JsonEnd } from './json-end.ts';

/** A block that is being written, or that waits for the one before it. */
interface Block {
  readonly kind: 'text' | 'thinking' | 'tool_use';
  /** Undefined for anything but a call. */
  readonly call: CallState | undefined;
  isOpen: boolean;
  /** What has arrived and is not written yet. */
  waiting: string;
}

interface CallState {
  readonly index: number;
  id: string;
  name: string;
  readonly end: JsonEnd;
}

export class ContentBlocks {
  /** The first is the one being written. */
  readonly #queue: Block[] = [];
  readonly #newCallId: (position: number) => string;
  /** The indexes of calls whose blocks are closed. */
  readonly #closedCalls = new Set<number>();
  #written = 0;
  #calls = 0;

  /** `newCallId`: makes the id of a call to which the host gives none. */
  constructor(newCallId: (position: number) => string) {
    this.#newCallId = newCallId;
  }

  get hasCalls(): boolean {
    return this.#calls > 0;
  }

  /** Adds text or thinking. Returns the events that can be sent. */
  add(kind: 'text' | 'thinking', text: string): string {
    if (text === '') return '';
    let block = this.#queue.at(-1);
    if (block?.kind !== kind) {
      block = { kind, call: undefined, isOpen: false, waiting: '' };
      this.#queue.push(block);
    }
    block.waiting += text;
    return this.#advance(false);
  }

  /** Adds a call or a piece of one. Returns the events that can be sent. */
  addCall(piece: ChatCall): string {
    const block = this.#blockOf(piece);
    if (block?.call === undefined) return '';
    block.call.id ||= piece.id;
    block.call.name ||= piece.name;
    block.call.end.read(piece.arguments);
    block.waiting += piece.arguments;
    return this.#advance(false);
  }

  /** Closes every block: the model has finished. */
  close(): string {
    return this.#advance(true);
  }

  /** Some hosts give every call the index 0, so a new id with a name is a new call. Undefined for what follows a closed call. */
  #blockOf({ index, id, name }: ChatCall): Block | undefined {
    const block = this.#queue.findLast(({ call }) => call?.index === index);
    const known = block?.call?.id ?? '';
    const isAnother = name !== '' && id !== '' && known !== '' && id !== known;
    if (block !== undefined && !isAnother) return block;
    // White space after the arguments, if anything.
    if (block === undefined && name === '' && this.#closedCalls.has(index)) return undefined;
    const call: CallState = { index, id: '', name: '', end: new JsonEnd() };
    const added: Block = { kind: 'tool_use', call, isOpen: false, waiting: '' };
    this.#queue.push(added);
    this.#calls++;
    return added;
  }

  /** Writes what can be written: all of it, or up to a call that may go on. */
  #advance(isFinal: boolean): string {
    let events = '';
    for (let block = this.#queue[0]; block !== undefined; block = this.#queue[0]) {
      const isFollowed = this.#queue.length > 1;
      const mayClose = isFinal || (isFollowed && (block.call?.end.isReached ?? true));
      const hasName = block.call === undefined || block.call.name !== '';
      if (!hasName && !mayClose) return events;
      events += this.#open(block) + this.#writeWaiting(block);
      if (!mayClose) return events;
      events += this.#close(block);
      this.#queue.shift();
    }
    return events;
  }

  #open(block: Block): string {
    if (block.isOpen) return '';
    block.isOpen = true;
    return event('content_block_start', { index: this.#written, content_block: this.#emptyBlock(block) });
  }

  #emptyBlock({ kind, call }: Block): Fields {
    if (call === undefined)
      return kind === 'text' ? { type: kind, text: '' } : { type: kind, thinking: '', signature: '' };
    const id = call.id === '' ? this.#newCallId(this.#written) : call.id;
    return { type: kind, id, name: call.name, input: {} };
  }

  #writeWaiting(block: Block): string {
    if (block.waiting === '') return '';
    const text = block.waiting;
    block.waiting = '';
    return this.#delta(DELTAS[block.kind](text));
  }

  #close({ kind, call }: Block): string {
    if (call !== undefined) this.#closedCalls.add(call.index);
    // Nothing signs it, but clients expect a signature.
    const signature = kind === 'thinking' ? this.#delta({ type: 'signature_delta', signature: '' }) : '';
    return signature + event('content_block_stop', { index: this.#written++ });
  }

  #delta(delta: Fields): string {
    return event('content_block_delta', { index: this.#written, delta });
  }
}

const DELTAS: Readonly<Record<Block['kind'], (text: string) => Fields>> = {
  text: (text) => ({ type: 'text_delta', text }),
  thinking: (thinking) => ({ type: 'thinking_delta', thinking }),
  tool_use: (json) => ({ type: 'input_json_delta', partial_json: json }),
};

/** A server-sent event of this dialect. */
export function event(type: string, fields: Fields): string {
  return namedEvent(type, JSON.stringify({ type, ...fields }));
}
