/** Attachments: detects their type as hosts do and estimates the tokens to hold for them. */
import { isObject } from '../core/json.ts';
import type { Media } from '../core/modalities.ts';
import type { InputTerms } from '../core/model-terms.ts';
import { type ImageSize, imageSize } from '../wire/media/image-size.ts';
import { dearestImageTokens, tileTokens } from '../wire/media/image-tokens.ts';
import { beginsAsSound, kindOf } from '../wire/media/kind.ts';
import type { SoundLength } from '../wire/media/mp4.ts';
import { soundLength } from '../wire/media/sound-length.ts';
import { foldCase } from '../wire/names.ts';
import type { Attachment, Fields, Place } from './dialect.ts';

/** Highest rate among known hosts: Gemini counts 32 tokens per second of audio, OpenAI 10. */
const TOKENS_PER_SECOND = 32;

/** Returns the tokens to hold for an attachment; undefined if only the context window bounds them. */
export function attachmentTokens(attachment: Attachment, terms: InputTerms): number | undefined {
  switch (attachment.kind) {
    case 'image':
      return imageTokens(attachment.size, attachment.isFetched === true, terms);
    case 'audio':
      return Math.ceil(mostSeconds(attachment, terms) * TOKENS_PER_SECOND);
    case 'pdf':
    case 'opaque':
    case 'reference':
      return undefined;
  }
}

/** Returns the seconds to hold for audio. The model's maximum bounds an inexact length. */
export function mostSeconds({ seconds, isExact }: SoundLength, { maxSeconds }: Pick<InputTerms, 'maxSeconds'>): number {
  return isExact ? seconds : Math.min(seconds, maxSeconds);
}

/**
 * The tokens of the largest image at gpt-4o-mini: 2,833 and 8 tiles at 5,667. No other model with an image maximum exceeds
 * it.
 */
const MOST_IMAGE_TOKENS = 48_169;

/** Returns the maximum tokens of an image. `isFetched`: the host downloads it from a URL. */
export function imageTokens(size: ImageSize | undefined, isFetched: boolean, terms: InputTerms): number {
  const { imageTokens, contextWindow } = terms;
  if (typeof imageTokens === 'number') return imageTokens;
  if (imageTokens !== undefined) return tileTokens(size, imageTokens);
  if (size !== undefined) return dearestImageTokens(size);
  // Some models have no maximum. Models reject data whose header is unreadable, so inline data of unknown size needs no
  // more.
  return Math.max(MOST_IMAGE_TOKENS, (isFetched ? contextWindow : undefined) ?? 0);
}

/** Whether an input may hold audio and images. Unknown data may be either, and hosts render PDF pages as images. */
export function mediaIn(attachments: readonly Attachment[]): Pick<Media, 'hears' | 'sees'> {
  return {
    hears: attachments.some(({ kind }) => kind !== 'image' && kind !== 'pdf'),
    sees: attachments.some(({ kind }) => kind !== 'audio'),
  };
}

/** Returns the first attachment that the model cannot accept, with the reason. `isHeard`: the model has a price for audio. */
export function attachmentProblem(
  attachments: readonly Attachment[],
  terms: InputTerms,
  isHeard: boolean,
): { readonly place: Place; readonly why: string } | undefined {
  for (const attachment of attachments) {
    if (attachment.kind === 'reference' && !terms.remoteFiles) return { place: attachment, why: UNSEEN };
    if (!isHeard && hasSound(attachment)) return { place: attachment as Place, why: UNHEARD };
    const isBounded = terms.contextWindow !== undefined || attachmentTokens(attachment, terms) !== undefined;
    if (!isBounded) return { place: attachment as Place, why: UNBOUNDED };
  }
  return undefined;
}

function hasSound(attachment: Attachment): boolean {
  return attachment.kind === 'audio' || ('hasSound' in attachment && attachment.hasSound === true);
}

const UNHEARD =
  'this model has no price for audio, which videos also contain; leave it out, or have the operator set `audio_input` for this model';
const UNSEEN =
  'it names state or content that this gateway cannot see, so it cannot be priced; send the data itself instead, or have the operator set `remote_files: context` for this model';
const UNBOUNDED =
  'this gateway cannot tell how many tokens it has; send text or images instead, or have the operator set `context_window` for this model';

/** An input object, split into attachments, texts and other members. */
export interface Reading {
  readonly attachments: readonly Attachment[];
  readonly texts: readonly string[];
  /** Members whose names and values count as text. */
  readonly others: Fields;
}

