/** Writes Gemini answers and their stream pieces. */
import type { ClientError } from '../../core/errors.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { geminiErrorBody } from '../../dialects/gemini/gemini-errors.ts';
import { imageTypeOf } from '../../dialects/gemini/gemini-input.ts';
import { dataEvent } from '../../wire/sse.ts';
import {
  type AnswerEnd,
  type AnswerHead,
  type AnswerUsage,
  type GatheredCall,
  objectOf,
  type ResponseContext,
  type StreamWriter,
  TextWriter,
  type WholeWriter,
} from '../answer.ts';
import { readDataUrl } from '../data-url.ts';
import { present } from '../findings.ts';
import { googleDetails } from '../modalities.ts';
import { signatureOfBlocks } from '../thought-signature.ts';

/** Request settings that affect the answer. */
export interface GeminiOptions {
  /** Model name used unless the host reports one. */
  readonly model: string;
  readonly showsThoughts: boolean;
}

/** A part of an unstreamed answer, to which text may be appended. */
type Part =
  | { readonly kind: 'thought' | 'text'; text: string; readonly seals: readonly Fields[] }
  | { readonly kind: 'image'; readonly url: string; readonly seals: readonly Fields[] }
  | { readonly kind: 'call'; readonly call: GatheredCall; readonly seals: readonly Fields[] };

/** An unstreamed answer. Its parts keep the host's order. */
export class GeminiWriter extends TextWriter<GeminiOptions> implements WholeWriter {
  readonly #parts: Part[] = [];
  /** Blocks sealed since the last part. */
  #seals: Fields[] = [];

  reasoning(text: string): void {
    if (this.options.showsThoughts) this.#write('thought', text);
  }

  override sealReasoning(block: Fields): void {
    this.#seals.push(block);
  }

  text(text: string): void {
    this.#write('text', text);
  }

  image(url: string): void {
    this.#parts.push({ kind: 'image', url, seals: this.#seals.splice(0) });
  }

  beginCall(key: unknown, id: unknown, hostName: string): void {
    this.#parts.push({ kind: 'call', call: this.gather(key, id, hostName), seals: this.#seals.splice(0) });
  }

  whole(): Fields {
    // Seals need a following part to carry them, and clients expect at least one part.
    const hasEnd = this.#parts.some(({ kind }) => kind !== 'thought') && this.#seals.length === 0;
    if (!hasEnd) this.#parts.push({ kind: 'text', text: '', seals: this.#seals.splice(0) });
    let calls = 0;
    const parts = this.#parts.map((part) => {
      if (part.kind === 'thought') return { text: part.text, thought: true };
      if (part.kind === 'image') return signed(imagePart(part.url), part.seals);
      const said = part.kind === 'call' ? callPart(part.call, calls++, this.context) : { text: part.text };
      return signed(said, part.seals);
    });
    const finishReason = finishReasonOf(this.ending, this.hasRefusal);
    return answerOf(parts, headOf(this.head, this.options, this.context), { finishReason, usage: this.usage });
  }

  #write(kind: 'thought' | 'text', text: string): void {
    const last = this.#parts.at(-1);
    if (text === '') return;
    const isSigned = kind === 'text' && this.#seals.length > 0;
    if (last !== undefined && 'text' in last && last.kind === kind && !isSigned) last.text += text;
    else this.#parts.push({ kind, text, seals: kind === 'text' ? this.#seals.splice(0) : [] });
  }
}

export class PieceWriter extends TextWriter<GeminiOptions> implements StreamWriter {
  #head: Fields | undefined;
  /** Calls in progress, by key. */
  readonly #open = new Map<unknown, GatheredCall>();
  #calls = 0;
  /** Blocks sealed since the last part. */
  #seals: Fields[] = [];
  #events = '';

  override begin(head: AnswerHead): void {
    this.#head ??= headOf(head, this.options, this.context);
  }

  reasoning(text: string): void {
    if (text !== '' && this.options.showsThoughts) this.#write({ text, thought: true });
  }

  override sealReasoning(block: Fields): void {
    this.#seals.push(block);
  }

  text(text: string): void {
    if (text !== '') this.#writeSigned({ text });
  }

