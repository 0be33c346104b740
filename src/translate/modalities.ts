/** Translates output modalities and per-modality token counts. */
import type { Fields } from '../dialects/dialect.ts';
import type { ByModality } from '../dialects/modalities.ts';
import { type Findings, UNTRANSLATABLE } from './findings.ts';
import type { Sourced, Turn } from './request.ts';

/** Returns the requested modalities in lower case; undefined for text only. */
export function readModalities(
  value: unknown,
  field: string,
  findings: Findings,
): Sourced<readonly string[]> | undefined {
  const names = Array.isArray(value) ? value.map((each) => String(each).toLowerCase()) : [];
  if (names.includes('audio'))
    findings.refuse(field, 'expected text or image: the provider of this model does not speak');
  return names.includes('image') ? { value: names, field } : undefined;
}

/** Refuses requested or past output images, for hosts without image output. */
export function refuseImages(
  modalities: Sourced<readonly string[]> | undefined,
  turns: readonly Turn[],
  findings: Findings,
): void {
  if (modalities !== undefined) findings.refuse(modalities.field, UNTRANSLATABLE);
  const written = turns.flatMap((turn) => (turn.kind === 'assistant' ? turn.written : []));
  const parts = written.flatMap((each) => (each.kind === 'parts' ? each.parts : []));
  for (const part of parts) if (part.kind === 'image') findings.refuse(part.url.field, OF_USERS_ALONE);
}

const OF_USERS_ALONE = 'the provider of this model takes no images of the model; send it as one of the user';

/** Token details in OpenAI's format. */
export function openAiDetails({ audio, image }: ByModality): Fields {
  return { ...(audio > 0 && { audio_tokens: audio }), ...(image > 0 && { image_tokens: image }) };
}

/** Token details in Google's format; undefined if all tokens are text. `all`: the total including text. */
export function googleDetails(all: number, { audio, image }: ByModality): readonly Fields[] | undefined {
  if (audio + image === 0) return undefined;
  const counts = { TEXT: all - audio - image, AUDIO: audio, IMAGE: image };
  return Object.entries(counts).flatMap(([modality, tokenCount]) => (tokenCount > 0 ? [{ modality, tokenCount }] : []));
}
