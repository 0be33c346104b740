/** What answers with images say, whole and streamed: how many there are, how they were made, and their tokens. */
import type { ToolCall } from '../../core/host-tools.ts';
import { isObject, objectOf } from '../../core/json.ts';
import { type Unit, unitName } from '../../core/units.ts';
import { NO_PARTS, type TokenUsage } from '../../core/usage.ts';
import { type AnswerFacts, type ChoiceProgress, countOf, mediaTokens, NO_FACTS, NO_OUTPUT } from '../answer.ts';
import type { Fields, ModelRequest, StreamReader } from '../dialect.ts';
import { typedStream } from '../typed-stream.ts';

const IMAGE: Unit = 'image';

/** By OpenAI's guide on images (2026-11): what each adds to the output. */
export const TOKENS_PER_PARTIAL_IMAGE = 100;

export function readImages(answer: Fields): AnswerFacts {
  const images = Array.isArray(answer.data) ? answer.data.length : undefined;
  return {
    ...NO_FACTS,
    // A report of images alone: of tokens there may be none.
    usage: images === undefined ? undefined : (usageOf(answer.usage) ?? NO_TOKENS),
    hasUsage: isObject(answer.usage),
    choices: images,
    toolCalls: Array.from({ length: images ?? 0 }, (_, index) => imageOf(answer, index)),
    isWithoutOutput: true,
  };
}

const NO_TOKENS: TokenUsage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0, parts: NO_PARTS };

/** An image that was made, with what the host says of its price. */
function imageOf(said: Fields, index: number): ToolCall {
  const fields = ['size', 'quality', 'output_format'].filter((field) => typeof said[field] === 'string');
  const reported = Object.fromEntries(fields.map((field) => [field, said[field] as string]));
  return { id: `image-${index}`, name: unitName(IMAGE), reported, isBilled: true };
}

/** Undefined if there are no usable figures. */
function usageOf(usage: unknown): TokenUsage | undefined {
  if (!isObject(usage)) return undefined;
  const tokens = mediaTokens(usage);
  if (tokens === undefined) return undefined;
  const { promptTokens, completionTokens } = tokens;
  const { image_tokens: imagesRead } = objectOf(usage.input_tokens_details);
  const { text_tokens: textWritten } = objectOf(usage.output_tokens_details);
  const parts = {
    ...NO_PARTS,
    imageInputTokens: Math.min(promptTokens, countOf(imagesRead) ?? 0),
    imageOutputTokens: completionTokens - Math.min(completionTokens, countOf(textWritten) ?? 0),
  };
  return { ...tokens, cachedTokens: 0, parts };
}

/**
 * Each image has a last event of its own, with its own usage. Until the last image a stream is not complete. Where one of
 * them reports none, the others say too little: then nothing is reported of tokens.
 */
export function imageStream(_: string, request?: ModelRequest): StreamReader {
  const images = request?.choices ?? 1;
  let done = 0;
  let sum: TokenUsage | undefined;
  let isReported = true;
  return typedStream({
    read: (event) => {
      if (!isFinal(event)) return { ...NO_FACTS, progress: [progressOf(event, done, false)] };
      const usage = usageOf(event.usage);
      isReported &&= usage !== undefined;
      sum = isReported && usage !== undefined ? added(sum ?? NO_TOKENS, usage) : NO_TOKENS;
      return {
        ...NO_FACTS,
        usage: sum,
        hasUsage: isObject(event.usage),
        toolCalls: [imageOf(event, done)],
        progress: [progressOf(event, done++, true), ...(done < images ? [progressOf(event, done, false)] : [])],
        isWithoutOutput: true,
      };
    },
    isLast: (event) => isFinal(event) && done >= images,
  });
}

function isFinal({ type }: Fields): boolean {
  return typeof type === 'string' && type.endsWith('.completed');
}

function progressOf({ type }: Fields, index: number, finished: boolean): ChoiceProgress {
  const isPartial = typeof type === 'string' && type.endsWith('.partial_image');
  return { ...NO_OUTPUT, index, finished, unseenTokens: isPartial ? TOKENS_PER_PARTIAL_IMAGE : 0 };
}

function added(a: TokenUsage, b: TokenUsage): TokenUsage {
  const sum = (field: 'imageInputTokens' | 'imageOutputTokens') => (a.parts?.[field] ?? 0) + (b.parts?.[field] ?? 0);
  return {
    promptTokens: a.promptTokens + b.promptTokens,
    cachedTokens: 0,
    completionTokens: a.completionTokens + b.completionTokens,
    parts: {
      ...NO_PARTS,
      imageInputTokens: sum('imageInputTokens'),
      imageOutputTokens: sum('imageOutputTokens'),
    },
  };
}
