/** Modalities: the output kinds that a request asks for, and the reported tokens of audio and images. */
import { isObject } from '../core/json.ts';
import type { AskedModality, Modality } from '../core/modalities.ts';
import type { UsageParts } from '../core/usage.ts';
import { countOf } from './answer.ts';
import type { Check } from './checks.ts';
import type { Fields } from './dialect.ts';

/** `text` has no separate price. */
const KNOWN: ReadonlyMap<unknown, Modality | undefined> = new Map<unknown, Modality | undefined>([
  ['text', undefined],
  ['audio', 'audio'],
  ['image', 'image'],
]);

/** Hosts may read names in any letter case. */
function nameOf(value: unknown): unknown {
  return typeof value === 'string' ? value.toLowerCase() : value;
}

/** Refuses modalities without a price, such as `video`. `expected`: the format's spelling of the known ones. */
export function modalitiesCheck(field: string, expected: string): Check {
  return (value) => {
    if (value === undefined) return undefined;
    const isKnown = Array.isArray(value) && value.every((each) => KNOWN.has(nameOf(each)));
    return isKnown ? undefined : `${field}: expected an array of ${expected}; this gateway has no price for others`;
  };
}

/** For OpenAI's formats. */
export const MODALITIES_CHECK = modalitiesCheck('modalities', 'text, audio or image');

/** Returns the modalities of a checked field, without text. */
export function askedModalities(value: unknown, field: string): readonly AskedModality[] {
  const names = Array.isArray(value) ? new Set(value.map((each) => KNOWN.get(nameOf(each)))) : [];
  return [...names].flatMap((modality) => (modality === undefined ? [] : [{ modality, field }]));
}

/** Reported tokens of each modality. */
export type ByModality = Readonly<Record<Modality, number>>;

/** Reads the details of OpenAI's formats: `{audio_tokens, image_tokens}`. Undefined if they are absent. */
export function tokensByModality(details: unknown): ByModality | undefined {
  if (!isObject(details)) return undefined;
  return { audio: countOf(details.audio_tokens) ?? 0, image: countOf(details.image_tokens) ?? 0 };
}

const NO_TOKENS: ByModality = { audio: 0, image: 0 };

/** The reported totals of an input. */
interface ReportedInput {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly writtenTokens: number;
}

type InputParts = Pick<UsageParts, 'audioInputTokens' | 'imageInputTokens' | 'cachedAudioTokens' | 'cachedImageTokens'>;

/**
 * Splits an input by modality. `read`: the reported tokens of the whole input. `cached`: the reported cached tokens; if
 * undefined, as many tokens as possible count as uncached, which is dearer.
 */
export function inputByModality(
  { promptTokens, cachedTokens, writtenTokens }: ReportedInput,
  read: ByModality = NO_TOKENS,
  cached?: ByModality,
): InputParts {
  let [fresh, kept] = [promptTokens - cachedTokens - writtenTokens, cachedTokens];
  const split = (modality: Modality) => {
    const ofCache = Math.min(kept, cached?.[modality] ?? Math.max(0, read[modality] - fresh));
    const own = Math.min(fresh, Math.max(0, read[modality] - ofCache));
    fresh -= own;
    kept -= ofCache;
    return [own, ofCache] as const;
  };
  const [audioInputTokens, cachedAudioTokens] = split('audio');
  const [imageInputTokens, cachedImageTokens] = split('image');
  return { audioInputTokens, imageInputTokens, cachedAudioTokens, cachedImageTokens };
}

/** Splits an output by modality. */
export function outputByModality(
  completionTokens: number,
  { audio, image }: ByModality = NO_TOKENS,
): Pick<UsageParts, 'audioOutputTokens' | 'imageOutputTokens'> {
  const imageOutputTokens = Math.min(completionTokens, image);
  return { audioOutputTokens: Math.min(completionTokens - imageOutputTokens, audio), imageOutputTokens };
}

/** Returns undefined if all counts are zero, as in most requests. */
export function partsOrNone({ toolCalls, ...tokens }: UsageParts): UsageParts | undefined {
  const isEmpty = Object.values(tokens).every((count) => count === 0) && Object.keys(toolCalls).length === 0;
  return isEmpty ? undefined : { ...tokens, toolCalls };
}

/** Returns the modalities that a request in OpenAI's formats asks for. */
export function askedOf({ modalities, audio }: Fields): readonly AskedModality[] {
  const asked = askedModalities(modalities, 'modalities');
  const isSpoken = isObject(audio) && !asked.some(({ modality }) => modality === 'audio');
  return isSpoken ? [...asked, { modality: 'audio', field: 'audio' }] : asked;
}
