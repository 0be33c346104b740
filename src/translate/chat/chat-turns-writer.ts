/** Writes the turns of a conversation as chat messages. */
import type { Fields } from '../../dialects/dialect.ts';
import { CUSTOM_INPUT } from '../custom-input.ts';
import type { Findings } from '../findings.ts';
import type { CacheMark, Call, FilePart, ImagePart, Output, Part, Turn, Written } from '../request.ts';
import { chatFieldsOf } from '../thought-signature.ts';

/** Separates texts from different messages or parts. */
const SEPARATOR = '\n\n';
/** Separates the parts of a tool output. */
const LINE_END = '\n';

export function messagesOf(turns: readonly Turn[], findings: Findings): readonly Fields[] {
  const instructions: Part[] = [];
  return turns.flatMap((turn, index): readonly Fields[] => {
    if (turn.kind === 'user') return [{ role: 'user', content: contentOf(turn.parts, findings) }];
    if (turn.kind === 'assistant') {
      return [...assistantMessages(turn.written, findings), ...outputMessages(turn.outputs, findings)];
    }
    for (const part of turn.parts) instructions.push(part);
    // Consecutive instructions are merged, because chat templates of many models accept one system message, at the start.
    if (turns[index + 1]?.kind === 'instructions') return [];
    return [systemMessage(instructions.splice(0), findings)];
  });
}

/** Writes instructions with the role `system`, which all hosts support. */
function systemMessage(parts: readonly Part[], findings: Findings): Fields {
  noteCacheEnds(parts, findings);
  return { role: 'system', content: textOf(parts, SEPARATOR) };
}

function textOf(parts: readonly Part[], separator: string): string {
  return parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join(separator);
}

function noteCacheEnds(parts: readonly { readonly cache?: CacheMark | undefined }[], findings: Findings): void {
  for (const { cache } of parts) if (cache !== undefined) findings.ignore(cache.field);
}

/** Returns a string if possible, because some hosts reject arrays of texts. */
function contentOf(parts: readonly Part[], findings: Findings): string | readonly Fields[] {
  noteCacheEnds(parts, findings);
  if (parts.every(({ kind }) => kind === 'text')) return textOf(parts, SEPARATOR);
  return parts.map((part) => partOf(part, findings));
}

function partOf(part: Part, findings: Findings): Fields {
  if (part.kind === 'image') return imagePart(part);
  if (part.kind === 'file') return filePart(part, findings);
  return { type: 'text', text: part.text };
}

function imagePart({ url, detail }: ImagePart): Fields {
  return {
    type: 'image_url',
    image_url: { url: url.value, ...(detail.value !== undefined && { detail: detail.value }) },
  };
}

function filePart({ data, url, name }: FilePart, findings: Findings): Fields {
  if (url !== undefined) findings.refuse(url.field, 'the provider of this model fetches no files; send file_data');
  return { type: 'file', file: { file_data: data?.value, ...(name !== undefined && { filename: name }) } };
}

/** Writes the model's output of one turn as one message. */
function assistantMessages(written: readonly Written[], findings: Findings): readonly Fields[] {
  const texts: string[] = [];
  const refusals: string[] = [];
  const calls: Fields[] = [];
  const thinking: Fields[] = [];
  const images: Fields[] = [];
  for (const each of written) {
    if (each.kind === 'reasoning') {
      const fields = each.block && chatFieldsOf(each.block);
      // Reasoning of other hosts cannot be decrypted by this one.
      if (fields === undefined) findings.ignore(each.field);
      else thinking.push(fields);
    } else if (each.kind === 'call') calls.push(callOf(each));
    else {
      noteCacheEnds(each.parts, findings);
      texts.push(textOf(each.parts, ''));
      for (const part of each.parts) {
        if (part.kind === 'refusal') refusals.push(part.text);
        if (part.kind === 'image') images.push(imagePart(part));
      }
    }
  }
  const content = texts.filter((text) => text !== '').join(SEPARATOR);
  if (texts.length + calls.length === 0) return [];
  return [
    {
      role: 'assistant',
      content: content === '' && refusals.length + calls.length + images.length > 0 ? null : content,
      ...(refusals.length > 0 && { refusal: refusals.join(SEPARATOR) }),
      ...joined(thinking),
      ...(images.length > 0 && { images }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
  ];
}

/** Merges the fields of several thinking blocks. */
function joined(thinking: readonly Fields[]): Fields {
  const all: Record<string, unknown> = {};
  const details: unknown[] = [];
  for (const { reasoning_details: some, ...texts } of thinking) {
    if (Array.isArray(some)) for (const detail of some) details.push(detail);
    for (const [name, text] of Object.entries(texts)) all[name] = `${all[name] ?? ''}${text}`;
  }
  return { ...all, ...(details.length > 0 && { reasoning_details: details }) };
}

function callOf({ id, hostName, input }: Call): Fields {
  const json =
    'json' in input ? input.json : JSON.stringify('text' in input ? { [CUSTOM_INPUT]: input.text } : input.value);
  return { id, type: 'function', function: { name: hostName, arguments: json } };
}

/** Tool messages accept only text. Other parts follow in a user message. */
function outputMessages(outputs: readonly Output[], findings: Findings): readonly Fields[] {
  const attached: Part[] = [];
  const messages = outputs.map(({ callId, content: parts }): Fields => {
    const message = { role: 'tool', tool_call_id: callId };
    if (typeof parts === 'string') return { ...message, content: parts };
    const others = parts.filter(({ kind }) => kind !== 'text');
    if (others.length === 0) return { ...message, content: textOf(parts, LINE_END) };
    for (const part of [noteOf(callId), ...others]) attached.push(part);
    const texts = parts.filter(({ kind }) => kind === 'text');
    return { ...message, content: textOf([...texts, FOLLOWS], LINE_END) };
  });
  noteCacheEnds(outputs, findings);
  if (attached.length === 0) return messages;
  return [...messages, { role: 'user', content: attached.map((part) => partOf(part, findings)) }];
}

const FOLLOWS: Part = noteText('(What the tool has attached follows in the next message of the user.)');

function noteOf(callId: string): Part {
  return noteText(`(Attached by the tool, in the call ${callId}:)`);
}

function noteText(text: string): Part {
  return { kind: 'text', text };
}
