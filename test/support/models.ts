/** Models for tests of parts that need one. */
import type { Model } from '../../src/catalog/catalog.ts';
import type { Prices } from '../../src/core/model-terms.ts';
import type { Nanos } from '../../src/core/money.ts';

/** Prices with one for input and one for output, cached, written and audio tokens alike, and without one for images. */
export function flatPrices(input: Nanos, output: Nanos = input): Prices {
  return {
    input,
    cachedInput: input,
    cacheWrite: input,
    cacheWrite1h: input,
    tools: new Map(),
    audioInput: input,
    cachedAudioInput: input,
    output,
    audioOutput: output,
    above: undefined,
  };
}

/** A model with this id that is free unless it is given prices. */
export function testModel(id: string, more: Partial<Model> = {}): Model {
  const [provider = '', ...name] = id.split('/');
  return {
    id,
    provider,
    active: true,
    refuseFields: [],
    refuseHeaders: [],
    ignoreTools: [],
    keepsResponses: false,
    sharesKeeper: false,
    tierOfHeaders: undefined,
    dialects: ['chat'],
    upstream: name.join('/'),
    ...flatPrices(0n),
    pricesOf: undefined,
    serviceTiers: new Map(),
    maxOutput: undefined,
    defaultOutput: 512,
    holdOutput: undefined,
    ignoreFields: [],
    setsCachePoints: true,
    contextWindow: undefined,
    imageTokens: undefined,
    reads: undefined,
    maxSeconds: 36_000,
    remoteFiles: false,
    fallback: [],
    cache: undefined,
    ...more,
  };
}
