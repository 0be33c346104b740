/** Reads Gemini answers. Stream pieces have the same form. */
import { newId } from '../../core/ids.ts';
import { isObject, objectOf } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { isBlocked, isFinished, partsOf, readUsage } from '../../dialects/gemini/gemini-answer.ts';
import { type AnswerEnd, type AnswerWriter, type HostReader, usageOf } from '../answer.ts';
import { blockOfSignature } from '../thought-signature.ts';

export class GeminiAnswerReader implements HostReader {
  readonly #writer: AnswerWriter;
  #id: unknown;
  /** Number of calls. */
  #calls = 0;
  /** Whether the latest piece was a thought. */
  #isThinking = false;
  #hasFinished = false;

  constructor(writer: AnswerWriter) {
    this.#writer = writer;
  }

  readWhole(answer: Fields): void {
    this.readEvent(answer);
  }

  readEvent(answer: Fields): void {
    this.#id ??= answer.responseId;
    const { thoughtsTokenCount: reasoning } = objectOf(answer.usageMetadata);
    this.#writer.usage = usageOf(readUsage(answer.usageMetadata), reasoning) ?? this.#writer.usage;
    this.#writer.serviceTier = tierOf(answer.usageMetadata) ?? this.#writer.serviceTier;
    this.#writer.begin({ id: answer.responseId, model: answer.modelVersion });
    if (isBlocked(answer)) return this.#readBlock(answer.promptFeedback);
    // Translated requests ask for one candidate.
    const candidate = Array.isArray(answer.candidates) ? answer.candidates.find(isObject) : undefined;
    if (candidate === undefined) return;
    for (const part of partsOf(candidate)) this.#readPart(part);
    if (isFinished(candidate))
      this.#finish(ENDS.get(candidate.finishReason) ?? (this.#calls > 0 ? 'calls' : 'complete'));
  }

  end(): void {}

  #readBlock(feedback: unknown): void {
    const { blockReasonMessage: message } = objectOf(feedback);
    if (typeof message === 'string') this.#writer.refusal(message);
    this.#finish('filtered');
  }

  #readPart({ text, thought, thoughtSignature, functionCall: call, inlineData }: Fields): void {
    if (isObject(call)) {
      this.#seal(thoughtSignature);
      return this.#readCall(call);
    }
    if (isObject(inlineData) && thought !== true) {
      this.#seal(thoughtSignature);
      return this.#readImage(inlineData);
    }
    if (typeof text !== 'string') return;
    if (thought === true) {
      if (!this.#isThinking) this.#writer.beginReasoning();
      this.#isThinking = true;
      return this.#writer.reasoning(text);
    }
    // A signature on a text is kept only if it follows thoughts.
    if (this.#isThinking) this.#seal(thoughtSignature);
    if (text === '') return;
    this.#isThinking = false;
    this.#writer.text(text);
  }

  #readImage({ mimeType, data }: Fields): void {
    this.#isThinking = false;
    const isImage = typeof mimeType === 'string' && mimeType.startsWith('image/') && typeof data === 'string';
    if (isImage) this.#writer.image(`data:${mimeType};base64,${data}`);
  }

  #seal(signature: unknown): void {
    if (typeof signature !== 'string' || signature === '') return;
    if (!this.#isThinking) this.#writer.beginReasoning();
    this.#writer.sealReasoning(blockOfSignature(signature));
    this.#isThinking = false;
  }

  /** Reads a call, which arrives in one piece. The key is unique, because some calls have no id. */
  #readCall({ id, name, args }: Fields): void {
    this.#isThinking = false;
    const key = Symbol();
    const isNamed = typeof id === 'string' && id !== '';
    const number = this.#calls++;
    this.#writer.completeCalls();
    this.#writer.beginCall(key, isNamed ? id : this.#callId(number), typeof name === 'string' ? name : '');
    this.#writer.callArguments(key, JSON.stringify(objectOf(args)));
    this.#writer.endArguments(key);
  }

  #callId(number: number): string {
    return typeof this.#id === 'string' && this.#id !== '' ? `call_${this.#id}_${number}` : newId('call', 0);
  }

  #finish(end: AnswerEnd): void {
    if (this.#hasFinished) return;
    this.#hasFinished = true;
    this.#writer.finish(end);
  }
}

const ENDS: ReadonlyMap<unknown, AnswerEnd> = new Map<unknown, AnswerEnd>([
  ['MAX_TOKENS', 'length'],
  ...['SAFETY', 'RECITATION', 'LANGUAGE', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII'].map(
    (reason) => [reason, 'filtered'] as const,
  ),
]);

const TIERS: ReadonlyMap<unknown, string> = new Map([
  ['standard', 'default'],
  ['flex', 'flex'],
  ['priority', 'priority'],
]);

function tierOf(usage: unknown): string | undefined {
  const tier = isObject(usage) ? usage.serviceTier : undefined;
  return typeof tier === 'string' ? TIERS.get(tier.toLowerCase()) : undefined;
}
