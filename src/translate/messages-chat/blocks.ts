/** Translates blocks of content into the parts of chat messages. */
import { printableName } from '../../core/printable.ts';
import type { Fields } from '../../dialects/dialect.ts';
import type { Notes } from './notes.ts';

/** A block, and its path for messages about it. */
export interface Located {
  readonly block: Fields;
  readonly where: string;
}

/** The blocks of a content, which may also be a string. */
export function locatedBlocks(content: unknown, where: string, notes: Notes): readonly Located[] {
  if (content === undefined || content === null || content === '') return [];
  if (typeof content === 'string') return [{ block: { type: 'text', text: content }, where }];
  return notes.array(content, where).flatMap((item, index) => {
    const block = notes.object(item ?? '', `${where}[${index}]`);
    return block === undefined ? [] : [{ block, where: `${where}[${index}]` }];
  });
}

/** Paragraphs: what blocks are to a reader, in the one string that every host accepts. */
const SEPARATOR = '\n\n';

/** The text of blocks that must be text. */
export function toText(blocks: readonly Located[], notes: Notes): string {
  return blocks.map((located) => textOf(located, notes)).join(SEPARATOR);
}

/** A string where there is only text: not every host accepts parts. */
export function toContent(parts: readonly Fields[]): unknown {
  return parts.every(({ type }) => type === 'text') ? parts.map(({ text }) => text).join(SEPARATOR) : parts;
}

/** The parts of a user message that say what a block says. */
export function toParts(located: Located, notes: Notes): readonly Fields[] {
  const { block, where } = located;
  if (block.type === 'image') return imageParts(block, where, notes);
  if (block.type === 'document') return documentParts(block, where, notes);
  return [textPart(textOf(located, notes))];
}

export function textPart(text: string): Fields {
  return { type: 'text', text };
}

function textOf({ block, where }: Located, notes: Notes): string {
  if (block.type !== 'text') {
    const type = typeof block.type === 'string' ? printableName(block.type) : 'untyped';
    notes.refuse(where, `this model cannot read ${type} blocks here; leave it out`);
    return '';
  }
  notes.allow(['type', 'text'], block, where);
  return notes.text(block.text, `${where}.text`);
}

function imageParts(block: Fields, where: string, notes: Notes): readonly Fields[] {
  notes.allow(['type', 'source'], block, where);
  const at = `${where}.source`;
  const source = notes.object(block.source ?? '', at) ?? {};
  if (source.type === 'url') {
    notes.allow(['type', 'url'], source, at);
    return [imagePart(notes.text(source.url, `${at}.url`))];
  }
  if (source.type === 'base64') return [imagePart(dataUrl(source, at, notes))];
  notes.refuse(`${at}.type`, 'expected base64 or url');
  return [];
}

function imagePart(url: string): Fields {
  return { type: 'image_url', image_url: { url } };
}

function dataUrl(source: Fields, where: string, notes: Notes): string {
  notes.allow(['type', 'media_type', 'data'], source, where);
  const mediaType = notes.text(source.media_type, `${where}.media_type`);
  return `data:${mediaType};base64,${notes.text(source.data, `${where}.data`)}`;
}

function documentParts(block: Fields, where: string, notes: Notes): readonly Fields[] {
  notes.allow(['type', 'source', 'title', 'context', 'citations'], block, where);
  const citations = notes.object(block.citations, `${where}.citations`) ?? {};
  if (citations.enabled === true) notes.refuse(`${where}.citations`, 'this model cannot cite; leave it out');
  const title = notes.text(block.title ?? '', `${where}.title`);
  const context = notes.text(block.context ?? '', `${where}.context`);
  const source = notes.object(block.source ?? '', `${where}.source`) ?? {};
  const heading = [title, context].filter((text) => text !== '').map(textPart);
  return [...heading, ...sourceParts(source, { title, where: `${where}.source` }, notes)];
}

function sourceParts(
  source: Fields,
  { title, where }: { readonly title: string; readonly where: string },
  notes: Notes,
): readonly Fields[] {
  switch (source.type) {
    case 'base64':
      return [{ type: 'file', file: { filename: fileName(title), file_data: dataUrl(source, where, notes) } }];
    case 'text':
      notes.allow(['type', 'media_type', 'data'], source, where);
      return [textPart(notes.text(source.data, `${where}.data`))];
    case 'content': {
      notes.allow(['type', 'content'], source, where);
      const blocks = locatedBlocks(source.content, `${where}.content`, notes);
      return blocks.flatMap((located) => toParts(located, notes));
    }
    case 'url':
      notes.refuse(where, 'this model cannot fetch documents; send the document as base64');
      return [];
    default:
      notes.refuse(`${where}.type`, 'expected base64, text or content');
      return [];
  }
}

/** Hosts tell the kind of a file by the end of its name. */
function fileName(title: string): string {
  if (title === '') return 'document.pdf';
  return title.toLowerCase().endsWith('.pdf') ? title : `${title}.pdf`;
}
