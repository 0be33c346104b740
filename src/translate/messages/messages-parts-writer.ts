/** Writes message and tool output parts as blocks. */
import { isUtf8 } from 'node:buffer';
import type { Fields } from '../../dialects/dialect.ts';
import { BASE64, readDataUrl } from '../data-url.ts';
import type { Findings } from '../findings.ts';
import type { FilePart, ImagePart, Part, Sourced } from '../request.ts';

/** A block, with `cache_control` at the end of a cached prefix. */
export type Block = Record<string, unknown>;

/** Converts parts. Hosts reject empty texts, so these are dropped. */
export function blocksOf(parts: readonly Part[], findings: Findings): readonly Block[] {
  return parts.flatMap((part) => {
    const block = blockOf(part, findings);
    return block === undefined
      ? []
      : [part.cache === undefined ? block : { ...block, cache_control: part.cache.value }];
  });
}

function blockOf(part: Part, findings: Findings): Block | undefined {
  switch (part.kind) {
    case 'image':
      return imageBlock(part, findings);
    case 'file':
      return documentBlock(part, findings);
    default:
      return part.text === '' ? undefined : { type: 'text', text: part.text };
  }
}

const IMAGE_TYPES: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];

function imageBlock({ url, detail }: ImagePart, findings: Findings): Block | undefined {
  findings.ignoreDetail(detail);
  if (isSecureAddress(url.value)) return { type: 'image', source: { type: 'url', url: url.value } };
  const found = readDataUrl(url.value);
  // `image/jpg` is common but not registered.
  const mediaType = found?.mediaType === 'image/jpg' ? 'image/jpeg' : (found?.mediaType ?? '');
  if (found !== undefined && IMAGE_TYPES.includes(mediaType)) {
    return { type: 'image', source: { type: 'base64', media_type: mediaType, data: found.data } };
  }
  findings.refuse(url.field, 'expected an https URL, or a data URL in base64 with a JPEG, PNG, GIF or WebP image');
  return undefined;
}

function documentBlock({ data, url, name }: FilePart, findings: Findings): Block | undefined {
  const source = url === undefined ? dataSource(data, findings) : addressSource(url, findings);
  return source && { type: 'document', source, ...(name && { title: name }) };
}

function addressSource(url: Sourced<string>, findings: Findings): Fields {
  if (!isSecureAddress(url.value)) findings.refuse(url.field, 'expected an https URL');
  return { type: 'url', url: url.value };
}

function dataSource(data: Sourced<string> | undefined, findings: Findings): Fields | undefined {
  if (data === undefined) return undefined;
  const found = readDataUrl(data.value);
  if (found?.mediaType === 'application/pdf') {
    return { type: 'base64', media_type: 'application/pdf', data: found.data };
  }
  if (found?.mediaType.startsWith('text/') && BASE64.test(found.data)) {
    const bytes = Buffer.from(found.data, 'base64');
    if (isUtf8(bytes)) return { type: 'text', media_type: 'text/plain', data: bytes.toString('utf8') };
  }
  findings.refuse(data.field, 'expected a data URL in base64 with a PDF, or with a text in UTF-8');
  return undefined;
}

function isSecureAddress(url: string): boolean {
  return /^https:/i.test(url);
}
