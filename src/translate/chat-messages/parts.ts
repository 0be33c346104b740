/** Translates the content of chat messages to blocks: texts, images and files. */
import { isUtf8 } from 'node:buffer';
import { isObject } from '../../core/json.ts';
import { printableName } from '../../core/printable.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { type Findings, UNSAYABLE } from '../findings.ts';
import { cacheControl } from './cache-control.ts';

/** The types of parts that the messages of a role may have. */
export type PartTypes = readonly string[];

export const TEXT_PARTS: PartTypes = ['text'];
export const ASSISTANT_PARTS: PartTypes = ['text', 'refusal'];
/** Also of tool messages: hosts take images and documents as results. */
export const INPUT_PARTS: PartTypes = ['text', 'image_url', 'file'];

/** The blocks of a content that is valid in the chat format. An empty text has none: hosts refuse it. */
export function blocksOf(content: unknown, types: PartTypes, where: string, findings: Findings): readonly Fields[] {
  if (typeof content === 'string') return textBlocks(content);
  if (!Array.isArray(content)) return [];
  return content.flatMap((part, index) => blocksOfPart(part, types, `${where}[${index}]`, findings));
}

export function textBlocks(text: string, more: Fields = {}): readonly Fields[] {
  return text === '' ? [] : [{ type: 'text', text, ...more }];
}

function blocksOfPart(part: Fields, types: PartTypes, where: string, findings: Findings): readonly Fields[] {
  const type = String(part.type);
  const read = READERS.get(type);
  if (read === undefined || !types.includes(type)) {
    if (type === 'input_audio')
      findings.refuse(`${where}.input_audio`, 'the provider of this model takes no audio; send text');
    else findings.refuse(`${where}.type`, `expected ${types.join(' or ')}, not ${printableName(type)}`);
    return [];
  }
  findings.expectOnly(new Set(['type', type, 'cache_control']), part, where);
  return read(part[type], cacheControl(part.cache_control, where, findings), `${where}.${type}`, findings);
}

/** Reads the value of a part. `more`: fields of its block. */
type PartReader = (value: unknown, more: Fields, where: string, findings: Findings) => readonly Fields[];

const READERS: ReadonlyMap<string, PartReader> = new Map<string, PartReader>([
  ['text', readText],
  ['refusal', readText],
  ['image_url', readImage],
  ['file', readFile],
]);

function readText(value: unknown, more: Fields, where: string, findings: Findings): readonly Fields[] {
  const text = findings.text(value, where);
  if (text === '' && 'cache_control' in more) findings.refuse(where, 'expected a text to which cache_control applies');
  return textBlocks(text, more);
}

const IMAGE_FIELDS: ReadonlySet<string> = new Set(['url', 'detail']);
/** The host always sees as much of an image as it can. */
const DETAILS: readonly unknown[] = [undefined, null, 'auto', 'high'];
const IMAGE_TYPES: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];

function readImage(value: unknown, more: Fields, where: string, findings: Findings): readonly Fields[] {
  if (!isObject(value) || typeof value.url !== 'string') {
    findings.refuse(where, 'expected an object with a url');
    return [];
  }
  findings.expectOnly(IMAGE_FIELDS, value, where);
  if (!DETAILS.includes(value.detail)) findings.refuse(`${where}.detail`, UNSAYABLE);
  if (/^https:/i.test(value.url)) return [{ type: 'image', source: { type: 'url', url: value.url }, ...more }];
  const found = readDataUrl(value.url);
  // A name that is in use, but not registered.
  const mediaType = found?.mediaType === 'image/jpg' ? 'image/jpeg' : (found?.mediaType ?? '');
  if (found === undefined || !IMAGE_TYPES.includes(mediaType)) {
    findings.refuse(
      `${where}.url`,
      'expected an https URL, or a data URL in base64 with a JPEG, PNG, GIF or WebP image',
    );
    return [];
  }
  return [{ type: 'image', source: { type: 'base64', media_type: mediaType, data: found.data }, ...more }];
}

const FILE_FIELDS: ReadonlySet<string> = new Set(['file_data', 'filename']);

function readFile(value: unknown, more: Fields, where: string, findings: Findings): readonly Fields[] {
  if (!isObject(value)) {
    findings.refuse(where, 'expected an object with file_data');
    return [];
  }
  const { file_id: id, filename } = value;
  if (id !== undefined && id !== null)
    findings.refuse(`${where}.file_id`, 'files at a host are not available; send file_data');
  findings.expectOnly(FILE_FIELDS, value, where);
  const title = filename === undefined || filename === null ? '' : findings.text(filename, `${where}.filename`);
  const source = documentSource(value.file_data);
  if (source === undefined) {
    findings.refuse(`${where}.file_data`, 'expected a data URL in base64 with a PDF, or with a text in UTF-8');
    return [];
  }
  return [{ type: 'document', source, ...(title !== '' && { title }), ...more }];
}

function documentSource(fileData: unknown): Fields | undefined {
  const found = typeof fileData === 'string' ? readDataUrl(fileData) : undefined;
  if (found?.mediaType === 'application/pdf') {
    return { type: 'base64', media_type: 'application/pdf', data: found.data };
  }
  if (!found?.mediaType.startsWith('text/') || !BASE64.test(found.data)) return undefined;
  const bytes = Buffer.from(found.data, 'base64');
  return isUtf8(bytes) ? { type: 'text', media_type: 'text/plain', data: bytes.toString('utf8') } : undefined;
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const DATA_URL = /^data:([^,;]{1,100})(?:;[^,;]{0,100}){0,5};base64,/i;

/** A data URL in base64. `mediaType` is in lower case. */
function readDataUrl(url: string): { readonly mediaType: string; readonly data: string } | undefined {
  const match = DATA_URL.exec(url);
  return match === null ? undefined : { mediaType: String(match[1]).toLowerCase(), data: url.slice(match[0].length) };
}
