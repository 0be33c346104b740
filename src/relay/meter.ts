/**
 * The meter: what a request has used so far, as reported by the upstream or counted from what was
 * relayed.
 */

import type { TokenUsage, UsageSource } from '../core/usage.ts';
import { type CompletionFacts, quotableId } from '../wire/completion.ts';
import { TextSample, tokensOfBytes } from '../wire/text-sample.ts';

export interface Metered {
  readonly usage: TokenUsage;
  readonly source: UsageSource;
  /** The output, for counting its tokens; undefined if usage was reported or no work was done. */
  readonly written: TextSample | undefined;
  /** The upstream reported impossible figures, and no others. */
  readonly isReportUnusable: boolean;
  /** The service tier that the upstream says it used. */
  readonly serviceTier: string | undefined;
  /** The upstream's id of the completion. */
  readonly completionId: string | undefined;
}

export class Meter {
  readonly #estimatedInput: number;
  #reported: TokenUsage | undefined;
  #isReportUnusable = false;
  #firstId: unknown;
  #serviceTier: string | undefined;
  readonly #written = new TextSample();
  /** True once any part of a response was read: the upstream has done work. */
  hasRead = false;
  readonly #unfinished = new Set<number>();
  #finished = false;

  /** `estimatedInput`: tokens of the input, in case no usage is reported. */
  constructor(estimatedInput: number) {
    this.#estimatedInput = estimatedInput;
  }

  /** Reads a completion or a chunk. Usage reports are running totals, so the last one counts. */
  read(facts: CompletionFacts): void {
    this.hasRead = true;
    this.#reported = facts.usage ?? this.#reported;
    if (facts.hasUsage) this.#isReportUnusable = this.#reported === undefined;
    // Every chunk has the id; the first one is as good as any.
    this.#firstId ??= facts.id;
    if (typeof facts.serviceTier === 'string') this.#serviceTier = facts.serviceTier;
    for (const { index, finished, written } of facts.progress) {
      for (const text of written) this.#written.add(text, index);
      if (finished) {
        this.#finished = true;
        this.#unfinished.delete(index);
      } else {
        this.#unfinished.add(index);
      }
    }
  }

  /** Counts bytes that were relayed without being parsed. */
  readUnparsed(bytes: number): void {
    this.hasRead = true;
    this.#written.addUnparsed(bytes);
  }

  /** True if every choice that has started has its finish reason. */
  get complete(): boolean {
    return this.#finished && this.#unfinished.size === 0;
  }

  /**
   * The figures so far: as reported, otherwise estimated from what was relayed. An upstream that
   * was reached is assumed to have read the input and written at least one token.
   */
  figures(): Metered {
    const known = {
      isReportUnusable: this.#isReportUnusable,
      serviceTier: this.#serviceTier,
      completionId: quotableId(this.#firstId),
    };
    if (this.#reported !== undefined) {
      return { ...known, usage: this.#reported, source: 'reported', written: undefined };
    }
    const completionTokens = Math.max(1, tokensOfBytes(this.#written.bytes));
    const usage = { promptTokens: this.#estimatedInput, cachedTokens: 0, completionTokens };
    return { ...known, usage, source: 'counted', written: this.#written };
  }
}
