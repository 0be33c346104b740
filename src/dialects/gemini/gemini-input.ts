/** The input of a request: its texts and attachments. */
import { isObject } from '../../core/json.ts';
import { FETCHED_IMAGE, isSound, type Reading, readData } from '../attachments.ts';
import type { Fields, InputVisitor, ModelRequest } from '../dialect.ts';
import { type FieldKinds, walkFields, walkMessage } from '../input.ts';
import { configOf, listOf } from './gemini-fields.ts';

const FIELDS: FieldKinds = {
  settings: new Set(['model', 'stream', 'safetySettings', 'serviceTier', 'store', 'labels']),
  unnamed: new Set(['tools', 'toolConfig']),
  walked: new Set(['contents', 'systemInstruction', 'generationConfig']),
};

const CONFIG_FIELDS: FieldKinds = {
  settings: new Set([
    ...['maxOutputTokens', 'candidateCount', 'temperature', 'topP', 'topK', 'seed', 'presencePenalty'],
    ...['frequencyPenalty', 'thinkingConfig', 'responseMimeType', 'responseModalities', 'mediaResolution'],
    ...['responseLogprobs', 'logprobs', 'imageConfig'],
  ]),
  unnamed: new Set(['responseSchema', 'responseJsonSchema', 'stopSequences', 'speechConfig']),
  walked: new Set(),
};

export function walkGemini({ body: { fields } }: ModelRequest, visit: InputVisitor): number {
  walkFields(fields, FIELDS, visit);
  walkFields(configOf(fields), CONFIG_FIELDS, visit);
  let tokens = 0;
  for (const content of [...listOf(fields.contents), ...listOf(fields.systemInstruction)]) {
    if (isObject(content)) tokens += walkMessage(content, readObject, visit);
  }
  return tokens;
}

/** Calls and their responses count as text, whatever they contain. */
function readObject(name: string, value: Fields): Reading | undefined {
  switch (name) {
    case 'inlineData':
      return readInline(value);
    case 'fileData':
      return readFile(value);
    case 'functionCall':
      return asText(value, 'args');
    case 'functionResponse':
      return asText(value, 'response');
    default:
      return undefined;
  }
}

function readInline(value: Fields): Reading {
  const { mimeType } = value;
  const declared = typeof mimeType === 'string' ? mimeType.toLowerCase() : undefined;
  const [kind] = declared?.split('/') ?? [];
  return readData({ holder: value, field: 'data' }, kind === 'image' || kind === 'audio' ? kind : 'file', declared);
}

/** Reads a file at an address. The gateway can price images; other files, such as videos, stay references. */
function readFile(value: Fields): Reading {
  const type = String(value.mimeType);
  const isImage = isImageAddress(value.fileUri) && type.startsWith('image/');
  const reference = { kind: 'reference', hasSound: isSound('file', type), holder: value, field: 'fileUri' } as const;
  const attachment = isImage ? FETCHED_IMAGE : reference;
  return { attachments: [attachment], texts: [], others: value };
}

/** Image types that Google's hosts download, by file extension. */
const IMAGE_TYPES: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['webp', 'image/webp'],
]);

/** Returns the media type of an image by its address; undefined if the extension is unknown. */
export function imageTypeOf(address: string): string | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  // Google treats every YouTube address as a video.
  if (url === undefined || url.protocol !== 'https:' || /(?:^|\.)(?:youtube\.com|youtu\.be)$/.test(url.hostname)) {
    return undefined;
  }
  return IMAGE_TYPES.get(url.pathname.split('.').at(-1)?.toLowerCase() ?? '');
}

function isImageAddress(address: unknown): boolean {
  return typeof address === 'string' && imageTypeOf(address) !== undefined;
}

function asText(value: Fields, field: string): Reading {
  const { [field]: free, ...others } = value;
  return { attachments: [], texts: free === undefined ? [] : [JSON.stringify(free)], others };
}
