/** Writes turns as system instructions and contents. */
import { imageTypeOf } from '../../dialects/gemini/gemini-input.ts';
import { inputOf } from '../custom-input.ts';
import { readDataUrl } from '../data-url.ts';
import type { Findings } from '../findings.ts';
import type { Call, FilePart, ImagePart, Output, Part, Sourced, Turn, Written } from '../request.ts';
import { signatureInBlock } from '../thought-signature.ts';

type GeminiPart = Record<string, unknown>;

interface Content {
  readonly role: 'user' | 'model';
  readonly parts: GeminiPart[];
}

export interface Conversation {
  readonly system: readonly GeminiPart[];
  readonly contents: readonly Content[];
}

/** Dummy signature accepted by Google, for calls made by other models or without a signature. */
const NO_SIGNATURE = 'skip_thought_signature_validator';
/** Models that do not verify signatures. */
const UNSIGNED_MODELS = /gemini-[12]\b/i;

/** `model`: the host's name of the model. */
export function conversationOf(
  { value: turns, field }: Sourced<readonly Turn[]>,
  model: string,
  findings: Findings,
): Conversation {
  const writer = new ContentsWriter(!UNSIGNED_MODELS.test(model), findings);
  for (const turn of turns) writer.add(turn, field);
  if (writer.contents.length === 0) findings.refuse(field, 'expected a message of a user that is not empty');
  return writer;
}

class ContentsWriter implements Conversation {
  readonly system: GeminiPart[] = [];
  readonly contents: Content[] = [];
  readonly #needsSignatures: boolean;
  readonly #findings: Findings;
  /** Names of past calls by id. */
  readonly #names = new Map<string, string>();

  constructor(needsSignatures: boolean, findings: Findings) {
    this.#needsSignatures = needsSignatures;
    this.#findings = findings;
  }

  /** `field`: path of the turns. */
  add(turn: Turn, field: string): void {
    if (turn.kind === 'instructions') this.system.push(...this.#parts(turn.parts));
    else if (turn.kind === 'user') this.#append('user', this.#parts(turn.parts));
    else {
      this.#append('model', this.#written(turn.written));
      this.#append(
        'user',
        turn.outputs.map((output) => this.#response(output, field)),
      );
      // Attachments of tool outputs follow the function responses.
      this.#append(
        'user',
        turn.outputs.flatMap((output) => this.#attached(output)),
      );
    }
  }

  /** Merges neighbouring contents of one role: hosts expect the responses to parallel calls together. */
  #append(role: Content['role'], parts: readonly GeminiPart[]): void {
    const last = this.contents.at(-1);
    if (parts.length === 0) return;
    if (last?.role === role) for (const part of parts) last.parts.push(part);
    else this.contents.push({ role, parts: [...parts] });
  }

  /** Converts parts. Empty texts are dropped. */
  #parts(parts: readonly Part[]): GeminiPart[] {
    return parts.flatMap((part) => {
      if (part.cache !== undefined) this.#findings.ignore(part.cache.field);
      const written = this.#part(part);
      return written === undefined ? [] : [written];
    });
  }

  #part(part: Part): GeminiPart | undefined {
    switch (part.kind) {
      case 'image':
        return imagePart(part, this.#findings);
      case 'file':
        return filePart(part, this.#findings);
      default:
        return part.text === '' ? undefined : { text: part.text };
    }
  }

  /** Converts output. A signature belongs to the next part, except for a text before a call: Google signs the call. */
  #written(written: readonly Written[]): GeminiPart[] {
    const parts: GeminiPart[] = [];
    let signature: string | undefined;
    const push = (part: GeminiPart) => {
      parts.push(signature === undefined ? part : { ...part, thoughtSignature: signature });
      signature = undefined;
    };
    const beforeCalls = textsBeforeCalls(written);
    for (const each of written) {
      if (each.kind === 'reasoning') {
        signature = each.block && signatureInBlock(each.block);
        // Reasoning of other hosts cannot be decrypted by this one.
        if (signature === undefined) this.#findings.ignore(each.field);
      } else if (each.kind === 'call') push(this.#call(each));
      else for (const part of this.#parts(each.parts)) beforeCalls.has(each) ? parts.push(part) : push(part);
    }
    return this.#signed(parts);
  }

  /** Adds dummy signatures: the first call of a turn and each image need one. */
  #signed(parts: GeminiPart[]): GeminiPart[] {
    if (!this.#needsSignatures) return parts;
    const first = parts.find((part) => 'functionCall' in part);
    const signed = [...(first === undefined ? [] : [first]), ...parts.filter((part) => 'inlineData' in part)];
    for (const part of signed) part.thoughtSignature ??= NO_SIGNATURE;
    return parts;
  }

  #call({ id, hostName, input, cache }: Call): GeminiPart {
    if (cache !== undefined) this.#findings.ignore(cache.field);
    this.#names.set(id, hostName);
    return { functionCall: { id, name: hostName, args: inputOf(input) } };
  }

  #response({ callId, content, cache }: Output, field: string): GeminiPart {
    if (cache !== undefined) this.#findings.ignore(cache.field);
    const name = this.#names.get(callId);
    if (name === undefined) this.#findings.refuse(field, 'the output of a tool has no call before it');
    const texts =
      typeof content === 'string' ? [content] : content.flatMap((part) => (part.kind === 'text' ? [part.text] : []));
    return { functionResponse: { id: callId, name, response: { output: texts.join('\n') } } };
  }

  #attached({ content }: Output): GeminiPart[] {
    return typeof content === 'string' ? [] : this.#parts(content.filter(({ kind }) => kind !== 'text'));
  }
}

/** Returns the texts that are followed by a call, with only texts in between. */
function textsBeforeCalls(written: readonly Written[]): ReadonlySet<Written> {
  const found = new Set<Written>();
  let behind: Written['kind'] | undefined;
  for (const each of written.toReversed()) {
    if (each.kind !== 'parts') behind = each.kind;
    else if (behind === 'call') found.add(each);
  }
  return found;
}

function imagePart({ url, detail }: ImagePart, findings: Findings): GeminiPart | undefined {
  findings.ignoreDetail(detail);
  const found = readDataUrl(url.value);
  if (found?.mediaType.startsWith('image/')) return { inlineData: { mimeType: found.mediaType, data: found.data } };
  const fetched = imageTypeOf(url.value);
  if (fetched !== undefined) return { fileData: { mimeType: fetched, fileUri: url.value } };
  findings.refuse(
    url.field,
    'expected a data URL in base64 with an image, or an https URL that ends in .png, .jpg or .webp',
  );
  return undefined;
}

function filePart({ data, url }: FilePart, findings: Findings): GeminiPart | undefined {
  const said = url ?? data;
  const found = data && readDataUrl(data.value);
  if (found !== undefined) return { inlineData: { mimeType: found.mediaType, data: found.data } };
  if (said !== undefined) findings.refuse(said.field, 'expected a data URL in base64');
  return undefined;
}
