/** Reads answers, whole or in pieces, and their usage. */
import { isObject, objectsIn } from '../../core/json.ts';
import { NO_PARTS, type TokenUsage } from '../../core/usage.ts';
import { type AnswerFacts, type ChoiceProgress, countOf, isInputAlone, together } from '../answer.ts';
import type { Fields } from '../dialect.ts';
import { outputOfPart } from './gemini-output.ts';
import { hostCallsOf } from './gemini-tools.ts';

/** An answer and a piece of one have the same form. */
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

/** How Vertex AI says it. Throughput that was bought is not billed by requests. */
const TIERS: ReadonlyMap<unknown, string> = new Map([
  ['ON_DEMAND', 'standard'],
  ['ON_DEMAND_PRIORITY', 'priority'],
  ['ON_DEMAND_FLEX', 'flex'],
]);

function tierIn({ serviceTier, trafficType }: Fields): string | undefined {
  return typeof serviceTier === 'string' ? serviceTier.toLowerCase() : TIERS.get(trafficType);
}

/** A prompt that its host has read and refuses. It answers nothing, and says what it bills. */
const BLOCKED: ChoiceProgress = { index: 0, finished: true, written: [], unseenTokens: 0, audioBytes: 0 };

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

/** The first candidate has none. */
function indexOf({ index }: Fields, position: number): number {
  return typeof index === 'number' ? index : position;
}

/**
 * The reported usage, if it is usable: whole numbers, not all zero. Thoughts are output beside that of the candidates, and
 * what tools have brought in is input beside the prompt. A total that is more than these has been output, too.
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
  const heard = audioIn(usage.promptTokensDetails) + audioIn(usage.toolUsePromptTokensDetails);
  const audioInputTokens = Math.min(
    promptTokens - cachedTokens,
    Math.max(0, heard - audioIn(usage.cacheTokensDetails)),
  );
  const audioOutputTokens = Math.min(completionTokens, audioIn(usage.candidatesTokensDetails));
  const hasParts = audioInputTokens + audioOutputTokens > 0;
  const parts = { ...NO_PARTS, audioInputTokens, audioOutputTokens };
  return { promptTokens, cachedTokens, completionTokens, ...(hasParts && { parts }) };
}

/** The tokens of a list by modality that are audio. */
function audioIn(details: unknown): number {
  const spoken = objectsIn(details).filter(({ modality }) => modality === 'AUDIO');
  return spoken.reduce((sum, { tokenCount }) => sum + (countOf(tokenCount) ?? 0), 0);
}
