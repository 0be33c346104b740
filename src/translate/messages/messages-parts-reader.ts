/** Reads content blocks: text, images and documents. */
import { printableName } from '../../core/printable.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { type Findings, isEmptyValue } from '../findings.ts';
import type { Part, TextPart } from '../request.ts';

/**
 * Refuses unknown fields. Ignores `cache_control`, which may be on any object and only saves money. `where`: empty for the body.
 */
export function expectFields(known: readonly string[], fields: Fields, where: string, findings: Findings): void {
  const { cache_control: mark, ...others } = fields;
  if (!isEmptyValue(mark)) findings.ignore('cache_control');
  findings.expectOnly(new Set(known), others, where);
}

/** A block with its path for messages. */
export interface Located {
  readonly block: Fields;
  readonly where: string;
}

/** Returns the blocks of a content, which may be a string. */
export function locatedBlocks(content: unknown, where: string, findings: Findings): readonly Located[] {
  if (content === undefined || content === null || content === '') return [];
  if (typeof content === 'string') return [{ block: { type: 'text', text: content }, where }];
  return findings.array(content, where).flatMap((item, index) => {
    const block = findings.object(item ?? '', `${where}[${index}]`);
    return block === undefined ? [] : [{ block, where: `${where}[${index}]` }];
  });
}

/** Returns the texts of blocks that must be text. */
export function textParts(blocks: readonly Located[], findings: Findings): readonly Part[] {
  return blocks.map((located) => textPart(textOf(located, findings)));
}

/** Converts a block to parts of a user message. */
export function toParts(located: Located, findings: Findings): readonly Part[] {
  const { block, where } = located;
  if (block.type === 'image') return imageParts(block, where, findings);
  if (block.type === 'document') return documentParts(block, where, findings);
  return [textPart(textOf(located, findings))];
}

export function textPart(text: string): TextPart {
  return { kind: 'text', text };
}

function textOf({ block, where }: Located, findings: Findings): string {
  if (block.type !== 'text') {
    const type = typeof block.type === 'string' ? printableName(block.type) : 'untyped';
    findings.refuse(where, `this model cannot read ${type} blocks here; leave it out`);
    return '';
  }
  expectFields(['type', 'text'], block, where, findings);
  return findings.text(block.text, `${where}.text`);
}

function imageParts(block: Fields, where: string, findings: Findings): readonly Part[] {
  expectFields(['type', 'source'], block, where, findings);
  const at = `${where}.source`;
  const source = findings.object(block.source ?? '', at) ?? {};
  if (source.type === 'url') {
    expectFields(['type', 'url'], source, at, findings);
    return [imagePart(findings.text(source.url, `${at}.url`), at)];
  }
  if (source.type === 'base64') return [imagePart(dataUrl(source, at, findings), at)];
  findings.refuse(`${at}.type`, 'expected base64 or url');
  return [];
}

function imagePart(url: string, where: string): Part {
  return { kind: 'image', url: { value: url, field: where }, detail: { value: undefined, field: where } };
}

function dataUrl(source: Fields, where: string, findings: Findings): string {
  expectFields(['type', 'media_type', 'data'], source, where, findings);
  const mediaType = findings.text(source.media_type, `${where}.media_type`);
  return `data:${mediaType};base64,${findings.text(source.data, `${where}.data`)}`;
}

function documentParts(block: Fields, where: string, findings: Findings): readonly Part[] {
  expectFields(['type', 'source', 'title', 'context', 'citations'], block, where, findings);
  const citations = findings.object(block.citations, `${where}.citations`) ?? {};
  if (citations.enabled === true) findings.refuse(`${where}.citations`, 'this model cannot cite; leave it out');
  const title = findings.text(block.title ?? '', `${where}.title`);
  const context = findings.text(block.context ?? '', `${where}.context`);
  const source = findings.object(block.source ?? '', `${where}.source`) ?? {};
  const heading = [title, context].filter((text) => text !== '').map(textPart);
  return [...heading, ...sourceParts(source, { title, where: `${where}.source` }, findings)];
}

function sourceParts(
  source: Fields,
  { title, where }: { readonly title: string; readonly where: string },
  findings: Findings,
): readonly Part[] {
  switch (source.type) {
    case 'base64':
      return [filePart(dataUrl(source, where, findings), title, where)];
    case 'text':
      expectFields(['type', 'media_type', 'data'], source, where, findings);
      return [textPart(findings.text(source.data, `${where}.data`))];
    case 'content': {
      expectFields(['type', 'content'], source, where, findings);
      const blocks = locatedBlocks(source.content, `${where}.content`, findings);
      return blocks.flatMap((located) => toParts(located, findings));
    }
    case 'url':
      findings.refuse(where, 'this model cannot fetch documents; send the document as base64');
      return [];
    default:
      findings.refuse(`${where}.type`, 'expected base64, text or content');
      return [];
  }
}

function filePart(data: string, title: string, where: string): Part {
  return { kind: 'file', data: { value: data, field: where }, url: undefined, name: fileName(title) };
}

/** Returns a file name with an extension, by which hosts recognize the type. */
function fileName(title: string): string {
  if (title === '') return 'document.pdf';
  return title.toLowerCase().endsWith('.pdf') ? title : `${title}.pdf`;
}
