/** Reads Converse's answers: the output of their blocks, whole or in deltas, and their usage. */
import { isObject, objectOf, objectsIn } from '../../core/json.ts';
import { NO_PARTS, type TokenUsage } from '../../core/usage.ts';
import {
  type AnswerFacts,
  countOf,
  isInputAlone,
  NO_OUTPUT,
  type Output,
  together,
  unseenTokensOf,
} from '../answer.ts';
import type { Fields } from '../dialect.ts';

export function readConverse(answer: Fields): AnswerFacts {
  const { output } = answer;
  const message = objectOf(objectOf(output).message);
  const isAnswer = Array.isArray(message.content);
  const finished = typeof answer.stopReason === 'string';
  const written = together(blocksIn(message).map(outputOfBlock));
  return {
    ...usageFacts(answer.usage),
    choices: isAnswer ? 1 : undefined,
    progress: isAnswer ? [{ index: 0, finished, ...written }] : [],
    // Only the headers of an answer contain an id.
    id: undefined,
    serviceTier: tierOf(answer),
  };
}

export function blocksIn({ content }: Fields): readonly Fields[] {
  return objectsIn(content);
}

/** Returns the tier that served a request, from an answer or the event with its usage. */
export function tierOf({ serviceTier: tier }: Fields): unknown {
  return isObject(tier) ? tier.type : undefined;
}

/** Approximate tokens of a citation without its quoted text. */
const TOKENS_PER_CITATION = 18;

/** Returns the output in a block of a whole answer. */
function outputOfBlock({ text, toolUse, reasoningContent, citationsContent, image }: Fields): Output {
  const written: unknown[] = [text];
  let unseenTokens = 0;
  if (isObject(toolUse)) written.push(toolUse.name, inputText(toolUse.input));
  if (isObject(reasoningContent)) {
    const { reasoningText, redactedContent } = reasoningContent;
    const { text, signature } = objectOf(reasoningText);
    written.push(text);
    unseenTokens += unseenTokensOf(redactedContent) + unseenTokensOf(signature, bytesOf(text));
  }
  if (isObject(citationsContent)) {
    written.push(...blocksIn(citationsContent).map((part) => part.text));
    if (Array.isArray(citationsContent.citations)) {
      unseenTokens += citationsContent.citations.length * TOKENS_PER_CITATION;
    }
  }
  return outputOf(written, unseenTokens, isObject(image) ? 1 : 0);
}

/** Reads the blocks of a stream, each a start event and deltas. */
export class BlockReader {
  /** Bytes of visible reasoning in the current block. */
  #thoughtBytes = 0;
  /** Whether the last event contained a piece of an image. An image of several pieces counts once. */
  #isImage = false;

  begin(start: unknown): Output {
    this.#thoughtBytes = 0;
    if (!isObject(start)) return NO_OUTPUT;
    this.#isImage = isObject(start.image);
    return outputOf(isObject(start.toolUse) ? [start.toolUse.name] : [], 0, this.#isImage ? 1 : 0);
  }

  add(delta: unknown): Output {
    if (!isObject(delta)) return NO_OUTPUT;
    const { text, toolUse, reasoningContent: thought, citation, image } = delta;
    const call = isObject(toolUse) ? toolUse.input : undefined;
    const { text: thinking, signature, redactedContent } = objectOf(thought);
    const unseenTokens = unseenTokensOf(redactedContent) + unseenTokensOf(signature, this.#thoughtBytes);
    this.#thoughtBytes += bytesOf(thinking);
    const cited = citation === undefined ? 0 : TOKENS_PER_CITATION;
    const isNewImage = isObject(image) && !this.#isImage;
    this.#isImage = isObject(image);
    return outputOf([text, call, thinking], unseenTokens + cited, isNewImage ? 1 : 0);
  }
}

function outputOf(written: readonly unknown[], unseenTokens: number, images: number): Output {
  const texts = written.filter((text): text is string => typeof text === 'string' && text !== '');
  return { ...NO_OUTPUT, written: texts, unseenTokens, images };
}

function inputText(input: unknown): string | undefined {
  return isObject(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : undefined;
}

function bytesOf(text: unknown): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : 0;
}

export function usageFacts(reported: unknown): Pick<AnswerFacts, 'usage' | 'hasUsage' | 'isInputAlone'> {
  const usage = readUsage(reported);
  return { usage, hasUsage: isObject(reported), isInputAlone: isInputAlone(reported, usage, 'outputTokens') };
}

/**
 * Returns the reported usage if it is valid: whole numbers, not all zero. Converse's input excludes cache reads and writes;
 * ours includes both. A total above their sum counts as output.
 */
export function readUsage(usage: unknown): TokenUsage | undefined {
  if (!isObject(usage) || countOf(usage.inputTokens) === undefined) return undefined;
  const figure = (value: unknown) => countOf(value ?? 0) ?? Number.NaN;
  const cachedTokens = figure(usage.cacheReadInputTokens);
  const written = writtenIn(usage);
  const promptTokens = countOf(figure(usage.inputTokens) + cachedTokens + written.all);
  const total = figure(usage.totalTokens) - (promptTokens ?? 0);
  const completionTokens = countOf(Math.max(figure(usage.outputTokens), total));
  if (promptTokens === undefined || completionTokens === undefined || promptTokens + completionTokens === 0) {
    return undefined;
  }
  const parts = { ...NO_PARTS, cacheWriteTokens: written.all - written.hour, cacheWrite1hTokens: written.hour };
  return { promptTokens, cachedTokens, completionTokens, ...(written.all > 0 && { parts }) };
}

/** Returns the tokens written to the cache, and the share with a lifetime of an hour. */
function writtenIn({ cacheWriteInputTokens, cacheDetails }: Fields): { readonly all: number; readonly hour: number } {
  const details = objectsIn(cacheDetails);
  const sum = (entries: readonly Fields[]) =>
    entries.reduce((all, { inputTokens }) => all + (countOf(inputTokens) ?? 0), 0);
  const all = Math.max(countOf(cacheWriteInputTokens ?? 0) ?? Number.NaN, sum(details));
  return { all, hour: sum(details.filter(({ ttl }) => ttl !== '5m')) };
}
