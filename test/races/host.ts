/** The host of a race: counts concurrent requests exactly, and answers in batches. */
import { chunk, completion, DONE, usageChunk } from '../support/answers.ts';
import type { UpstreamCall } from '../support/fake-upstream.ts';
import type { Random } from '../support/random.ts';
import { INPUT_TOKENS } from './allowance.ts';

/** How a request is sent and answered. */
export interface Attempt {
  /** The text in the request by which the host recognizes it. */
  readonly name: string;
  readonly stream: boolean;
  /** Whether it declares a maximum. */
  readonly declares: boolean;
  /** Whether its client leaves at the first event of the stream. */
  readonly leaves: boolean;
  /** The number of output tokens, unless the request has a smaller maximum. */
  readonly outputTokens: number;
  /** Whether it was sent after the limit was changed. */
  readonly afterChange: boolean;
}

export interface HostRules {
  readonly random: Random;
  /** The number of requests that the host gathers before it answers some of them. */
  batch: number;
  /** Whether a smaller batch is enough once there were enough refusals. */
  readonly mayBeSmaller: boolean;
  /** The number of refusals per batch at most; the first batch has exactly as many. */
  readonly mostRefusals: number;
  attempt(name: string): Attempt | undefined;
  /** The number of requests that may be at the host when this one arrives. */
  boundFor(attempt: Attempt): number;
  onArrival(arrivals: number): void;
  /**
   * Whether all admitted requests have arrived: otherwise one too many might still be on its way.
   */
  areAllHere(present: number): boolean;
}

interface Visit {
  readonly call: UpstreamCall;
  readonly attempt: Attempt;
  readonly number: number;
  readonly outputTokens: number;
}

/** The number of turns of the event loop after which closed connections are known to be closed. */
const TURNS = 8;

export class Host {
  readonly deviations: string[] = [];
  arrivals = 0;
  peak = 0;
  /** The number of batches that were answered regularly, not because the round was ending. */
  batches = 0;
  readonly #rules: HostRules;
  readonly #present = new Set<Visit>();
  #waiting: Visit[] = [];
  #refusals = 0;
  #neededRefusals: number;
  #doubts = 0;
  #isDraining = false;

  constructor(rules: HostRules) {
    this.#rules = rules;
    this.#neededRefusals = rules.mostRefusals;
  }

  /** Receives a request: counts it at once, and answers it with its batch. */
  async receive(call: UpstreamCall): Promise<void> {
    const body = JSON.parse(call.body) as { user: string; max_tokens?: number };
    const attempt = this.#rules.attempt(body.user);
    this.arrivals++;
    if (attempt === undefined) {
      this.deviations.push(`the host received ${call.body}, which nobody sent`);
      return call.answer(500, {});
    }
    const outputTokens = Math.min(attempt.outputTokens, body.max_tokens ?? Number.POSITIVE_INFINITY);
    const visit = { call, attempt, number: this.arrivals, outputTokens };
    this.#present.add(visit);
    this.#rules.onArrival(this.arrivals);
    await this.#count(visit, this.#rules.boundFor(attempt));
    this.#waiting.push(visit);
    this.#look();
  }

  /**
   * To be called for each refusal of a client. If batches must be whole, only refusals during a
   * whole batch count.
   */
  refused(): void {
    if (this.#rules.mayBeSmaller || this.#isWhole()) this.#refusals++;
    this.#look();
  }

  /** After this, every request is answered at once. */
  drain(): void {
    this.#isDraining = true;
    this.#look();
  }

  /**
   * The host may learn that a client left after it received the request that got its slot: only
   * lasting excess counts.
   */
  async #count(visit: Visit, bound: number): Promise<void> {
    let count = this.#present.size;
    if (count > bound) {
      this.#doubts++;
      for (let turn = 0; turn < TURNS; turn++) await new Promise(setImmediate);
      this.#doubts--;
      count = 0;
      for (const { number } of this.#present) if (number <= visit.number) count++;
      if (count > bound) this.deviations.push(`${count} requests were at the host at once instead of ${bound}`);
    }
    this.peak = Math.max(this.peak, count);
  }

  #isDue(): boolean {
    if (this.#doubts > 0 || this.#waiting.length === 0) return false;
    if (this.#isDraining) return true;
    const isRefused = this.#refusals >= this.#neededRefusals;
    if (this.#rules.mayBeSmaller) return this.#isWhole() || isRefused;
    return this.#isWhole() && isRefused && this.#rules.areAllHere(this.#present.size);
  }

  #isWhole(): boolean {
    return this.#waiting.length >= this.#rules.batch;
  }

  #look(): void {
    if (!this.#isDue()) return;
    const { random, mostRefusals } = this.#rules;
    const waiting = random.shuffled(this.#waiting);
    const count = this.#isDraining || random.chance(0.5) ? waiting.length : random.between(1, waiting.length);
    this.#waiting = waiting.slice(count);
    if (!this.#isDraining) this.batches++;
    this.#refusals = 0;
    this.#neededRefusals = random.between(0, mostRefusals);
    for (const visit of waiting.slice(0, count)) void this.#answer(visit);
  }

  async #answer(visit: Visit): Promise<void> {
    const { call, attempt, outputTokens } = visit;
    const usage = {
      prompt_tokens: INPUT_TOKENS,
      completion_tokens: outputTokens,
      total_tokens: INPUT_TOKENS + outputTokens,
    };
    if (!attempt.stream) {
      this.#end(visit);
      return call.answer(200, completion('hi', { usage }));
    }
    call.stream();
    if (attempt.leaves) {
      call.send(chunk('hi', null, { usage }));
      await call.closed.catch((error: Error) => this.deviations.push(error.message));
      this.#end(visit);
      return this.#look();
    }
    call.send(chunk('hi'));
    await new Promise(setImmediate);
    this.#end(visit);
    call.send(chunk('', 'stop') + usageChunk(usage) + DONE);
    call.end();
  }

  /** Before the last bytes are sent, and so before the gateway can know. */
  #end(visit: Visit): void {
    this.#present.delete(visit);
  }
}
