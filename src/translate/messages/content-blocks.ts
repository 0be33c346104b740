/** Writes streamed content one block after another, even if the host interleaves calls. */
import type { Fields } from '../../dialects/dialect.ts';
import { namedEvent } from '../../wire/sse.ts';

/** A block in progress, or waiting for the previous block. */
interface Block {
  readonly kind: 'text' | 'thinking' | 'redacted_thinking' | 'tool_use';
  /** Set for calls. */
  readonly call: CallState | undefined;
  isOpen: boolean;
  /** Signature of thinking, or empty. For redacted thinking, the complete data. */
  signature: string;
  /** Received but unwritten content. */
  unwritten: string;
}

interface CallState {
  readonly id: string;
  readonly name: string;
  isComplete: boolean;
}

export class ContentBlocks {
  /** Blocks in order; the first is being written. */
  readonly #queue: Block[] = [];
  /** Blocks of calls, by call key. */
  readonly #calls = new Map<unknown, Block>();
  readonly #newCallId: (position: number) => string;
  /** Number of closed blocks. */
  #closed = 0;

  /** `newCallId`: creates an id for a call without one. */
  constructor(newCallId: (position: number) => string) {
    this.#newCallId = newCallId;
  }

  get hasCalls(): boolean {
    return this.#calls.size > 0;
  }

  /** Adds text or thinking. Like the other methods, returns the events that can be sent. */
  add(kind: 'text' | 'thinking', text: string): string {
    if (text === '') return '';
    const last = this.#queue.at(-1);
    const block = last?.kind === kind && last.signature === '' ? last : this.#append(kind, undefined);
    block.unwritten += text;
    return this.#advance(false);
  }

  /** Signs the current thinking, or a block without text. A signature ends the block. */
  sign(signature: string): string {
    const last = this.#queue.at(-1);
    const isUnsigned = last?.kind === 'thinking' && last.signature === '';
    const block = isUnsigned ? last : this.#append('thinking', undefined);
    block.signature = signature;
    return this.#advance(false);
  }

  /** Adds thinking that only its host can decrypt. */
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
    // If the block is closed, this is white space after the arguments, and is never written.
    if (block !== undefined) block.unwritten += json;
    return this.#advance(false);
  }

  endArguments(key: unknown): string {
    const call = this.#calls.get(key)?.call;
    if (call !== undefined) call.isComplete = true;
    return this.#advance(false);
  }

  /** Closes all blocks at the end of the answer. */
  close(): string {
    return this.#advance(true);
  }

  #append(kind: Block['kind'], call: CallState | undefined, signature = ''): Block {
    const block: Block = { kind, call, isOpen: false, signature, unwritten: '' };
    this.#queue.push(block);
    return block;
  }

  /** Writes all content if final, else up to the first incomplete call. */
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
    // Clients expect a signature event even for unsigned thinking.
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

/** Writes a server-sent event of this dialect. */
export function event(type: string, fields: Fields): string {
  return namedEvent(type, JSON.stringify({ type, ...fields }));
}
