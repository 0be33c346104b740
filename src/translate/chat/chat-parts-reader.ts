/** Reads the content of chat messages: text, images and files. */
import { isObject } from '../../core/json.ts';
import { printableName } from '../../core/printable.ts';
import type { Fields } from '../../dialects/dialect.ts';
import type { Findings } from '../findings.ts';
import type { CacheMark, Part } from '../request.ts';
import { readCacheControl } from './cache-control.ts';

/** Part types permitted for a role. */
export type PartTypes = readonly string[];

export const TEXT_PARTS: PartTypes = ['text'];
export const ASSISTANT_PARTS: PartTypes = ['text', 'refusal'];
/** Also for tool messages: hosts accept images and documents as results. */
export const INPUT_PARTS: PartTypes = ['text', 'image_url', 'file'];

/** Reads a valid content. Empty texts are dropped. */
export function partsOf(content: unknown, types: PartTypes, where: string, findings: Findings): readonly Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', text: content }];
  if (!Array.isArray(content)) return [];
  return content.flatMap((part, index) => partOf(part, types, `${where}[${index}]`, findings) ?? []);
}

function partOf(part: Fields, types: PartTypes, where: string, findings: Findings): Part | undefined {
  const type = String(part.type);
  const read = READERS.get(type);
  if (read === undefined || !types.includes(type)) {
    if (type === 'input_audio')
      findings.refuse(`${where}.input_audio`, 'the provider of this model takes no audio; send text');
    else findings.refuse(`${where}.type`, `expected ${types.join(' or ')}, not ${printableName(type)}`);
    return undefined;
  }
  findings.expectOnly(new Set(['type', type, 'cache_control']), part, where);
  return read(part[type], readCacheControl(part.cache_control, where, findings), `${where}.${type}`, findings);
}

/** Reads one type of part. */
type PartReader = (value: unknown, cache: CacheMark | undefined, where: string, findings: Findings) => Part | undefined;

const READERS: ReadonlyMap<string, PartReader> = new Map<string, PartReader>([
  ['text', readText],
  ['refusal', readText],
  ['image_url', readImage],
  ['file', readFile],
]);

function readText(value: unknown, cache: CacheMark | undefined, where: string, findings: Findings): Part | undefined {
  const text = findings.text(value, where);
  if (text !== '') return { kind: 'text', text, cache };
  if (cache !== undefined) findings.refuse(where, 'expected a text to which cache_control applies');
  return undefined;
}

const IMAGE_FIELDS: ReadonlySet<string> = new Set(['url', 'detail']);

export function readImage(
  value: unknown,
  cache: CacheMark | undefined,
  where: string,
  findings: Findings,
): Part | undefined {
  if (!isObject(value) || typeof value.url !== 'string') {
    findings.refuse(where, 'expected an object with a url');
    return undefined;
  }
  findings.expectOnly(IMAGE_FIELDS, value, where);
  return {
    kind: 'image',
    url: { value: value.url, field: `${where}.url` },
    detail: { value: value.detail ?? undefined, field: 'image_url.detail' },
    cache,
  };
}

const FILE_FIELDS: ReadonlySet<string> = new Set(['file_data', 'filename']);

function readFile(value: unknown, cache: CacheMark | undefined, where: string, findings: Findings): Part | undefined {
  if (!isObject(value)) {
    findings.refuse(where, 'expected an object with file_data');
    return undefined;
  }
  const { file_id: id, file_data: data, filename } = value;
  if (id !== undefined && id !== null)
    findings.refuse(`${where}.file_id`, 'files at a host are not available; send file_data');
  findings.expectOnly(FILE_FIELDS, value, where);
  return {
    kind: 'file',
    data: { value: typeof data === 'string' ? data : '', field: `${where}.file_data` },
    url: undefined,
    name: findings.text(filename ?? '', `${where}.filename`),
    cache,
  };
}
