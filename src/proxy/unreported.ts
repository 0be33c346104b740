/** Estimates input that a host bills without reporting it exactly. */
import { LEAST_ESTIMATE, mediaPrices } from '../catalog/cost.ts';
import type { Media } from '../core/modalities.ts';
import type { Prices } from '../core/model-terms.ts';
import { NO_PARTS, type TokenUsage } from '../core/usage.ts';
import type { ModelRequest } from '../dialects/dialect.ts';

/** The maximum of input tokens that a host may bill: twice the input if the host may summarize it first. */
export function readTokens({ summarizesAbove }: ModelRequest, inputTokens: number, outputTokens: number): number {
  const isSummarized = summarizesAbove !== undefined && inputTokens + outputTokens >= LEAST_ESTIMATE * summarizesAbove;
  return isSummarized ? 2 * inputTokens : inputTokens;
}

/** The basis of the hold for the input. */
interface HeldInput {
  readonly prices: Prices;
  readonly media: Media;
  /** The non-text tokens of the input. */
  readonly attachmentTokens: number;
}

/**
 * Estimates the usage of a request without a report: the input as it was held, including summaries, audio, and cache writes.
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

/** The most expensive kind of attachment; undefined if attachments cost no more than text. */
function dearestIn({ hears, sees }: Media, prices: Prices): 'audioInputTokens' | 'imageInputTokens' | undefined {
  const { audioInput, imageInput } = mediaPrices(prices);
  const [audio, image] = [hears ? audioInput : 0n, sees ? imageInput : 0n];
  if (audio <= prices.input && image <= prices.input) return undefined;
  return audio > image ? 'audioInputTokens' : 'imageInputTokens';
}

/** Charges all attachments as the most expensive kind, because their kinds are not reported. */
function withAttachments(usage: TokenUsage, part: ReturnType<typeof dearestIn>, attachmentTokens: number): TokenUsage {
  if (part === undefined) return usage;
  const { promptTokens, cachedTokens, parts = NO_PARTS } = usage;
  return { ...usage, parts: { ...parts, [part]: Math.min(attachmentTokens, promptTokens - cachedTokens) } };
}

/** Charges the whole input as written to the prompt cache, because the written part is not reported. */
function withWrites(usage: TokenUsage, { dialect, cacheWrite }: ModelRequest, prices: Prices): TokenUsage {
  // Only messages mark the parts to cache. Other hosts cache at will, and bill writes only if they have a price of their own.
  const isBilled = dialect.name === 'messages' || prices.cacheWrite > prices.input;
  if (cacheWrite === undefined || !isBilled) return usage;
  const { promptTokens, cachedTokens, parts = NO_PARTS } = usage;
  const tokens = promptTokens - cachedTokens - parts.audioInputTokens - parts.imageInputTokens;
  const written = { [cacheWrite === '1h' ? 'cacheWrite1hTokens' : 'cacheWriteTokens']: tokens };
  return { ...usage, parts: { ...parts, ...written } };
}

/** Charges all cache writes at the 1-hour price if the request asks for it and the report does not split them. */
export function withLifetimes(usage: TokenUsage, { dialect, cacheWrite }: ModelRequest): TokenUsage {
  const { parts } = usage;
  if (parts === undefined || dialect.name === 'messages' || cacheWrite !== '1h' || parts.cacheWrite1hTokens > 0) {
    return usage;
  }
  const { cacheWriteTokens } = parts;
  return { ...usage, parts: { ...parts, cacheWriteTokens: 0, cacheWrite1hTokens: cacheWriteTokens } };
}
