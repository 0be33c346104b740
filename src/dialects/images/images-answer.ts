/** Reads answers with images, whole and streamed: their number, settings and tokens. */
import type { ToolCall } from '../../core/host-tools.ts';
import { isObject, objectOf } from '../../core/json.ts';
import { type Unit, unitName } from '../../core/units.ts';
import { NO_PARTS, type TokenUsage } from '../../core/usage.ts';
import { type AnswerFacts, type ChoiceProgress, countOf, mediaTokens, NO_FACTS, NO_OUTPUT } from '../answer.ts';
import type { Fields, ModelRequest, StreamReader } from '../dialect.ts';
import { typedStream } from '../typed-stream.ts';

const IMAGE: Unit = 'image';

/** Output tokens per partial image, by OpenAI's image guide (2026-11). */
export const TOKENS_PER_PARTIAL_IMAGE = 100;

export function readImages(answer: Fields): AnswerFacts {
  const images = Array.isArray(answer.data) ? answer.data.length : undefined;
  return {
    ...NO_FACTS,
    // The images suffice as a report, since some hosts report no tokens.
    usage: images === undefined ? undefined : (usageOf(answer.usage) ?? NO_TOKENS),
    hasUsage: isObject(answer.usage),
    choices: images,
    toolCalls: Array.from({ length: images ?? 0 }, (_, index) => imageOf(answer, index)),
    isWithoutOutput: true,
  };
}

const NO_TOKENS: TokenUsage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0, parts: NO_PARTS };

/** Returns a generated image with the reported settings that affect its price. */
function imageOf(said: Fields, index: number): ToolCall {
  const fields = ['size', 'quality', 'output_format'].filter((field) => typeof said[field] === 'string');
  const reported = Object.fromEntries(fields.map((field) => [field, said[field] as string]));
  return { id: `image-${index}`, name: unitName(IMAGE), reported, isBilled: true };
}

/** Returns the reported usage; undefined if it is invalid. */
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
 * Reads a stream of images. Each image ends with its own event and usage; the stream is complete after the last image. If
 * any image lacks usage, the sum would be too low, so no tokens are reported.
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
