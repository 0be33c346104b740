/** Writes turns as a system prompt and Converse messages. */
import { isClaude, isNova } from '../../core/bedrock.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { CallIds } from '../call-ids.ts';
import { inputOf } from '../custom-input.ts';
import { readDataUrl } from '../data-url.ts';
import { type Findings, present } from '../findings.ts';
import type { Block } from '../messages/messages-parts-writer.ts';
import { append, type Conversation, type Message } from '../messages/messages-turns-writer.ts';
import type { CacheMark, FilePart, ImagePart, Output, Part, Sourced, Turn, Written } from '../request.ts';
import { isOfMessages } from '../thought-signature.ts';

/** `model`: the host's name of the model. */
export function conversationOf(
  { value: turns, field }: Sourced<readonly Turn[]>,
  model: string,
  findings: Findings,
): Conversation {
  const writer = new BlocksWriter(model, findings);
  for (const turn of turns) writer.add(turn);
  if (writer.messages.length === 0) findings.refuse(field, 'expected a message of a user that is not empty');
  return writer;
}

/** Returns a cache point. Only Claude and Nova accept one, and only Claude a lifetime. */
export function cachePointsOf(cache: CacheMark | undefined, model: string, findings: Findings): Block[] {
  if (cache === undefined) return [];
  if (isClaude(model)) return [{ cachePoint: present({ type: 'default', ttl: cache.value.ttl }) }];
  if (isNova(model)) return [{ cachePoint: { type: 'default' } }];
  findings.ignore(cache.field);
  return [];
}

class BlocksWriter implements Conversation {
  readonly system: Block[] = [];
  readonly messages: Message[] = [];
  readonly #model: string;
  readonly #findings: Findings;
  readonly #ids = new CallIds();
  #documents = 0;

  constructor(model: string, findings: Findings) {
    this.#model = model;
    this.#findings = findings;
  }

  add(turn: Turn): void {
    if (turn.kind === 'instructions') this.system.push(...this.#parts(turn.parts));
    else if (turn.kind === 'user') append(this.messages, 'user', this.#parts(turn.parts));
    else {
      append(
        this.messages,
        'assistant',
        turn.written.flatMap((each) => this.#written(each)),
      );
      append(
        this.messages,
        'user',
        turn.outputs.flatMap((output) => this.#result(output)),
      );
    }
  }

  /** Converts parts. Hosts reject empty texts, so these are dropped. */
  #parts(parts: readonly Part[]): Block[] {
    return parts.flatMap((part) => {
      const block = this.#part(part);
      return block === undefined ? [] : this.#marked(block, part.cache);
    });
  }

  #part(part: Part): Block | undefined {
    switch (part.kind) {
      case 'image':
        return this.#image(part);
      case 'file':
        return this.#document(part);
      default:
        return part.text.trim() === '' ? undefined : { text: part.text };
    }
  }

  #marked(block: Block, cache: CacheMark | undefined): Block[] {
    return [block, ...cachePointsOf(cache, this.#model, this.#findings)];
  }

  #written(each: Written): Block[] {
    if (each.kind === 'parts') return this.#parts(each.parts);
    if (each.kind === 'call') {
      const { id, hostName, input, cache } = each;
      const toolUse = { toolUseId: this.#ids.hostId(id), name: hostName, input: inputOf(input) };
      return this.#marked({ toolUse }, cache);
    }
    const reasoningContent = each.block && isOfMessages(each.block) ? reasoningOf(each.block) : undefined;
    if (reasoningContent !== undefined) return [{ reasoningContent }];
    this.#findings.ignore(each.field);
    return [];
  }

  #result({ callId, content, cache }: Output): Block[] {
    const blocks = typeof content !== 'string' ? this.#parts(content) : content === '' ? [] : [{ text: content }];
    const marks = blocks.filter((block) => 'cachePoint' in block);
    const said = blocks.filter((block) => !('cachePoint' in block));
    return [...this.#marked({ toolResult: { toolUseId: this.#ids.hostId(callId), content: said } }, cache), ...marks];
  }

  #image({ url, detail }: ImagePart): Block | undefined {
    this.#findings.ignoreDetail(detail);
    const found = readDataUrl(url.value);
    const format = IMAGE_FORMATS.get(found?.mediaType ?? '');
    if (found !== undefined && format !== undefined) return { image: { format, source: { bytes: found.data } } };
    this.#findings.refuse(url.field, 'expected a data URL in base64 with a JPEG, PNG, GIF or WebP image');
    return undefined;
  }

  #document({ data, url, name }: FilePart): Block | undefined {
    const found = data && readDataUrl(data.value);
    const format = DOCUMENT_FORMATS.get(found?.mediaType ?? '');
    if (found !== undefined && format !== undefined) {
      const number = ++this.#documents;
      return { document: { format, name: documentName(name, number), source: { bytes: found.data } } };
    }
    const { field } = url ?? data ?? { field: '' };
    this.#findings.refuse(
      field,
      `expected a data URL in base64 with one of ${[...DOCUMENT_FORMATS.values()].join(', ')}`,
    );
    return undefined;
  }
}

/** Converts signed reasoning; undefined for unsigned. */
function reasoningOf({ type, thinking, signature, data }: Fields): Fields | undefined {
  if (type === 'redacted_thinking') return { redactedContent: data };
  return signature === '' ? undefined : { reasoningText: { text: thinking, signature } };
}

const IMAGE_FORMATS: ReadonlyMap<string, string> = new Map([
  ['image/jpg', 'jpeg'],
  ...['jpeg', 'png', 'gif', 'webp'].map((format) => [`image/${format}`, format] as const),
]);

const OFFICE = 'application/vnd.openxmlformats-officedocument';
const DOCUMENT_FORMATS: ReadonlyMap<string, string> = new Map([
  ['application/pdf', 'pdf'],
  ['text/plain', 'txt'],
  ['text/markdown', 'md'],
  ['text/html', 'html'],
  ['text/csv', 'csv'],
  ['application/msword', 'doc'],
  [`${OFFICE}.wordprocessingml.document`, 'docx'],
  ['application/vnd.ms-excel', 'xls'],
  [`${OFFICE}.spreadsheetml.sheet`, 'xlsx'],
]);

/** Maximum length of a document name. */
const MAX_NAME = 200;

/** Replaces invalid characters and makes the name unique with a number. */
function documentName(name: string | undefined, number: number): string {
  const plain = (name ?? 'document').replaceAll(/[^A-Za-z0-9()[\]-]+/g, ' ').trim();
  return `${plain.slice(0, MAX_NAME - 10)} ${number}`.trim();
}