/** Reads the data at `place`: base64, a data URL, an address or text. */
export function readData(place: Place, expected: 'image' | 'audio' | 'file', mediaType?: string): Reading {
  const { [place.field]: data, ...others } = place.holder;
  const found = base64In(data);
  if (found !== undefined) {
    const declared = (mediaType ?? found.mediaType ?? `${expected}/*`).toLowerCase();
    return { ...readBytes(Buffer.from(found.base64, 'base64'), declared, place, expected), others };
  }
  const attachments: Attachment[] = [];
  if (isName(data)) {
    const reference = { kind: 'reference', hasSound: isSound(expected, mediaType), ...place } as const;
    attachments.push(isFetchedImage(data, expected) ? FETCHED_IMAGE : reference);
  } else if (expected === 'image') attachments.push(UNSEEN_IMAGE);
  if (typeof data !== 'string') return { attachments, texts: [], others };
  // Text in a data field counts as text and also as the data that a lenient host would decode from it.
  const lenient = isName(data) ? undefined : decodedLeniently(data);
  if (lenient === undefined) return { attachments, texts: [data], others };
  const declared = (mediaType ?? lenient.mediaType ?? `${expected}/*`).toLowerCase();
  const read = readBytes(lenient.bytes, declared, place, expected);
  return {
    attachments: read.attachments.length > 0 ? read.attachments : attachments,
    texts: [data, ...read.texts],
    others,
  };
}

/** In parts of an unknown kind, longer base64 strings count as audio or video rather than as names. */
const LONG_BASE64 = 256;

/** Base64 with whitespace, or in the URL-safe alphabet. */
const LENIENT_BASE64 = /^[\w+/\s=-]+$/;

/** Decodes data as lenient hosts do: any data URL, and nonstandard base64. */
function decodedLeniently(data: string): { readonly bytes: Buffer; readonly mediaType?: string } | undefined {
  const [, header, rest] = /^\s*data:([^,]*),(.*)$/is.exec(data) ?? [];
  if (header === undefined || rest === undefined) {
    const bytes = LENIENT_BASE64.test(data) ? Buffer.from(data, 'base64') : undefined;
    // Ordinary words also match the base64 alphabet.
    const isText =
      bytes !== undefined && kindOf(bytes) === 'other' && (data.includes(' ') || data.length < LONG_BASE64);
    return bytes === undefined || isText ? undefined : { bytes };
  }
  const bytes = /;\s*base64\s*$/i.test(header)
    ? Buffer.from(rest, 'base64')
    : Buffer.from(unescapeBytes(rest), 'latin1');
  return header === '' ? { bytes } : { bytes, mediaType: header };
}

