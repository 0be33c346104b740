/** Reads message and tool output contents: text, images and files. */
import { isObject } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import type { Findings } from '../findings.ts';
import type { CacheMark, FilePart, ImagePart, Part } from '../request.ts';
import { expectShape, type Shape, shapeOf, shownType } from './shape.ts';

/** Part types permitted for a role. */
export type PartTypes = readonly string[];
const TEXTS: PartTypes = ['input_text', 'output_text'];
export const INSTRUCTION_PARTS: PartTypes = TEXTS;
export const ASSISTANT_PARTS: PartTypes = [...TEXTS, 'refusal'];
/** Also for tool outputs. */
export const INPUT_PARTS: PartTypes = [...TEXTS, 'input_image', 'input_file'];

/** Reads a content, a string or an array of parts. */
export function partsOf(content: unknown, types: PartTypes, where: string, findings: Findings): readonly Part[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  if (Array.isArray(content)) {
    return content.flatMap((part, index) => partOf(part, types, `${where}[${index}]`, findings) ?? []);
  }
  findings.refuse(where, 'expected a string or an array of parts');
  return [];
}

const TEXT = shapeOf('input', 'type text prompt_cache_breakpoint', 'annotations logprobs');
const REFUSAL = shapeOf('input', 'type refusal');
const IMAGE = shapeOf('input', 'type image_url detail prompt_cache_breakpoint');
const FILE = shapeOf('input', 'type file_data file_url filename detail prompt_cache_breakpoint');

const SHAPES: ReadonlyMap<string, Shape> = new Map([
  ['input_text', TEXT],
  ['output_text', TEXT],
  ['refusal', REFUSAL],
  ['input_image', IMAGE],
  ['input_file', FILE],
]);

function partOf(part: unknown, types: PartTypes, where: string, findings: Findings): Part | undefined {
  if (!isObject(part)) {
    findings.refuse(where, 'expected an object');
    return undefined;
  }
  const { type } = part;
  const shape = typeof type === 'string' && types.includes(type) ? SHAPES.get(type) : undefined;
  if (shape === undefined) {
    findings.refuse(`${where}.type`, `expected ${types.join(', ')}, not ${shownType(part)}`);
    return undefined;
  }
  expectShape(shape, part, where, findings);
  const cache = readBreakpoint(part, where, findings);
  if (type === 'input_image') return { ...imageOf(part, where, findings), cache };
  if (type === 'input_file') return { ...fileOf(part, where, findings), cache };
  if (type === 'refusal') return { kind: 'refusal', text: findings.text(part.refusal, `${where}.refusal`), cache };
  return { kind: 'text', text: findings.text(part.text, `${where}.text`), cache };
}

const BREAKPOINT = shapeOf('input.prompt_cache_breakpoint', 'mode', 'ttl');

const MARK: CacheMark = { value: { type: 'ephemeral' }, field: 'input.prompt_cache_breakpoint' };

function readBreakpoint(
  { prompt_cache_breakpoint: value }: Fields,
  where: string,
  findings: Findings,
): CacheMark | undefined {
  if (value === undefined || value === null) return undefined;
  const field = `${where}.prompt_cache_breakpoint`;
  if (!isObject(value) || value.mode !== 'explicit') findings.refuse(field, 'expected the mode explicit');
  else expectShape(BREAKPOINT, value, field, findings);
  return MARK;
}

function imageOf({ image_url: url, detail }: Fields, where: string, findings: Findings): ImagePart {
  return {
    kind: 'image',
    url: { value: findings.text(url, `${where}.image_url`), field: `${where}.image_url` },
    detail: { value: detail ?? undefined, field: 'input.detail' },
  };
}

/** Detail levels of files; hosts choose the rendering. */
const FILE_DETAILS: readonly unknown[] = [undefined, null, 'auto'];

function fileOf(part: Fields, where: string, findings: Findings): FilePart {
  const { file_data: data, file_url: url, filename: name, detail } = part;
  const isText = (value: unknown) => typeof value === 'string';
  if (isText(data) === isText(url)) {
    findings.refuse(`${where}.file_data`, 'expected a string, or file_url in its place');
  }
  if (!FILE_DETAILS.includes(detail)) findings.ignore('input.detail');
  return {
    kind: 'file',
    data: isText(data) ? { value: data, field: `${where}.file_data` } : undefined,
    url: isText(url) ? { value: url, field: `${where}.file_url` } : undefined,
    name: isText(name) ? name : undefined,
  };
}
