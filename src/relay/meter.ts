/** The meter: the usage of a request, as reported by the upstream or counted from the relayed output. */

import type { ToolCall } from '../core/host-tools.ts';
import { cacheWritesOf, NO_PARTS, type TokenUsage, type UsageSource } from '../core/usage.ts';
import { type AnswerFacts, type ChoiceProgress, isOutput, type KeptAnswer, quotableId } from '../dialects/answer.ts';
import { audioBytesPerToken } from '../dialects/audio-output.ts';
import { TextSample } from '../wire/text-sample.ts';
import { Silence } from './silence.ts';

export interface Metered {
  readonly usage: TokenUsage;
  readonly source: UsageSource;
  /** The visible calls of the host's own tools. */
  readonly calls: readonly ToolCall[];
  /** The output, to count its tokens; undefined if the usage is reported. */
  readonly written: TextSample | undefined;
  /** A report that may be incomplete: it came early, or covers only the input. The larger of it and the count is charged. */
  readonly earlyReport: TokenUsage | undefined;
  /** The early report covers the whole input. */
  readonly isInputReported?: true;
  /** Every choice has its finish reason, or the response is no stream. */
  readonly isWhole: boolean;
  /** Time since the model last showed output, in milliseconds; 0 for a complete response. */
  readonly silentMs: number;
  /** All figures reported by the upstream were impossible. */
  readonly isReportUnusable: boolean;
  /** The service tier that the upstream reported. */
  readonly serviceTier: string | undefined;
  /** The upstream's id of the completion. */
  readonly completionId: string | undefined;
  /** The model that the upstream reported. */
  readonly model: string | undefined;
  /** The stored response and items that the host reported. */
  readonly kept: KeptAnswer | undefined;
}

/** The basis of the figures of an attempt whose host reports no usage. */
export interface Metering {
  /** The estimated input. */
  readonly inputTokens: number;
  readonly bytesPerAudioToken: number;
  /** Maximum number of tokens of an image. */
  readonly tokensPerImage: number;
}

/** The prices of audio and images, in tokens of text. */
export interface Weights {
  readonly audioWeight: number;
  readonly imageWeight: number;
}

/** How output is measured while it is written. */
export interface Scale extends Weights {
  /** The known excess of the estimate over the counted text. */
  readonly excessTokens: number;
}

const NO_CALLS: readonly ToolCall[] = [];

/** Images are missing from a report with fewer tokens per image than this. The smallest known image has 258. */
const LEAST_IMAGE_TOKENS = 200;

/** The maximum of choices that a request can ask for. */
const MAX_CHOICES = 128;

export class Meter {
  #estimatedInput: number;
  #bytesPerAudioToken: number;
  #tokensPerImage = 0;
  #audioBytes = 0;
  /** Images since the last report that included image tokens. */
  #images = 0;
  #reported: TokenUsage | undefined;
  #isReportUnusable = false;
  #isInputAlone = false;
  /** The report came with the end of the response, or after it. */
  #isReportFinal = false;
  /** Output followed the report. */
  #isReportOutdated = false;
  /** Minimum output if none is reported. */
  #leastOutput = 1;
  readonly #nowMs: () => number;
  readonly #silence: Silence;
  #firstId: unknown;
  #serviceTier: string | undefined;
  /** Takes precedence over the tier in the body. */
  #tierOfHead: { readonly served: string | undefined } | undefined;
  #model: unknown;
  #kept: KeptAnswer | undefined;
  /** By id; the last report of a call is the most complete. */
  readonly #calls = new Map<string, ToolCall>();
  /** Created on first use: most whole answers report their usage. */
  #written: TextSample | undefined;
  /** True once any part of a response was read, which proves that the upstream did work. */
  hasRead = false;
  /** Counts progress of the answer: output, the end of a choice, a tool call, or a report of more output. */
  advances = 0;
  readonly #unfinished = new Set<number>();
  /** Indexes of finished choices. Hosts may send any index, so their number is bounded by the maximum of a request. */
  readonly #finished = new Set<number>();

  /** `estimatedInput` and `bytesPerAudioToken` apply until an attempt begins. `nowMs`: a monotonic clock. */
  constructor(estimatedInput: number, bytesPerAudioToken = audioBytesPerToken(), nowMs = () => performance.now()) {
    this.#nowMs = nowMs;
    this.#silence = new Silence(nowMs());
    this.#estimatedInput = estimatedInput;
    this.#bytesPerAudioToken = bytesPerAudioToken;
  }

