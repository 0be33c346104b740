/** What a host bills of the input, and does not report, or not exactly. */
import { LEAST_ESTIMATE, mediaPrices } from '../catalog/cost.ts';
import type { Media } from '../core/modalities.ts';
import type { Prices } from '../core/model-terms.ts';
import { NO_PARTS, type TokenUsage } from '../core/usage.ts';
import type { ModelRequest } from '../dialects/dialect.ts';

/** The input tokens that a host may bill for so many of input and output: twice those of the input if it may summarize them first. */
export function readTokens({ summarizesAbove }: ModelRequest, inputTokens: number, outputTokens: number): number {
  const isSummarized = summarizesAbove !== undefined && inputTokens + outputTokens >= LEAST_ESTIMATE * summarizesAbove;
  return isSummarized ? 2 * inputTokens : inputTokens;
}

/** What the input of a request was held by. */
interface HeldInput {
  readonly prices: Prices;
  readonly media: Media;
  /** The tokens of the input that are no text. */
  readonly attachmentTokens: number;
}

/**
 * The usage of a request that nobody reports: its input as it was held, with what was summarized, spoken, and written to a
 * cache.
 */
export function asHeld(
  usage: TokenUsage,
  request: ModelRequest,
  { prices, media, attachmentTokens }: HeldInput,
): TokenUsage {
  const promptTokens = readTokens(request, usage.promptTokens, usage.completionTokens);
  const read = withAttachments({ ...usage, promptTokens }, dearestIn(media, prices), attachmentTokens);
  return withWrites(read, request, prices);
}

/** The dearest part of the input that attachments may be; undefined if they cost no more than text. */
function dearestIn({ hears, sees }: Media, prices: Prices): 'audioInputTokens' | 'imageInputTokens' | undefined {
  const { audioInput, imageInput } = mediaPrices(prices);
  const [audio, image] = [hears ? audioInput : 0n, sees ? imageInput : 0n];
  if (audio <= prices.input && image <= prices.input) return undefined;
  return audio > image ? 'audioInputTokens' : 'imageInputTokens';
}

/** Nobody says what each of the attachments was: all of them the dearest. */
function withAttachments(usage: TokenUsage, part: ReturnType<typeof dearestIn>, attachmentTokens: number): TokenUsage {
  if (part === undefined) return usage;
  const { promptTokens, cachedTokens, parts = NO_PARTS } = usage;
  return { ...usage, parts: { ...parts, [part]: Math.min(attachmentTokens, promptTokens - cachedTokens) } };
}

/** Nobody says how much a request has written to the prompt cache: all of its input. */
function withWrites(usage: TokenUsage, { dialect, cacheWrite }: ModelRequest, prices: Prices): TokenUsage {
  // Only messages mark what is to be written. Elsewhere a host may cache what it likes, and bills it only at a price of its own.
  const isBilled = dialect.name === 'messages' || prices.cacheWrite > prices.input;
  if (cacheWrite === undefined || !isBilled) return usage;
  const { promptTokens, cachedTokens, parts = NO_PARTS } = usage;
  const tokens = promptTokens - cachedTokens - parts.audioInputTokens - parts.imageInputTokens;
  const written = { [cacheWrite === '1h' ? 'cacheWrite1hTokens' : 'cacheWriteTokens']: tokens };
  return { ...usage, parts: { ...parts, ...written } };
}

/** A report that does not say what was written for long: all that was written, if the request asks for that. */
export function withLifetimes(usage: TokenUsage, { dialect, cacheWrite }: ModelRequest): TokenUsage {
  const { parts } = usage;
  if (parts === undefined || dialect.name === 'messages' || cacheWrite !== '1h' || parts.cacheWrite1hTokens > 0) {
    return usage;
  }
  const { cacheWriteTokens } = parts;
  return { ...usage, parts: { ...parts, cacheWriteTokens: 0, cacheWrite1hTokens: cacheWriteTokens } };
}
