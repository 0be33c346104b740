/** Audio and images in responses: which of them a model may return, and their prices. Pure. */

import type { AskedModality, Modality } from '../core/modalities.ts';
import type { ModelTerms, Prices } from '../core/model-terms.ts';
import type { Nanos } from '../core/money.ts';
import { traitsOf } from './model-traits.ts';

/**
 * Whether responses may contain images: the request asks for them, the model returns them by default, or the config prices
 * them.
 */
export function mayDraw(model: Pick<ModelTerms, 'upstream' | 'imageOutput'>, asked: readonly AskedModality[]): boolean {
  return model.imageOutput !== undefined || traitsOf(model).draws || asksFor('image', asked);
}

export function asksFor(modality: Modality, asked: readonly AskedModality[]): boolean {
  return asked.some((each) => each.modality === modality);
}

/** The audio and image prices of a model, by their names in the config. */
export function mediaPricesOf(prices: Prices): readonly (readonly [name: string, price: Nanos])[] {
  const { audioInput, cachedAudioInput, audioOutput, imageInput, imageOutput } = prices;
  const named: readonly (readonly [name: string, price: Nanos | undefined])[] = [
    ['audio_input', audioInput],
    ['cached_audio_input', cachedAudioInput],
    ['audio_output', audioOutput],
    ['image_input', imageInput],
    ['image_output', imageOutput],
  ];
  return named.flatMap(([name, price]) => (price === undefined ? [] : [[name, price] as const]));
}

/** The price of each kind of output, and its name in the config. */
const PRICES: Readonly<Record<Modality, { readonly field: string; readonly of: (prices: Prices) => unknown }>> = {
  audio: { field: 'audio_output', of: ({ audioOutput }) => audioOutput },
  image: { field: 'image_output', of: ({ imageOutput }) => imageOutput },
};

/**
 * Names the first kind of output that a text request may get and that has no price, with the remedy; undefined if all have
 * prices.
 */
export function unpricedAnswers(model: ModelTerms, asked: readonly AskedModality[]): string | undefined {
  const unpriced = asked.find(({ modality }) => PRICES[modality].of(model) === undefined);
  if (unpriced !== undefined) {
    const { field, modality } = unpriced;
    return `${field}: this model has no price for ${modality} answers; leave ${modality} out, or have ${PRICES[modality].field} set`;
  }
  if (!lacksImagePrice(model)) return undefined;
  return 'model: this model returns images, and has no price for them; have image_output set';
}

/** Whether a model returns images unasked, and has no price for them: text requests to it are refused. */
export function lacksImagePrice(model: ModelTerms): boolean {
  return traitsOf(model).draws && model.imageOutput === undefined;
}