  /** Begins an attempt at a host. */
  begin({ inputTokens, bytesPerAudioToken, tokensPerImage }: Metering): void {
    this.#estimatedInput = inputTokens;
    this.#bytesPerAudioToken = bytesPerAudioToken;
    this.#tokensPerImage = tokensPerImage;
    this.#tierOfHead = undefined;
    this.#silence.restart(this.#nowMs());
  }

  /** Takes the service tier from the head of a response. `served`: undefined for the requested tier. */
  readTier(tier: { readonly served: string | undefined } | undefined): void {
    this.#tierOfHead = tier;
  }

  /** Excludes the time since then from the silence, because the answer was not read during it. */
  excuseSince(startedMs: number): void {
    this.#silence.excuse(this.#nowMs() - startedMs);
  }

  get nowMs(): number {
    return this.#nowMs();
  }

  /** Reads a whole completion. Its text matters only if it reports no output. */
  readWhole(facts: AnswerFacts): void {
    const isReported = facts.usage !== undefined && !facts.isInputAlone;
    this.read(isReported ? { ...facts, progress: facts.progress.flatMap(mediaOf) } : facts);
  }

  /** Reads a completion or a chunk. Usage reports are running totals, so the last one counts. */
  read(facts: AnswerFacts): void {
    // Events such as pings do not prove work.
    this.hasRead ||=
      facts.hasUsage || facts.choices !== undefined || facts.progress.length > 0 || facts.id !== undefined;
    if (this.#isAdvancedBy(facts)) this.advances++;
    if (facts.usage !== undefined) this.#readReport(facts.usage, facts.isInputAlone ?? false);
    if (facts.hasUsage) this.#isReportUnusable = this.#reported === undefined;
    // Every chunk has the id; the first one suffices.
    this.#firstId ??= facts.id;
    this.#model ??= facts.model;
    this.#kept = facts.kept ?? this.#kept;
    if (typeof facts.serviceTier === 'string') this.#serviceTier = facts.serviceTier;
    if (facts.isWithoutOutput) this.#leastOutput = 0;
    for (const call of facts.toolCalls ?? []) this.#calls.set(call.id, call);
    for (const { index, finished, written, unseenTokens, images, audioBytes } of facts.progress) {
      if (unseenTokens + images > 0) this.#silence.explain(this.#nowMs());
      else if (written.length > 0) this.#silence.end(this.#nowMs());
      for (const text of written) this.written.add(text, index);
      this.written.addUnseen(unseenTokens);
      this.#audioBytes += audioBytes;
      this.#images += images;
      if (finished) {
        if (this.#finished.size < MAX_CHOICES) this.#finished.add(index);
        this.#unfinished.delete(index);
      } else {
        this.#unfinished.add(index);
      }
    }
    if (facts.usage !== undefined && imageTokensIn(facts.usage) > 0) this.#images = 0;
    if (facts.usage !== undefined) this.#isReportOutdated = false;
    else if (facts.progress.some(isOutput)) this.#isReportOutdated = true;
    if (facts.usage !== undefined || !this.complete) this.#isReportFinal = facts.usage !== undefined && this.complete;
  }

  /** Reads an event that differs from the previous one only in its text. `choice`: the choice of both. */
  readText(text: string, choice: number): void {
    this.advances++;
    this.#silence.end(this.#nowMs());
    this.written.add(text, choice);
  }

  #isAdvancedBy({ progress, toolCalls = [], usage }: AnswerFacts): boolean {
    const isFinishing = (index: number) => !this.#finished.has(index) && this.#finished.size < MAX_CHOICES;
    return (
      progress.some((choice) => isOutput(choice) || (choice.finished && isFinishing(choice.index))) ||
      toolCalls.some(({ id }) => !this.#calls.has(id)) ||
      (usage !== undefined && usage.completionTokens > (this.#reported?.completionTokens ?? 0))
    );
  }

  /**
   * Reads the usage in an error of the host. Its report is final if there was no output; otherwise it may cover only a part.
   */
  readError(facts: AnswerFacts): void {
    this.read(facts);
    const isNothingWritten = this.written.tokensAtMost + this.#images === 0;
    if (isNothingWritten && facts.usage !== undefined) this.#isReportFinal = true;
    if (isNothingWritten && facts.isInputBilled === true) {
      this.hasRead = true;
      this.#leastOutput = 0;
    }
  }

  /** Counts bytes relayed without parsing. */
  readUnparsed(bytes: number): void {
    this.hasRead = true;
    this.advances++;
    this.written.addUnparsed(bytes);
  }

  /**
   * The current output, in tokens of text: the larger of the estimate and the report. Reports that come with the end are left
   * out, because the stream cannot be stopped any more.
   */
  outputTokens(scale: Scale): number {
    return this.outputTokensIf(this.written.tokens - scale.excessTokens, scale);
  }

  /** The same with a different figure for the text. */
  outputTokensIf(textTokens: number, { audioWeight, imageWeight }: Weights): number {
    const media = audioWeight * this.#audioTokens + imageWeight * this.#imageTokens;
    if (this.#reported === undefined || this.complete) return textTokens + media;
    const { completionTokens, parts = NO_PARTS } = this.#reported;
    const { audioOutputTokens, imageOutputTokens } = parts;
    const more = (audioWeight - 1) * audioOutputTokens + (imageWeight - 1) * imageOutputTokens;
    return Math.max(textTokens + media, completionTokens + more);
  }

  /** Whether the output exceeds this many tokens. Cheap while it is clearly below. */
  hasWrittenMoreThan(tokens: number, scale: Scale): boolean {
    const atMost = this.written.tokensAtMost - scale.excessTokens;
    return this.outputTokensIf(atMost, scale) > tokens && this.outputTokens(scale) > tokens;
  }

  /** Whether the output is certain to stay within this many tokens after another text of this many bytes. */
  staysWithin(tokens: number, scale: Scale, bytes: number): boolean {
    return this.outputTokensIf(this.written.tokensAtMost + bytes - scale.excessTokens, scale) <= tokens;
  }

  get #audioTokens(): number {
    return Math.ceil(this.#audioBytes / this.#bytesPerAudioToken);
  }

  /** The tokens of all images: as reported, plus the maximum for each later one. */
  get #imageTokens(): number {
    return imageTokensIn(this.#reported) + this.#images * this.#tokensPerImage;
  }

  /** The output, for counting its tokens. */
  get written(): TextSample {
    this.#written ??= new TextSample();
    return this.#written;
  }

  /** The calls of the host's own tools. */
  get calls(): readonly ToolCall[] {
    return this.#calls.size === 0 ? NO_CALLS : [...this.#calls.values()];
  }

  /** The number of choices with a finish reason. */
  get finishedChoices(): number {
    return this.#finished.size;
  }

  /** True if the host has reported no work: no output, no usage, and no input that it bills. */
  get isIdle(): boolean {
    return this.advances === 0 && this.#reported === undefined && this.#leastOutput > 0;
  }

  /** True if every started choice has its finish reason. */
  get complete(): boolean {
    return this.#finished.size > 0 && this.#unfinished.size === 0;
  }

  /**
   * The figures of a complete response: as reported, otherwise estimated from the relayed output. A connected upstream is
   * assumed to have read the input and written at least one token, unless its error reports that it only read.
   */
  figures(): Metered {
    const reported = this.#reported;
    if (reported === undefined) return this.#counted(0, true);
    if (this.#isOutputMissing) {
      const counted = this.#counted(0, true);
      return { ...counted, ...larger(reported, withInputOf(reported, counted.usage)), isInputReported: true };
    }
    const rest = { written: undefined, earlyReport: undefined, silentMs: 0, isWhole: true };
    return { ...this.#known, ...this.#withMedia(reported), ...rest };
  }

  /** Corrects a report that counts audio and images as text, or leaves the images out. */
  #withMedia(reported: TokenUsage): Pick<Metered, 'usage' | 'source'> {
    const imageTokens = this.#images * this.#tokensPerImage;
    const isLeftOut = imageTokens > 0 && reported.completionTokens < LEAST_IMAGE_TOKENS * this.#images;
    const completionTokens = reported.completionTokens + (isLeftOut ? imageTokens : 0);
    const images = Math.min(completionTokens, imageTokensIn(reported) + imageTokens);
    const { audioOutputTokens: spoken } = reported.parts ?? NO_PARTS;
    const audio = spoken > 0 ? spoken : Math.min(completionTokens - images, this.#audioTokens);
    const usage = withMedia({ ...reported, completionTokens }, { audio, images });
    return { usage, source: isLeftOut ? 'counted' : 'reported' };
  }

  /**
   * The figures of an incomplete response. A report may precede most of the work, so the larger of report and count is
   * charged.
   */
  figuresOfPart(): Metered {
    if (this.#isReportFinal) return this.figures();
    const { complete } = this;
    return this.#counted(complete ? this.#silence.beforeLastMs : this.#silence.until(this.#nowMs()), complete);
  }

  /** The figures of a stream with a final event. A report before the end may omit most of the work. */
  figuresOfStream(): Metered {
    return this.complete || this.#isReportOutdated ? this.figuresOfPart() : this.figures();
  }

  /** The last report counts, but a report without output does not reset the reported output. */
  #readReport(usage: TokenUsage, isInputAlone: boolean): void {
    const { completionTokens } = this.#reported ?? usage;
    this.#reported = isInputAlone ? { ...usage, completionTokens } : usage;
    this.#isInputAlone = isInputAlone && completionTokens === 0;
  }

  /** Output is visible, but the report does not include it. */
  get #isOutputMissing(): boolean {
    return this.#isInputAlone && this.written.tokensAtMost + this.#audioBytes + this.#images > 0;
  }

  /** The larger of count and report. */
  #counted(silentMs: number, isWhole: boolean): Metered {
    const [audio, images] = [this.#audioTokens, this.#imageTokens];
    const completionTokens = Math.max(this.#leastOutput, this.written.tokens + audio + images);
    const counted = { promptTokens: this.#estimatedInput, cachedTokens: 0, completionTokens };
    const { usage, source } = larger(this.#reported, withMedia(counted, { audio, images }));
    const rest = { written: this.written, earlyReport: this.#reported, silentMs, isWhole };
    return { ...this.#known, usage, source, ...rest };
  }

  get #known(): Pick<Metered, 'calls' | 'isReportUnusable' | 'serviceTier' | 'completionId' | 'model' | 'kept'> {
    return {
      calls: this.calls,
      isReportUnusable: this.#isReportUnusable,
      serviceTier: this.#tierOfHead === undefined ? this.#serviceTier : this.#tierOfHead.served,
      completionId: quotableId(this.#firstId),
      model: quotableId(this.#model),
      kept: this.#kept,
    };
  }
}

/** The audio and images of a choice. The report covers the text of the choice, but may count media as text. */
function mediaOf(choice: ChoiceProgress): readonly ChoiceProgress[] {
  return choice.images + choice.audioBytes === 0 ? [] : [{ ...choice, written: [], unseenTokens: 0 }];
}

function imageTokensIn(usage: TokenUsage | undefined): number {
  return usage?.parts?.imageOutputTokens ?? 0;
}

/**
 * The larger of a report and a count. A report of less output than counted came too early, but its input figures are still
 * valid.
 */
export function larger(
  reported: TokenUsage | undefined,
  counted: TokenUsage,
): { readonly usage: TokenUsage; readonly source: UsageSource } {
  if (reported === undefined) return { usage: counted, source: 'counted' };
  const { audioOutputTokens: audio, imageOutputTokens: images } = counted.parts ?? NO_PARTS;
  const withParts = (usage: TokenUsage) => withMedia(usage, { audio, images });
  const { completionTokens } = counted;
  if (reported.completionTokens >= completionTokens) return { usage: withParts(reported), source: 'reported' };
  const promptTokens = Math.max(reported.promptTokens, counted.promptTokens);
  const cachedTokens = Math.max(reported.cachedTokens, counted.cachedTokens);
  const most = promptTokens - cacheWritesOf(reported);
  const usage = { ...reported, promptTokens, cachedTokens: Math.min(cachedTokens, most), completionTokens };
  return { usage: withParts(usage), source: 'counted' };
}

/** Combines counted output with reported input. */
export function withInputOf({ promptTokens, cachedTokens }: TokenUsage, counted: TokenUsage): TokenUsage {
  return { ...counted, promptTokens, cachedTokens };
}

/** Raises the audio and image parts of the output to at least these figures. */
function withMedia(
  usage: TokenUsage,
  { audio, images }: { readonly audio: number; readonly images: number },
): TokenUsage {
  const { parts = NO_PARTS } = usage;
  if (parts.audioOutputTokens >= audio && parts.imageOutputTokens >= images) return usage;
  const audioOutputTokens = Math.max(parts.audioOutputTokens, audio);
  const imageOutputTokens = Math.max(parts.imageOutputTokens, images);
  return { ...usage, parts: { ...parts, audioOutputTokens, imageOutputTokens } };
}
