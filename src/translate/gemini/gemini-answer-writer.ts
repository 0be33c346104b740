/** Writes answers of Google's dialect, whole or in pieces. */
import type { ClientError } from '../../core/errors.ts';
import { isObject, parseJson } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { geminiErrorBody } from '../../dialects/gemini/errors.ts';
import { dataEvent } from '../../wire/sse.ts';
import {
  type AnswerEnd,
  type AnswerHead,
  type AnswerUsage,
  GatheredAnswer,
  type GatheredCall,
  type StreamWriter,
  TerseWriter,
  type WholeWriter,
} from '../answer.ts';
import { signatureOfBlocks } from '../thought-signature.ts';
import type { ResponseContext } from '../translation.ts';

/** What the request decides about its answer. */
export interface GeminiOptions {
  /** The name of the model, where the host does not say one. */
  readonly model: string;
  readonly showsThoughts: boolean;
}

/** A whole answer. */
export class GeminiWriter extends GatheredAnswer implements WholeWriter {
  readonly #options: GeminiOptions;
  readonly #context: ResponseContext;

  constructor(options: GeminiOptions, context: ResponseContext) {
    super();
    this.#options = options;
    this.#context = context;
  }

  whole(): Fields {
    const { allReasoning, allText, allRefusal, calls, seals } = this;
    const written = allText + allRefusal;
    const [first = { text: '' }, ...others] = [
      ...(written === '' ? [] : [{ text: written }]),
      ...calls.map((call, index) => callPart(call, index, this.#context)),
    ];
    const isShown = allReasoning !== '' && this.#options.showsThoughts;
    const parts = [...(isShown ? [{ text: allReasoning, thought: true }] : []), signed(first, seals), ...others];
    const finishReason = finishReasonOf(this.end, allRefusal !== '');
    return answerOf(parts, headOf(this.head, this.#options, this.#context), { finishReason, usage: this.usage });
  }
}

/** The events of a stream. */
export class PieceWriter extends TerseWriter implements StreamWriter {
  readonly #options: GeminiOptions;
  readonly #context: ResponseContext;
  #head: Fields | undefined;
  /** Calls that may go on, by their keys. */
  readonly #open = new Map<unknown, GatheredCall>();
  #calls = 0;
  /** What has been sealed since the last part. */
  #seals: Fields[] = [];
  #hasRefusal = false;
  #end: AnswerEnd | undefined;
  #events = '';

  constructor(options: GeminiOptions, context: ResponseContext) {
    super();
    this.#options = options;
    this.#context = context;
  }

  begin(head: AnswerHead): void {
    this.#head ??= headOf(head, this.#options, this.#context);
  }

  reasoning(text: string): void {
    if (text !== '' && this.#options.showsThoughts) this.#write({ text, thought: true });
  }

  override sealReasoning(block: Fields): void {
    this.#seals.push(block);
  }

  text(text: string): void {
    if (text !== '') this.#writeSigned({ text });
  }

  refusal(text: string): void {
    this.#hasRefusal ||= text !== '';
    this.text(text);
  }

  beginCall(key: unknown, id: unknown, hostName: string): void {
    this.endArguments(key);
    this.#open.set(key, { id, hostName, json: '' });
  }

  callArguments(key: unknown, json: string): void {
    const call = this.#open.get(key);
    if (call !== undefined) call.json += json;
  }

  /** A call goes out as a whole. */
  override endArguments(key: unknown): void {
    const call = this.#open.get(key);
    this.#open.delete(key);
    if (call !== undefined) this.#writeSigned(callPart(call, this.#calls++, this.#context));
  }

  finish(end: AnswerEnd): void {
    this.#end = end;
    for (const key of [...this.#open.keys()]) this.endArguments(key);
  }

  take(): string {
    const events = this.#events;
    this.#events = '';
    return events;
  }

  /** The last piece has the finish reason and the usage. */
  completion(): string {
    this.finish(this.#end ?? 'complete');
    const finishReason = finishReasonOf(this.#end, this.#hasRefusal);
    this.#writeSigned({ text: '' }, { finishReason, usage: this.usage });
    return this.take();
  }

  failure(error: ClientError): string {
    return dataEvent(geminiErrorBody(error, this.#context.requestId));
  }

  #writeSigned(part: Fields, end: Ending = {}): void {
    const seals = this.#seals;
    this.#seals = [];
    this.#write(signed(part, seals), end);
  }

  /** Some hosts leave out the start. */
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

/** What a host wants back stands at the part behind it. */
function signed(part: Fields, seals: readonly Fields[]): Fields {
  return seals.length === 0 ? part : { ...part, thoughtSignature: signatureOfBlocks(seals) };
}

function callPart({ id, hostName, json }: GatheredCall, index: number, { requestId }: ResponseContext): Fields {
  const callId = typeof id === 'string' && id !== '' ? id : `call_${requestId}_${index}`;
  return { functionCall: { id: callId, name: hostName, args: argsOf(json) } };
}

/** This dialect has objects only. Any other text becomes the field `input` of one, so that nothing is lost. */
function argsOf(text: string): Fields {
  if (text.trim() === '') return {};
  const value = parseJson(text)?.value;
  return isObject(value) ? value : { input: text };
}

function finishReasonOf(end: AnswerEnd | undefined, hasRefusal: boolean): string {
  if (end === 'length') return 'MAX_TOKENS';
  return end === 'filtered' || hasRefusal ? 'SAFETY' : 'STOP';
}

function usageFields({ input, cached, output, reasoning = 0 }: AnswerUsage): Fields {
  return {
    promptTokenCount: input,
    candidatesTokenCount: output - Math.min(reasoning, output),
    totalTokenCount: input + output,
    ...(cached > 0 && { cachedContentTokenCount: cached }),
    ...(reasoning > 0 && { thoughtsTokenCount: reasoning }),
  };
}
