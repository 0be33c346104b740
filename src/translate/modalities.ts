/** The modalities of answers, and the reported tokens of each, between dialects. */
import type { Fields } from '../dialects/dialect.ts';
import type { ByModality } from '../dialects/modalities.ts';
import { type Findings, UNSAYABLE } from './findings.ts';
import type { Said, Turn } from './request.ts';

/** The modalities that a valid request names, in lower case. Undefined for none, and for text alone, which is usual. */
export function readModalities(value: unknown, field: string, findings: Findings): Said<readonly string[]> | undefined {
  const names = Array.isArray(value) ? value.map((each) => String(each).toLowerCase()) : [];
  if (names.includes('audio'))
    findings.refuse(field, 'expected text or image: the provider of this model does not speak');
  return names.includes('image') ? { value: names, field } : undefined;
}

/** Refuses images of the model, for hosts whose models make none: asked for, or of past answers. */
export function refuseImages(
  modalities: Said<readonly string[]> | undefined,
  turns: readonly Turn[],
  findings: Findings,
): void {
  if (modalities !== undefined) findings.refuse(modalities.field, UNSAYABLE);
  const written = turns.flatMap((turn) => (turn.kind === 'assistant' ? turn.written : []));
  const parts = written.flatMap((each) => (each.kind === 'parts' ? each.parts : []));
  for (const part of parts) if (part.kind === 'image') findings.refuse(part.url.field, OF_USERS_ALONE);
}

const OF_USERS_ALONE = 'the provider of this model takes no images of the model; send it as one of the user';

/** In the details of OpenAI's formats. */
export function openAiDetails({ audio, image }: ByModality): Fields {
  return { ...(audio > 0 && { audio_tokens: audio }), ...(image > 0 && { image_tokens: image }) };
}

/** The tokens of a kind as a list of Google's dialect; undefined if all of them are text. `all`: with those of text. */
export function googleDetails(all: number, { audio, image }: ByModality): readonly Fields[] | undefined {
  if (audio + image === 0) return undefined;
  const counts = { TEXT: all - audio - image, AUDIO: audio, IMAGE: image };
  return Object.entries(counts).flatMap(([modality, tokenCount]) => (tokenCount > 0 ? [{ modality, tokenCount }] : []));
}
