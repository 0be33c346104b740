/** Reads Converse answers and their stream events. */
import { isObject, objectOf } from '../../core/json.ts';
import { blocksIn, readUsage, tierOf } from '../../dialects/converse/converse-answer.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { type AnswerEnd, type AnswerWriter, type HostReader, textOf, usageOf } from '../answer.ts';

/** A block in progress. Text needs no state. */
type OpenBlock =
  | { readonly kind: 'call'; isEmpty: boolean }
  /** Sent back by clients as a whole, with its signature. */
  | { readonly kind: 'reasoning'; text: string; signature: string; redacted: string };

export class ConverseAnswerReader implements HostReader {
  readonly #writer: AnswerWriter;
  /** Blocks by the host's index. */
  readonly #open = new Map<unknown, OpenBlock>();

  constructor(writer: AnswerWriter) {
    this.#writer = writer;
  }

  readWhole(answer: Fields): void {
    this.#readReport(answer);
    this.#writer.begin({});
    const { message } = objectOf(answer.output);
    for (const block of blocksIn(objectOf(message))) this.#readBlock(block);
    this.#finish(answer.stopReason);
  }

  readEvent({
    messageStart,
    contentBlockStart,
    contentBlockDelta,
    contentBlockStop,
    messageStop,
    metadata,
  }: Fields): void {
    if (isObject(messageStart)) this.#writer.begin({});
    else if (isObject(contentBlockStart))
      this.#startBlock(contentBlockStart.contentBlockIndex, contentBlockStart.start);
    else if (isObject(contentBlockDelta)) this.#readDelta(contentBlockDelta.contentBlockIndex, contentBlockDelta.delta);
    else if (isObject(contentBlockStop)) this.#stopBlock(contentBlockStop.contentBlockIndex);
    else if (isObject(messageStop)) this.#finish(messageStop.stopReason);
    else if (isObject(metadata)) this.#readReport(metadata);
  }

  end(): void {
    for (const index of [...this.#open.keys()]) this.#stopBlock(index);
  }

  /** Reads a block of an unstreamed answer. */
  #readBlock({ text, toolUse, reasoningContent: thought, citationsContent: cited }: Fields): void {
    // A complete block needs a unique key.
    const key = Symbol();
    if (typeof text === 'string') this.#writer.text(text);
    else if (isObject(cited)) for (const part of blocksIn(cited)) this.#writer.text(textOf(part.text));
    else if (isObject(toolUse)) {
      this.#startBlock(key, { toolUse });
      this.#readDelta(key, { toolUse: { input: JSON.stringify(toolUse.input ?? {}) } });
    } else if (isObject(thought)) {
      const { reasoningText, redactedContent } = thought;
      this.#readDelta(key, { reasoningContent: { ...(isObject(reasoningText) && reasoningText), redactedContent } });
    }
    this.#stopBlock(key);
  }

  /** Starts a block. Only calls have a start event with content. */
  #startBlock(index: unknown, start: unknown): void {
    this.#stopBlock(index);
    this.#writer.completeCalls();
    if (!isObject(start) || !isObject(start.toolUse)) return;
    this.#writer.beginCall(index, start.toolUse.toolUseId, textOf(start.toolUse.name));
    this.#open.set(index, { kind: 'call', isEmpty: true });
  }

  #readDelta(index: unknown, delta: unknown): void {
    if (!isObject(delta)) return;
    const { text, toolUse, reasoningContent: thought } = delta;
    if (typeof text === 'string') this.#writer.text(text);
    else if (isObject(thought)) this.#readThought(index, thought);
    else if (isObject(toolUse)) {
      const open = this.#open.get(index);
      const json = textOf(toolUse.input);
      if (open?.kind !== 'call' || json === '') return;
      open.isEmpty = false;
      this.#writer.callArguments(index, json);
    }
  }

  #readThought(index: unknown, { text, signature, redactedContent }: Fields): void {
    const known = this.#open.get(index);
    const open = known?.kind === 'reasoning' ? known : this.#startReasoning(index);
    open.text += textOf(text);
    open.signature += textOf(signature);
    open.redacted += textOf(redactedContent);
    this.#writer.reasoning(textOf(text));
  }

  #startReasoning(index: unknown) {
    this.#stopBlock(index);
    const open = { kind: 'reasoning' as const, text: '', signature: '', redacted: '' };
    this.#writer.beginReasoning();
    this.#open.set(index, open);
    return open;
  }

  #stopBlock(index: unknown): void {
    const open = this.#open.get(index);
    this.#open.delete(index);
    if (open?.kind === 'call') {
      if (open.isEmpty) this.#writer.callArguments(index, '{}');
      this.#writer.endArguments(index);
    } else if (open?.kind === 'reasoning') {
      const { text: thinking, signature, redacted: data } = open;
      // The host accepts reasoning back only with a signature.
      if (signature !== '') this.#writer.sealReasoning({ type: 'thinking', thinking, signature });
      else if (data !== '') this.#writer.sealReasoning({ type: 'redacted_thinking', data });
    }
  }

  #finish(reason: unknown): void {
    if (typeof reason !== 'string') return;
    this.end();
    this.#writer.finish(ENDS.get(reason) ?? 'complete');
  }

  /** `report`: an answer, or the last event of a stream. */
  #readReport(report: Fields): void {
    this.#writer.usage = usageOf(readUsage(report.usage), undefined) ?? this.#writer.usage;
    this.#writer.serviceTier = TIERS.get(tierOf(report)) ?? this.#writer.serviceTier;
  }
}

const ENDS: ReadonlyMap<string, AnswerEnd> = new Map<string, AnswerEnd>([
  ['tool_use', 'calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['content_filtered', 'filtered'],
  ['guardrail_intervened', 'filtered'],
]);

const TIERS: ReadonlyMap<unknown, string> = new Map(['default', 'flex', 'priority'].map((tier) => [tier, tier]));
