/**
 * The meter: what a request has used so far, as reported by the upstream or counted from what was
 * relayed.
 */

import type { ToolCall } from '../core/host-tools.ts';
import { cacheWritesOf, NO_PARTS, type TokenUsage, type UsageSource } from '../core/usage.ts';
import { type AnswerFacts, type ChoiceProgress, isOutput, type KeptAnswer, quotableId } from '../dialects/answer.ts';
import { audioBytesPerToken } from '../dialects/audio-output.ts';
import { TextSample } from '../wire/text-sample.ts';
import { Silence } from './silence.ts';

export interface Metered {
  readonly usage: TokenUsage;
  readonly source: UsageSource;
  /** The calls of the host's own tools that were seen. */
  readonly calls: readonly ToolCall[];
  /** The output, for counting its tokens; undefined if nothing is to be counted. */
  readonly written: TextSample | undefined;
  /** A report that may have come too early, or is of the input alone: the larger of it and the count is charged. */
  readonly earlyReport: TokenUsage | undefined;
  /** What the early report says of the input is all of it. */
  readonly isInputReported?: true;
  /** Every choice has its finish reason, or the response is no stream. */
  readonly isWhole: boolean;
  /** How long the model has shown nothing, in milliseconds; 0 if its response is at its end. */
  readonly silentMs: number;
  /** The upstream reported impossible figures, and no others. */
  readonly isReportUnusable: boolean;
  /** The service tier that the upstream says it used. */
  readonly serviceTier: string | undefined;
  /** The upstream's id of the completion. */
  readonly completionId: string | undefined;
  /** The model that the upstream says it used. */
  readonly model: string | undefined;
  /** What its host keeps of it. */
  readonly kept: KeptAnswer | undefined;
}

/** The basis of the figures of an attempt whose host reports no usage. */
export interface Metering {
  /** The estimated input. */
  readonly inputTokens: number;
  readonly bytesPerAudioToken: number;
  /** The most tokens of an image. */
  readonly tokensPerImage: number;
}

/** What audio and images weigh, in tokens of text. */
export interface Weights {
  readonly audioWeight: number;
  readonly imageWeight: number;
}

/** How output is measured while it is being written. */
export interface Scale extends Weights {
  /** By how much the estimate of the text is too high, as far as that is known. */
  readonly excessTokens: number;
}

const NO_CALLS: readonly ToolCall[] = [];

/** A report of fewer tokens for each image than this leaves the images out: the smallest known one has 258. */
const LEAST_IMAGE_TOKENS = 200;

/** The most choices that a request can ask for. */
const MAX_CHOICES = 128;

export class Meter {
  #estimatedInput: number;
  #bytesPerAudioToken: number;
  #tokensPerImage = 0;
  #audioBytes = 0;
  /** Images since the last report with tokens of images. */
  #images = 0;
  #reported: TokenUsage | undefined;
  #isReportUnusable = false;
  #isInputAlone = false;
  /** The report came with the end of the response or after it. */
  #isReportFinal = false;
  /** Something was written after the report. */
  #isReportOutdated = false;
  /** Of output, where none is reported. */
  #leastOutput = 1;
  readonly #nowMs: () => number;
  readonly #silence: Silence;
  #firstId: unknown;
  #serviceTier: string | undefined;
  /** Wins over the tier in the body. */
  #tierOfHead: { readonly served: string | undefined } | undefined;
  #model: unknown;
  #kept: KeptAnswer | undefined;
  /** By their ids: what was seen last of a call says most. */
  readonly #calls = new Map<string, ToolCall>();
  /** Undefined until it is asked for: most whole answers report what they took. */
  #written: TextSample | undefined;
  /** True once any part of a response was read: the upstream has done work. */
  hasRead = false;
  /** How often there was more of the answer: output, the end of a choice, a call of a tool, or a report of more output. */
  advances = 0;
  readonly #unfinished = new Set<number>();
  /** Indexes of choices. A host may send any: more than a request can ask for are not kept. */
  readonly #finished = new Set<number>();

  /** `estimatedInput` and `bytesPerAudioToken`: until an attempt begins. `nowMs`: a monotonic clock. */
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

  /** Nothing of the answer was read since then. */
  excuseSince(startedMs: number): void {
    this.#silence.excuse(this.#nowMs() - startedMs);
  }

  get nowMs(): number {
    return this.#nowMs();
  }

  /** Reads a whole completion. Its text matters only where it reports no output. */
  readWhole(facts: AnswerFacts): void {
    const isReported = facts.usage !== undefined && !facts.isInputAlone;
    this.read(isReported ? { ...facts, progress: facts.progress.flatMap(mediaOf) } : facts);
  }

