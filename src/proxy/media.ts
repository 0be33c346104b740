/** The audio and images of a request at one of its models. */
import type { Model } from '../catalog/catalog.ts';
import { mediaPrices, pricesFor } from '../catalog/cost.ts';
import { asksFor, mayDraw } from '../catalog/media.ts';
import { traitsOf } from '../catalog/model-traits.ts';
import type { Media } from '../core/modalities.ts';
import { formatUsd } from '../core/money.ts';
import { unitName } from '../core/units.ts';
import type { Attachment, Dialect, ModelRequest } from '../dialects/dialect.ts';
import type { Metered } from '../relay/meter.ts';
import type { HostRequest } from '../translate/translate.ts';

/** Whether answers of a dialect are text, to which a model may add images. */
export function isOfText({ maximumField }: Dialect): boolean {
  return maximumField !== undefined;
}

export function mediaAt({ dialect, asked }: ModelRequest, model: Model, read: Pick<Media, 'hears' | 'sees'>): Media {
  const draws = isOfText(dialect) ? mayDraw(model, asked) : asksFor('image', asked);
  return { ...read, speaks: asksFor('audio', asked), draws };
}

/** The maximum of tokens of an image, if answers may contain one; otherwise 0. A declared maximum may not bound it. */
export function tokensOfOneImage({ dialect }: ModelRequest, model: Model, { draws }: Media): number {
  return draws && isOfText(dialect) ? traitsOf(model).tokensPerImage : 0;
}

/** The most tokens to count for each image in an answer: 0 for images of a tool, whose calls have a price. */
export function tokensPerImageOf(model: Model, { hostTools }: ModelRequest): number {
  const isOfTool = hostTools.some(({ calledAs }) => calledAs === 'image_generation');
  return isOfTool ? 0 : traitsOf(model).tokensPerImage;
}

/**
 * Names the price that a request for images lacks for images of its input. Models that return images as tokens read them at
 * a price of their own; for models of text, images are ordinary input.
 */
export function unpricedImages(
  { dialect, asked }: ModelRequest,
  attachments: readonly Attachment[],
  model: Model,
): string | undefined {
  const isByTokens = !isOfText(dialect) && asksFor('image', asked) && !model.tools.has(unitName('image'));
  const isUnpriced = isByTokens && model.imageInput === undefined && attachments.some(({ kind }) => kind === 'image');
  return isUnpriced ? 'image: this model has no price for images that it reads; have image_input set' : undefined;
}

/** Names the formats for a client of messages whose model returns images, which a translated message cannot hold. */
export function imagesProblem({ dialect }: ModelRequest, { response }: HostRequest, model: Model): string | undefined {
  const isLost = response !== undefined && dialect.name === 'messages' && traitsOf(model).draws;
  return isLost ? 'model: it returns images, which this format cannot hold; use chat, responses or Gemini' : undefined;
}

/** A log note about audio and images without a price, which were charged at the highest known price. */
export function unpricedNote(
  { model, hosted: { request } }: { readonly model: Model; readonly hosted: HostRequest },
  { usage: { parts }, serviceTier }: Pick<Metered, 'usage' | 'serviceTier'>,
): string | undefined {
  if (parts === undefined || !isOfText(request.dialect)) return undefined;
  const prices = pricesFor(model, request.serviceTier, serviceTier);
  const media = mediaPrices(prices);
  const kinds = [
    ['audio_input', parts.audioInputTokens + parts.cachedAudioTokens, prices.audioInput, media.audioInput],
    ['audio_output', parts.audioOutputTokens, prices.audioOutput, media.audioOutput],
    ['image_output', parts.imageOutputTokens, prices.imageOutput, media.imageOutput],
  ] as const;
  const notes = kinds
    .filter(([, tokens, price, charged]) => tokens > 0 && price === undefined && charged > 0n)
    .map(([field, tokens, , charged]) => `${tokens} at ${formatUsd(charged)} USD per million (set ${field})`);
  if (notes.length === 0) return undefined;
  return `the provider used tokens that have no price; they were charged at the dearest known one: ${notes.join(', ')}`;
}
