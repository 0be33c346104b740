/** The meter: what a request has used so far, from what its answer tells and from what has passed. */

import type { TokenUsage, UsageSource } from '../core/usage.ts';
import { type AnswerFacts, quotableId } from '../wire/completion.ts';
import { TextSample, tokensOfBytes } from '../wire/text-sample.ts';

export interface Metered {
  readonly usage: TokenUsage;
  readonly source: UsageSource;
  /** Where usage was not reported after work was done: what was written, so that its tokens can be counted. */
  readonly written: TextSample | undefined;
  /** The upstream reported figures that cannot be right, and no others. */
  readonly isReportUnusable: boolean;
  /** What the upstream calls its completion. */
  readonly completionId: string | undefined;
}

export class Meter {
  readonly #estimatedInput: number;
  #reported: TokenUsage | undefined;
  #isReportUnusable = false;
  #firstId: unknown;
  readonly #written = new TextSample();
  /** True once an answer, or a part of one, was taken in: the upstream has worked. */
  hasRead = false;
  readonly #unfinished = new Set<number>();
  #finished = false;

  /** `estimatedInput`: tokens, for the case that no usage is reported. */
  constructor(estimatedInput: number) {
    this.#estimatedInput = estimatedInput;
  }

  /** Takes in an answer or a chunk. Of several reports of usage the last one counts: they are running totals. */
  read(facts: AnswerFacts): void {
    this.hasRead = true;
    this.#reported = facts.usage ?? this.#reported;
    if (facts.hasUsage) this.#isReportUnusable = this.#reported === undefined;
    // Every chunk has it; the first one will do.
    this.#firstId ??= facts.id;
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

  /** Takes in bytes that were passed on unread. */
  readUnparsed(bytes: number): void {
    this.hasRead = true;
    this.#written.addUnread(bytes);
  }

  /** True when every choice that was begun has its finish reason. */
  get complete(): boolean {
    return this.#finished && this.#unfinished.size === 0;
  }

  /**
   * The figures at this moment: as reported, else estimated from what has passed. An upstream that was reached has taken
   * the input in and is taken to have given at least one token.
   */
  figures(): Metered {
    const known = { isReportUnusable: this.#isReportUnusable, completionId: quotableId(this.#firstId) };
    if (this.#reported !== undefined) {
      return { ...known, usage: this.#reported, source: 'reported', written: undefined };
    }
    const completionTokens = Math.max(1, tokensOfBytes(this.#written.bytes));
    const usage = { promptTokens: this.#estimatedInput, cachedTokens: 0, completionTokens };
    return { ...known, usage, source: 'counted', written: this.#written };
  }
}
