/** Reads Google's answers, whole or in pieces, and their usage. */
import { isObject, objectsIn } from '../../core/json.ts';
import { NO_PARTS, type TokenUsage } from '../../core/usage.ts';
import { type AnswerFacts, type ChoiceProgress, countOf, isInputAlone, NO_OUTPUT, together } from '../answer.ts';
import type { Fields } from '../dialect.ts';
import { type ByModality, inputByModality, outputByModality, partsOrNone } from '../modalities.ts';
import { outputOfPart } from './gemini-output.ts';
import { hostCallsOf } from './gemini-tools.ts';

/** Reads an answer or a piece of a stream, which have the same structure. */
export function readGemini(answer: Fields): AnswerFacts {
  const candidates = objectsIn(answer.candidates);
  const progress = isBlocked(answer) ? [BLOCKED] : candidates.map(progressOf);
  const isAnswer = Array.isArray(answer.candidates) || progress.length > 0;
  const { usageMetadata: reported } = answer;
  const usage = readUsage(reported);
  return {
    usage,
    hasUsage: isObject(reported),
    isInputAlone: isInputAlone(reported, usage, 'candidatesTokenCount'),
    choices: isAnswer ? progress.length : undefined,
    progress,
    toolCalls: candidates.flatMap((candidate, position) => hostCallsOf(candidate, indexOf(candidate, position))),
    id: answer.responseId,
    serviceTier: isObject(reported) ? tierIn(reported) : undefined,
    model: answer.modelVersion,
  };
}

/** Vertex AI's names of service tiers. Provisioned throughput is not billed by request. */
const TIERS: ReadonlyMap<unknown, string> = new Map([
  ['ON_DEMAND', 'standard'],
  ['ON_DEMAND_PRIORITY', 'priority'],
  ['ON_DEMAND_FLEX', 'flex'],
]);

function tierIn({ serviceTier, trafficType }: Fields): string | undefined {
  return typeof serviceTier === 'string' ? serviceTier.toLowerCase() : TIERS.get(trafficType);
}

/** The empty choice of a prompt that the host blocked. Its usage is billed. */
const BLOCKED: ChoiceProgress = { ...NO_OUTPUT, index: 0, finished: true };

export function isBlocked({ promptFeedback: feedback, candidates }: Fields): boolean {
  return objectsIn(candidates).length === 0 && isObject(feedback) && typeof feedback.blockReason === 'string';
}

export function isFinished({ finishReason: reason }: Fields): boolean {
  return typeof reason === 'string' && reason !== '' && reason !== 'FINISH_REASON_UNSPECIFIED';
}

export function partsOf({ content }: Fields): readonly Fields[] {
  return isObject(content) ? objectsIn(content.parts) : [];
}

function progressOf(candidate: Fields, position: number): ChoiceProgress {
  return {
    index: indexOf(candidate, position),
    finished: isFinished(candidate),
    ...together(partsOf(candidate).map(outputOfPart)),
  };
}

/** The first candidate may lack its index. */
export function indexOf({ index }: Fields, position: number): number {
  return typeof index === 'number' ? index : position;
}

/**
 * Returns the reported usage if it is valid: whole numbers, not all zero. Thoughts are output in addition to the
 * candidates, and results of tools are input in addition to the prompt. A total above their sum counts as output.
 */
export function readUsage(usage: unknown): TokenUsage | undefined {
  if (!isObject(usage)) return undefined;
  const figure = (value: unknown) => countOf(value ?? 0) ?? Number.NaN;
  const prompt = figure(usage.promptTokenCount) + figure(usage.toolUsePromptTokenCount);
  const written = figure(usage.candidatesTokenCount) + figure(usage.thoughtsTokenCount);
  const promptTokens = countOf(prompt);
  const completionTokens = countOf(Math.max(written, figure(usage.totalTokenCount) - prompt));
  if (promptTokens === undefined || completionTokens === undefined || promptTokens + completionTokens === 0) {
    return undefined;
  }
  const cachedTokens = Math.min(promptTokens, countOf(usage.cachedContentTokenCount) ?? 0);
  const read = byModality([...objectsIn(usage.promptTokensDetails), ...objectsIn(usage.toolUsePromptTokensDetails)]);
  const cached = Array.isArray(usage.cacheTokensDetails) ? byModality(objectsIn(usage.cacheTokensDetails)) : undefined;
  const parts = partsOrNone({
    ...NO_PARTS,
    ...inputByModality({ promptTokens, cachedTokens, writtenTokens: 0 }, read, cached),
    ...outputByModality(completionTokens, byModality(objectsIn(usage.candidatesTokensDetails))),
  });
  return { promptTokens, cachedTokens, completionTokens, ...(parts && { parts }) };
}

function byModality(details: readonly Fields[]): ByModality {
  const sum = (name: string) =>
    details.reduce((all, { modality, tokenCount }) => all + (modality === name ? (countOf(tokenCount) ?? 0) : 0), 0);
  return { audio: sum('AUDIO'), image: sum('IMAGE') };
}
