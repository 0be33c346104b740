/** Many rounds in a row, on gateways that are used again and again. */
import { type Combination, drawRound, nameOf } from './plan.ts';
import { type RoundResult, runRound } from './round.ts';
import { Stage } from './stage.ts';

/** The auditor reads the whole journal after every round: past this length a gateway gives way to another one. */
const MOST_ROWS = 10_000;

export class Contest {
  readonly #stages = new Map<boolean, Stage>();
  readonly #scale: number;

  /** `scale`: of the usual number of clients and attempts. */
  constructor(scale = 1) {
    this.#scale = scale;
  }

  async run(combination: Combination, seed: number): Promise<RoundResult> {
    const stage = await this.#stage(combination.variant === 'capped');
    const result = await runRound(stage, drawRound(combination, seed, this.#scale));
    const deviations = result.deviations.map((text) => `${nameOf(combination)}, seed ${seed}: ${text}`);
    // What went wrong once must not spoil the rounds that follow.
    if (deviations.length > 0) await this.#end(combination.variant === 'capped', deviations);
    return { ...result, deviations };
  }

  async stop(): Promise<void> {
    const stages = [...this.#stages.values()];
    this.#stages.clear();
    for (const stage of stages) await stage.stop();
  }

  async #stage(capOutput: boolean): Promise<Stage> {
    const old = this.#stages.get(capOutput);
    if (old !== undefined && old.journalRows < MOST_ROWS) return old;
    this.#stages.delete(capOutput);
    await old?.stop();
    const stage = await Stage.start(capOutput);
    this.#stages.set(capOutput, stage);
    return stage;
  }

  async #end(capOutput: boolean, deviations: string[]): Promise<void> {
    const stage = this.#stages.get(capOutput);
    this.#stages.delete(capOutput);
    await stage?.stop().catch((error: Error) => deviations.push(`at the gateway's end: ${error.message}`));
  }
}
