/** Translates the results of tools: text into tool messages, and attachments into the user message after them. */
import type { Fields } from '../../dialects/dialect.ts';
import { type Located, locatedBlocks, textPart, toContent, toParts } from './blocks.ts';
import type { Notes } from './notes.ts';

export interface Results {
  /** One for each result, in order. */
  readonly messages: readonly Fields[];
  /** Parts for a user message: tool messages are text alone. */
  readonly attachments: readonly Fields[];
}

export function translateResults(results: readonly Located[], notes: Notes): Results {
  const translated = results.map((located) => translateResult(located, notes));
  return {
    messages: translated.map(({ message }) => message),
    attachments: translated.flatMap(({ attachments }) => attachments),
  };
}

const SEE_NEXT = 'The attachments of this result are in the next user message.';

function translateResult({ block, where }: Located, notes: Notes): { message: Fields; attachments: readonly Fields[] } {
  notes.allow(['type', 'tool_use_id', 'content', 'is_error'], block, where);
  const id = notes.text(block.tool_use_id, `${where}.tool_use_id`);
  const parts = locatedBlocks(block.content, `${where}.content`, notes).flatMap((each) => resultParts(each, notes));
  const attachments = parts.filter(({ type }) => type !== 'text');
  const texts = parts.filter(({ type }) => type === 'text');
  if (attachments.length > 0) texts.push(textPart(SEE_NEXT));
  const text = toContent(texts);
  return {
    // Tool messages have no mark for failures.
    message: { role: 'tool', tool_call_id: id, content: block.is_error === true ? `Error: ${text}` : text },
    attachments: attachments.length === 0 ? [] : [textPart(`Attachments of the result of ${id}:`), ...attachments],
  };
}

function resultParts(located: Located, notes: Notes): readonly Fields[] {
  const { block, where } = located;
  if (block.type !== 'tool_reference') return toParts(located, notes);
  notes.allow(['type', 'tool_name'], block, where);
  return [textPart(`The tool ${notes.text(block.tool_name, `${where}.tool_name`)} can be called now.`)];
}