  /** Reads a completion or a chunk. Usage reports are running totals, so the last one counts. */
  read(facts: AnswerFacts): void {
    // Events such as pings say nothing of the work.
    this.hasRead ||=
      facts.hasUsage || facts.choices !== undefined || facts.progress.length > 0 || facts.id !== undefined;
    if (this.#isAdvancedBy(facts)) this.advances++;
    if (facts.usage !== undefined) this.#readReport(facts.usage, facts.isInputAlone ?? false);
    if (facts.hasUsage) this.#isReportUnusable = this.#reported === undefined;
    // Every chunk has the id; the first one is as good as any.
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

  /** Reads an event that differs in its text alone from the event that was read last, which was of this choice. */
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
   * Reads what an error of the host says of its work. Its report is final if nothing was written;
   * else it may cover less.
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

  /** Counts bytes that were relayed without being parsed. */
  readUnparsed(bytes: number): void {
    this.hasRead = true;
    this.advances++;
    this.written.addUnparsed(bytes);
  }

  /**
   * The output so far, in tokens of text: by the estimate, or as reported where that is more. Reports that come with
   * the end do not count: nothing is left to stop.
   */
  outputTokens(scale: Scale): number {
    return this.outputTokensIf(this.written.tokens - scale.excessTokens, scale);
  }

  /** The same with another figure for the text. */
  outputTokensIf(textTokens: number, { audioWeight, imageWeight }: Weights): number {
    const media = audioWeight * this.#audioTokens + imageWeight * this.#imageTokens;
    if (this.#reported === undefined || this.complete) return textTokens + media;
    const { completionTokens, parts = NO_PARTS } = this.#reported;
    const { audioOutputTokens, imageOutputTokens } = parts;
    const more = (audioWeight - 1) * audioOutputTokens + (imageWeight - 1) * imageOutputTokens;
    return Math.max(textTokens + media, completionTokens + more);
  }

  /** Whether more was written than that many tokens. Cheap as long as it is clearly less. */
  hasWrittenMoreThan(tokens: number, scale: Scale): boolean {
    const atMost = this.written.tokensAtMost - scale.excessTokens;
    return this.outputTokensIf(atMost, scale) > tokens && this.outputTokens(scale) > tokens;
  }

  /** Whether the output stays within so many tokens for certain, with another text of so many bytes. */
  staysWithin(tokens: number, scale: Scale, bytes: number): boolean {
    return this.outputTokensIf(this.written.tokensAtMost + bytes - scale.excessTokens, scale) <= tokens;
  }

  get #audioTokens(): number {
    return Math.ceil(this.#audioBytes / this.#bytesPerAudioToken);
  }

  /** The tokens of all images: as reported, plus the most for each later one. */
  get #imageTokens(): number {
    return imageTokensIn(this.#reported) + this.#images * this.#tokensPerImage;
  }

  /** What was written so far, for counting its tokens. */
  get written(): TextSample {
    this.#written ??= new TextSample();
    return this.#written;
  }

  /** The calls so far of the host's own tools. */
  get calls(): readonly ToolCall[] {
    return this.#calls.size === 0 ? NO_CALLS : [...this.#calls.values()];
  }

  /** How many choices have their finish reason. */
  get finishedChoices(): number {
    return this.#finished.size;
  }

  /** True if the host has reported no work: no output, no usage, and no input that it bills. */
  get isIdle(): boolean {
    return this.advances === 0 && this.#reported === undefined && this.#leastOutput > 0;
  }

  /** True if every choice that has started has its finish reason. */
  get complete(): boolean {
    return this.#finished.size > 0 && this.#unfinished.size === 0;
  }

  /**
   * The figures of a complete response: as reported, otherwise estimated from what was relayed. An
   * upstream that was reached is assumed to have read the input and written at least one token,
   * unless its error says that it only read.
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

  /** Adds the audio and images of the answer to a report that counts them as text, or leaves the images out. */
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
   * The figures of a response that was cut short, or is not at its end: a report may have come
   * before most of the work, so the larger of report and count is charged.
   */
  figuresOfPart(): Metered {
    if (this.#isReportFinal) return this.figures();
    const { complete } = this;
    return this.#counted(complete ? this.#silence.beforeLastMs : this.#silence.until(this.#nowMs()), complete);
  }

  /** The figures of a stream with its final event: what was reported before the end may leave most of the work out. */
  figuresOfStream(): Metered {
    return this.complete || this.#isReportOutdated ? this.figuresOfPart() : this.figures();
  }

  /** The last one counts. One that says nothing of the output takes back none that was reported before. */
  #readReport(usage: TokenUsage, isInputAlone: boolean): void {
    const { completionTokens } = this.#reported ?? usage;
    this.#reported = isInputAlone ? { ...usage, completionTokens } : usage;
    this.#isInputAlone = isInputAlone && completionTokens === 0;
  }

  /** The report says nothing of the output, and there is some. */
  get #isOutputMissing(): boolean {
    return this.#isInputAlone && this.written.tokensAtMost + this.#audioBytes + this.#images > 0;
  }

  /** As counted, or as reported where that is more. */
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

/** The audio and images of a choice. The report covers its text, but may count these as text. */
function mediaOf(choice: ChoiceProgress): readonly ChoiceProgress[] {
  return choice.images + choice.audioBytes === 0 ? [] : [{ ...choice, written: [], unseenTokens: 0 }];
}

function imageTokensIn(usage: TokenUsage | undefined): number {
  return usage?.parts?.imageOutputTokens ?? 0;
}

/**
 * The larger of a report and a count. A report of less output than was counted came too early; what
 * it says of the input holds all the same.
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

/** A count of the output, beside what is reported of the input. */
export function withInputOf({ promptTokens, cachedTokens }: TokenUsage, counted: TokenUsage): TokenUsage {
  return { ...counted, promptTokens, cachedTokens };
}

/** Counts at least so many of the output tokens as audio and as images. */
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
