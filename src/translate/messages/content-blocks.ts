/** Writes the content of a streamed message: one block after another, although hosts may interleave calls. */
import type { Fields } from '../../dialects/dialect.ts';
import { namedEvent } from '../../wire/sse.ts';

/** A block that is being written, or that waits for the one before it. */
interface Block {
  readonly kind: 'text' | 'thinking' | 'redacted_thinking' | 'tool_use';
  /** Undefined for anything but a call. */
  readonly call: CallState | undefined;
  isOpen: boolean;
  /** Of thinking; empty if nothing signs it. Of sealed thinking, all there is. */
  signature: string;
  /** What has arrived and is not written yet. */
  unwritten: string;
}

interface CallState {
  readonly id: string;
  readonly name: string;
  isComplete: boolean;
}

export class ContentBlocks {
  /** The first is the one being written. */
  readonly #queue: Block[] = [];
  /** By the keys of the calls. */
  readonly #calls = new Map<unknown, Block>();
  readonly #newCallId: (position: number) => string;
  /** How many blocks are closed. */
  #closed = 0;

  /** `newCallId`: makes the id of a call to which the host gives none. */
  constructor(newCallId: (position: number) => string) {
    this.#newCallId = newCallId;
  }

  get hasCalls(): boolean {
    return this.#calls.size > 0;
  }

  /** Adds text or thinking. Returns the events that can be sent, as all of these do. */
  add(kind: 'text' | 'thinking', text: string): string {
    if (text === '') return '';
    const last = this.#queue.at(-1);
    const block = last?.kind === kind && last.signature === '' ? last : this.#append(kind, undefined);
    block.unwritten += text;
    return this.#advance(false);
  }

  /** Signs the thinking that is being written, or a block without a text. What is signed is over. */
  sign(signature: string): string {
    const last = this.#queue.at(-1);
    const isUnsigned = last?.kind === 'thinking' && last.signature === '';
    const block = isUnsigned ? last : this.#append('thinking', undefined);
    block.signature = signature;
    return this.#advance(false);
  }

  /** Adds thinking that nobody but its host can read. */
  addSealed(data: string): string {
    this.#append('redacted_thinking', undefined, data);
    return this.#advance(false);
  }

  addCall(key: unknown, id: string, name: string): string {
    this.#calls.set(key, this.#append('tool_use', { id, name, isComplete: false }));
    return this.#advance(false);
  }

  addArguments(key: unknown, json: string): string {
    const block = this.#calls.get(key);
    // Never written if the block is closed: white space after the arguments, if anything.
    if (block !== undefined) block.unwritten += json;
    return this.#advance(false);
  }

  endArguments(key: unknown): string {
    const call = this.#calls.get(key)?.call;
    if (call !== undefined) call.isComplete = true;
    return this.#advance(false);
  }

  /** Closes every block: the model has finished. */
  close(): string {
    return this.#advance(true);
  }

  #append(kind: Block['kind'], call: CallState | undefined, signature = ''): Block {
    const block: Block = { kind, call, isOpen: false, signature, unwritten: '' };
    this.#queue.push(block);
    return block;
  }

  /** Writes what can be written: all of it, or up to a call that may go on. */
  #advance(isFinal: boolean): string {
    let events = '';
    let closed = 0;
    for (const [position, block] of this.#queue.entries()) {
      const isFollowed = position + 1 < this.#queue.length;
      const mayClose = isFinal || (isFollowed && (block.call?.isComplete ?? true));
      events += this.#open(block) + this.#write(block);
      if (!mayClose) break;
      events += this.#close(block);
      closed++;
    }
    this.#queue.splice(0, closed);
    return events;
  }

  #open(block: Block): string {
    if (block.isOpen) return '';
    block.isOpen = true;
    return event('content_block_start', { index: this.#closed, content_block: this.#emptyBlock(block) });
  }

  #emptyBlock({ kind, call, signature }: Block): Fields {
    switch (kind) {
      case 'text':
        return { type: kind, text: '' };
      case 'thinking':
        return { type: kind, thinking: '', signature: '' };
      case 'redacted_thinking':
        return { type: kind, data: signature };
      case 'tool_use':
        return { type: kind, id: call?.id || this.#newCallId(this.#closed), name: call?.name, input: {} };
    }
  }

  #write(block: Block): string {
    const { kind, unwritten: text } = block;
    if (text === '' || kind === 'redacted_thinking') return '';
    block.unwritten = '';
    return this.#delta(DELTAS[kind](text));
  }

  #close(block: Block): string {
    // Clients expect a signature, also where nothing signs it.
    const { kind, signature } = block;
    const signed = kind === 'thinking' ? this.#delta({ type: 'signature_delta', signature }) : '';
    return signed + event('content_block_stop', { index: this.#closed++ });
  }

  #delta(delta: Fields): string {
    return event('content_block_delta', { index: this.#closed, delta });
  }
}

const DELTAS: Readonly<Record<Exclude<Block['kind'], 'redacted_thinking'>, (text: string) => Fields>> = {
  text: (text) => ({ type: 'text_delta', text }),
  thinking: (thinking) => ({ type: 'thinking_delta', thinking }),
  tool_use: (json) => ({ type: 'input_json_delta', partial_json: json }),
};

/** A server-sent event of this dialect. */
export function event(type: string, fields: Fields): string {
  return namedEvent(type, JSON.stringify({ type, ...fields }));
}