function unescapeBytes(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

const UNSEEN_IMAGE: Attachment = { kind: 'image', size: undefined };
export const FETCHED_IMAGE: Attachment = { ...UNSEEN_IMAGE, isFetched: true };

/** Whether the host downloads an image. It costs the same as inline data, except that its size is unknown. */
function isFetchedImage(data: string, expected: string): boolean {
  return expected === 'image' && /^https?:\/\//i.test(data);
}

/**
 * Sniffs the media type, since hosts may ignore the declared one and read a PDF that is declared as an image. `declared`:
 * the client's media type.
 */
function readBytes(
  bytes: Buffer,
  declared: string,
  place: Place,
  expected: 'image' | 'audio' | 'file',
): Pick<Reading, 'attachments' | 'texts'> {
  const only = (attachment: Attachment) => ({ attachments: [attachment], texts: [] });
  switch (kindOf(bytes)) {
    case 'pdf':
      return only({ kind: 'pdf', ...place });
    case 'png':
    case 'jpeg':
    case 'gif':
    case 'webp':
      return only({ kind: 'image', size: imageSize(bytes) });
    case 'wav':
    case 'mp3':
    case 'flac':
    case 'ogg': {
      const length = soundLength(bytes);
      return only(
        length?.isExact ? { kind: 'audio', ...length, ...place } : { kind: 'opaque', hasSound: true, ...place },
      );
    }
    case 'text':
      return { attachments: besideText(declared, place, expected), texts: [bytes.toString('utf8')] };
    case 'other':
      if (declared.startsWith('image/')) return only(UNSEEN_IMAGE);
      return only({ kind: 'opaque', hasSound: isSound(expected, declared) || beginsAsSound(bytes), ...place });
  }
}

/** Whether data counts as audio or a film by its field or its declared media type. */
export function isSound(expected: 'image' | 'audio' | 'file', declared = ''): boolean {
  return expected === 'audio' || /^(?:audio|video)\//i.test(declared);
}

/** Returns the attachments that hosts may see in a text: some readers accept a PDF without its header. */
function besideText(declared: string, place: Place, expected: string): readonly Attachment[] {
  if (declared.includes('pdf')) return [{ kind: 'opaque', ...place }];
  return expected === 'image' ? [UNSEEN_IMAGE] : [];
}

const DATA_URL = /^data:([^,;]{0,100})[^,]{0,200};base64,/i;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Returns the base64 data of a plain string or a data URL; undefined for other values. */
function base64In(data: unknown): { readonly base64: string; readonly mediaType: string | undefined } | undefined {
  if (typeof data !== 'string') return undefined;
  const match = DATA_URL.exec(data);
  const base64 = match === null ? data : data.slice(match[0].length);
  return BASE64.test(base64) ? { base64, mediaType: match?.[1] || undefined } : undefined;
}

const ADDRESS = /^\s*(?!data:)[a-z][a-z0-9+.-]{1,30}:\S/i;
/** An absolute or relative path of a file at the host. */
const PATH = /^\s*(?:[/~\\]|\.{1,2}[/\\]|[a-z]:[/\\])/i;

/** Whether a string is an address or path that a host might resolve. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && (ADDRESS.test(value) || PATH.test(value));
}

/** Members of the formats that reference external content. */
const REFERENCES: ReadonlySet<string> = new Set([
  'file_id',
  'file_ids',
  'file_url',
  'file_uri',
  'video_url',
  'audio_url',
  'document_url',
  'container_id',
  'vector_store_id',
  'vector_store_ids',
  'cached_content',
  'cachedcontent',
]);

/** Returns the first member that references content outside the request; undefined if none does. */
export function referenceIn(holder: Fields): Attachment | undefined {
  for (const field in holder) {
    if (REFERENCES.has(foldCase(field)) && !isEmpty(holder[field])) {
      return { kind: 'reference', hasSound: NAMES_SOUND.test(field), holder, field };
    }
  }
  return undefined;
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

/**
 * Finds the addresses, paths and data in a part of an unknown kind, which its host may fetch or decode. Other strings count
 * as text.
 */
export function readUnknownPart(part: Fields): Reading {
  const attachments: Attachment[] = [];
  findData(part, NAMES_SOUND.test(String(part.type)), attachments);
  return { attachments, texts: [], others: part };
}

/** Names of parts and fields with audio or video, such as `video_url` and `input_audio`. */
const NAMES_SOUND = /audio|video|sound|speech|voice|movie|film/i;

/** `isNamed`: an enclosing field's name indicates audio or video. MAX_JSON_DEPTH bounds the recursion. */
function findData(holder: Fields, isNamed: boolean, found: Attachment[]): void {
  for (const [field, value] of Object.entries(holder)) {
    findDataIn(value, { holder, field }, isNamed || NAMES_SOUND.test(field), found);
  }
}

function findDataIn(value: unknown, place: Place, isNamed: boolean, found: Attachment[]): void {
  const data = dataIn(value);
  if (isName(value)) found.push({ kind: 'reference', hasSound: isNamed, ...place });
  else if (data !== undefined) found.push({ kind: 'opaque', hasSound: isNamed || isSoundData(data), ...place });
  else if (Array.isArray(value)) for (const item of value) findDataIn(item, place, isNamed, found);
  else if (isObject(value)) findData(value, isNamed, found);
}

type Data = NonNullable<ReturnType<typeof base64In>>;

function dataIn(value: unknown): Data | undefined {
  const found = base64In(value);
  return found?.mediaType !== undefined || (found?.base64.length ?? 0) >= LONG_BASE64 ? found : undefined;
}

/** Base64 characters that cover the signatures of all formats. */
const SIGNATURE_BASE64 = 64;

function isSoundData({ base64, mediaType }: Data): boolean {
  return isSound('file', mediaType) || beginsAsSound(Buffer.from(base64.slice(0, SIGNATURE_BASE64), 'base64'));
}

/**
 * Returns the path of an object within a body, such as `messages[0].content[1]`; empty for the body itself or a foreign
 * object.
 */
export function pathTo(holder: Fields, body: unknown, path = ''): string {
  return pathIn(holder, body, path) ?? '';
}

function pathIn(holder: Fields, value: unknown, path: string): string | undefined {
  if (value === holder) return path;
  if (Array.isArray(value)) return firstPath(value.entries(), (index) => `${path}[${index}]`, holder);
  if (!isObject(value)) return undefined;
  return firstPath(Object.entries(value), (name) => (path === '' ? name : `${path}.${name}`), holder);
}

function firstPath<Key>(
  members: Iterable<readonly [Key, unknown]>,
  pathOf: (key: Key) => string,
  holder: Fields,
): string | undefined {
  for (const [key, item] of members) {
    const found = typeof item === 'object' && item !== null ? pathIn(holder, item, pathOf(key)) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}