  image(url: string): void {
    this.#writeSigned(imagePart(url));
  }

  beginCall(key: unknown, id: unknown, hostName: string): void {
    this.endArguments(key);
    this.#open.set(key, this.gather(key, id, hostName));
  }

  /** Writes a call, which this format cannot split. */
  override endArguments(key: unknown): void {
    const call = this.#open.get(key);
    this.#open.delete(key);
    if (call !== undefined) this.#writeSigned(callPart(call, this.#calls++, this.context));
  }

  override finish(end: AnswerEnd): void {
    super.finish(end);
    for (const key of [...this.#open.keys()]) this.endArguments(key);
  }

  take(): string {
    const events = this.#events;
    this.#events = '';
    return events;
  }

  /** Writes the last piece, with finish reason and usage. */
  completion(): string {
    this.finish(this.ending ?? 'complete');
    const finishReason = finishReasonOf(this.ending, this.hasRefusal);
    this.#writeSigned({ text: '' }, { finishReason, usage: this.usage });
    return this.take();
  }

  failure(error: ClientError): string {
    return dataEvent(geminiErrorBody(error, this.context.requestId));
  }

  #writeSigned(part: Fields, end: Ending = {}): void {
    const seals = this.#seals;
    this.#seals = [];
    this.#write(signed(part, seals), end);
  }

  /** Writes a part, preceded by the start if the host has omitted it. */
  #write(part: Fields, end: Ending = {}): void {
    this.begin({});
    this.#events += dataEvent(JSON.stringify(answerOf([part], this.#head as Fields, end)));
  }
}

interface Ending {
  readonly finishReason?: string;
  readonly usage?: AnswerUsage | undefined;
}

function answerOf(parts: readonly Fields[], head: Fields, { finishReason, usage }: Ending): Fields {
  const candidate = {
    content: { role: 'model', parts },
    ...(finishReason !== undefined && { finishReason }),
    index: 0,
  };
  return { candidates: [candidate], ...(usage !== undefined && { usageMetadata: usageFields(usage) }), ...head };
}

function headOf({ id, model }: AnswerHead, options: GeminiOptions, { requestId }: ResponseContext): Fields {
  return {
    modelVersion: typeof model === 'string' && model !== '' ? model : options.model,
    responseId: typeof id === 'string' && id !== '' ? id : requestId,
  };
}

/** Attaches sealed blocks to the part after them. */
function signed(part: Fields, seals: readonly Fields[]): Fields {
  return seals.length === 0 ? part : { ...part, thoughtSignature: signatureOfBlocks(seals) };
}

function callPart({ id, hostName, json }: GatheredCall, index: number, { requestId }: ResponseContext): Fields {
  const callId = typeof id === 'string' && id !== '' ? id : `call_${requestId}_${index}`;
  return { functionCall: { id: callId, name: hostName, args: objectOf(json) } };
}

function imagePart(url: string): Fields {
  const found = readDataUrl(url);
  if (found !== undefined) return { inlineData: { mimeType: found.mediaType, data: found.data } };
  return { fileData: { mimeType: imageTypeOf(url) ?? 'image/png', fileUri: url } };
}

function finishReasonOf(end: AnswerEnd | undefined, hasRefusal: boolean): string {
  if (end === 'length') return 'MAX_TOKENS';
  return end === 'filtered' || hasRefusal ? 'SAFETY' : 'STOP';
}

function usageFields(usage: AnswerUsage): Fields {
  const { input, cached, output, reasoning = 0, inputMedia, cachedMedia, outputMedia } = usage;
  const candidates = output - Math.min(reasoning, output);
  return {
    ...present({
      promptTokensDetails: googleDetails(input, inputMedia),
      cacheTokensDetails: googleDetails(cached, cachedMedia),
      candidatesTokensDetails: googleDetails(candidates, outputMedia),
    }),
    promptTokenCount: input,
    candidatesTokenCount: candidates,
    totalTokenCount: input + output,
    ...(cached > 0 && { cachedContentTokenCount: cached }),
    ...(reasoning > 0 && { thoughtsTokenCount: reasoning }),
  };
}
