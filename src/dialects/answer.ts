/** What the gateway needs to know of an answer or of an event of a stream, in any dialect. */
import type { ToolCall } from '../core/host-tools.ts';
import { isObject } from '../core/json.ts';
import { MAX_REPORTED_TOKENS, type TokenUsage } from '../core/usage.ts';

/** What one answer, or one event of a stream, contains. */
export interface AnswerFacts {
  /** The reported usage, if it is usable. In a stream, the running total. */
  readonly usage: TokenUsage | undefined;
  /** Whether there is a usage object, usable or not. */
  readonly hasUsage: boolean;
  /** The reported usage has no figure of the output. */
  readonly isInputAlone?: boolean;
  /** The number of choices; undefined if this is no answer. */
  readonly choices: number | undefined;
  readonly progress: readonly ChoiceProgress[];
  /** Calls of the host's own tools, as far as they are known here. */
  readonly toolCalls?: readonly ToolCall[];
  /** The upstream's id of the answer. */
  readonly id: unknown;
  /** The service tier that the upstream says it used. */
  readonly serviceTier: unknown;
  /** The model that the upstream says it used. */
  readonly model?: unknown;
  /** An error after which the input is billed, although no usage is reported. */
  readonly isInputBilled?: true;
  /** It is of a kind that is no output of tokens, or none that is billed. */
  readonly isWithoutOutput?: true;
  /** What its host keeps of it, by ids. */
  readonly kept?: KeptAnswer | undefined;
}

/** The ids of an answer that its host keeps, and of what is in it. */
export interface KeptAnswer {
  readonly id: string;
  readonly items: readonly KeptItemFacts[];
  /** How many images the host has made for it. It reads them with the next request first. */
  readonly images: number;
}

/** `isWritten`: the model wrote it as text. */
interface KeptItemFacts {
  readonly id: string;
  readonly isWritten: boolean;
}

/** Nothing of interest. */
export const NO_FACTS: AnswerFacts = {
  usage: undefined,
  hasUsage: false,
  choices: undefined,
  progress: [],
  id: undefined,
  serviceTier: undefined,
};

/** What a model has written. */
export interface Output {
  /** Text, thinking, refusals and tool calls. */
  readonly written: readonly string[];
  /** Tokens at most of what cannot be read here, such as encrypted thinking. */
  readonly unseenTokens: number;
  /** The number of images, whether the model or one of the host's tools has made them. */
  readonly images: number;
  /** Bytes of audio, as its format packs it. */
  readonly audioBytes: number;
}

/** What an answer or an event contains of one choice. */
export interface ChoiceProgress extends Output {
  readonly index: number;
  /** Whether it is complete: it has its finish reason. */
  readonly finished: boolean;
}

export const NO_OUTPUT: Output = { written: [], unseenTokens: 0, images: 0, audioBytes: 0 };

/** Whether an output holds anything. */
export function isOutput({ written, unseenTokens, images, audioBytes }: Output): boolean {
  return unseenTokens + images + audioBytes > 0 || written.some((text) => text !== '');
}

/** Several outputs as one. */
export function together(outputs: readonly Output[]): Output {
  return {
    written: outputs.flatMap(({ written }) => written),
    unseenTokens: outputs.reduce((sum, { unseenTokens }) => sum + unseenTokens, 0),
    images: outputs.reduce((sum, { images }) => sum + images, 0),
    audioBytes: outputs.reduce((sum, { audioBytes }) => sum + audioBytes, 0),
  };
}

/** The bytes that base64 stands for; 0 for what is no string. */
export function bytesOfBase64(data: unknown): number {
  return typeof data === 'string' ? Math.floor((data.length * 3) / 4) : 0;
}

/**
 * The most tokens that something encrypted stands for, beyond the bytes of it that are shown: one for each byte that its
 * base64 holds. Prose has a quarter of that, and whoever asks for thinking in hieroglyphs gets four fifths.
 */
export function unseenTokensOf(encrypted: unknown, shownBytes = 0): number {
  return Math.max(0, bytesOfBase64(encrypted) - shownBytes);
}

/** A reported count: a whole number from 0 to {@link MAX_REPORTED_TOKENS}, otherwise undefined. */
export function countOf(value: unknown): number | undefined {
  const isValid =
    typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= MAX_REPORTED_TOKENS;
  return isValid ? value : undefined;
}

/** Whether a report says nothing of the output: no field of this name is in it, and its total leaves nothing. */
export function isInputAlone(report: unknown, read: TokenUsage | undefined, name: string): boolean {
  if (!isObject(report) || read?.completionTokens !== 0) return false;
  return report[name] === undefined || report[name] === null;
}

/**
 * The tokens that the formats of media report, if they are usable: whole numbers, not both zero. Output is the larger of
 * `output_tokens` and what `total_tokens` leaves beside the input.
 */
export function mediaTokens(
  usage: Readonly<Record<string, unknown>>,
): Pick<TokenUsage, 'promptTokens' | 'completionTokens'> | undefined {
  const promptTokens = countOf(usage.input_tokens);
  const output = countOf(usage.output_tokens);
  if (promptTokens === undefined || output === undefined || promptTokens + output === 0) return undefined;
  return { promptTokens, completionTokens: Math.max(output, (countOf(usage.total_tokens) ?? 0) - promptTokens) };
}

/** The calls of tools that a report counts: `{web_search_requests: 2}` is two of `web_search`, by the ending `_requests`. */
export function reportedCalls(counts: unknown, ending: string): Record<string, number> {
  if (!isObject(counts)) return {};
  const named = Object.entries(counts).filter(([name]) => name.endsWith(ending));
  return Object.fromEntries(named.map(([name, count]) => [name.slice(0, -ending.length), countOf(count) ?? 0]));
}

/** Visible ASCII. Nobody could type any other id. */
const QUOTABLE_ID = /^[!-~]{1,200}$/;

/** The id if it is one that people can quote, for example in a support request. */
export function quotableId(id: unknown): string | undefined {
  return typeof id === 'string' && QUOTABLE_ID.test(id) ? id : undefined;
}
