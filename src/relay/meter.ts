/** The meter: what a request has used so far, from what its answer tells and from what has passed. */
import type { TokenUsage, UsageSource } from '../core/usage.ts';
import type { AnswerFacts } from '../wire/completion.ts';
import { tokensOfBytes } from '../wire/estimate.ts';

export interface Metered {
  readonly usage: TokenUsage;
  readonly source: UsageSource;
}

export class Meter {
  readonly #estimatedInput: number;
  #reported: TokenUsage | undefined;
  #outputBytes = 0;
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
    this.#outputBytes += facts.outputBytes;
    for (const { index, finished } of facts.progress) {
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
    this.#outputBytes += bytes;
  }

  /** True when every choice that was begun has its finish reason. */
  get complete(): boolean {
    return this.#finished && this.#unfinished.size === 0;
  }

  /**
   * The figures at this moment: as reported, else counted. An upstream that was reached has taken the input in and is
   * taken to have given at least one token.
   */
  figures(): Metered {
    if (this.#reported !== undefined) return { usage: this.#reported, source: 'reported' };
    const completionTokens = Math.max(1, tokensOfBytes(this.#outputBytes));
    return {
      usage: { promptTokens: this.#estimatedInput, cachedTokens: 0, completionTokens },
      source: 'counted',
    };
  }
}
