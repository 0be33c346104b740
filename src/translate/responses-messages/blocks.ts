/** Writes the parts of messages and of outputs of tools as blocks. */
import type { Fields } from '../../dialects/dialect.ts';
import { blocksOf as blocksOfChat } from '../chat-messages/parts.ts';
import { Findings } from '../findings.ts';
import type { FilePart, ImagePart, Part } from '../responses/parts.ts';

/** With `cache_control` where the client marks the end of what is to be cached. */
export type Block = Record<string, unknown>;

export const CACHE_CONTROL: Fields = { type: 'ephemeral' };

/** An empty text has no block: hosts refuse it. */
export function blocksOf(parts: readonly Part[], findings: Findings): readonly Block[] {
  return parts.flatMap((part) => {
    const block = blockOf(part, findings);
    return block === undefined ? [] : [part.endsCache ? { ...block, cache_control: CACHE_CONTROL } : block];
  });
}

function blockOf(part: Part, findings: Findings): Block | undefined {
  switch (part.kind) {
    case 'image':
      return imageBlock(part, findings);
    case 'file':
      return part.url === undefined ? fileBlock(part, findings) : linkBlock(part, part.url, findings);
    default:
      return part.text === '' ? undefined : { type: 'text', text: part.text };
  }
}

/** The host sees as much of every image as it can. */
const DETAILS: readonly unknown[] = [undefined, 'auto', 'high', 'original'];

function imageBlock({ url, detail, where }: ImagePart, findings: Findings): Block | undefined {
  if (!DETAILS.includes(detail))
    findings.refuse(`${where}.detail`, 'expected high; the provider of this model has no other');
  return blockOfChat({ type: 'image_url', image_url: { url } }, `${where}.image_url`, findings);
}

function fileBlock({ data, name, where }: FilePart, findings: Findings): Block | undefined {
  const file = { file_data: data, ...(name !== undefined && { filename: name }) };
  return blockOfChat({ type: 'file', file }, `${where}.file_data`, findings);
}

function linkBlock({ name, where }: FilePart, url: string, findings: Findings): Block {
  if (!/^https:/i.test(url)) findings.refuse(`${where}.file_url`, 'expected an https URL');
  return { type: 'document', source: { type: 'url', url }, ...(name !== undefined && { title: name }) };
}

/** The block of an attachment in the chat format. `where`: its field in the client's request. */
function blockOfChat(part: Fields, where: string, findings: Findings): Block | undefined {
  const found = new Findings();
  const [block] = blocksOfChat([part], [String(part.type)], '', found);
  if (found.problem !== undefined) findings.refuse(where, found.problem.slice(found.problem.indexOf(': ') + 2));
  return block;
}
