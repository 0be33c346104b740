/** Many rounds in a row, on gateways that are used again and again. */
import { type Combination, drawRound, nameOf, type Setting, settingFor } from './plan.ts';
import { type RoundResult, runRound } from './round.ts';
import { Stage } from './stage.ts';

/** The auditor reads the whole journal after every round: past this length a gateway gives way to another one. */
const MOST_ROWS = 10_000;

export class Contest {
  /** By their settings. */
  readonly #stages = new Map<string, Stage>();
  readonly #scale: number;

  /** `scale`: of the usual number of clients and attempts. */
  constructor(scale = 1) {
    this.#scale = scale;
  }

  async run(combination: Combination, seed: number): Promise<RoundResult> {
    const setting = settingFor(combination, seed);
    const stage = await this.#stage(setting);
    const result = await runRound(stage, drawRound(combination, seed, this.#scale));
    const deviations = result.deviations.map((text) => `${nameOf(combination)}, seed ${seed}: ${text}`);
    // What went wrong once must not spoil the rounds that follow.
    if (deviations.length > 0) await this.#end(setting, deviations);
    return { ...result, deviations };
  }

  async stop(): Promise<void> {
    const stages = [...this.#stages.values()];
    this.#stages.clear();
    for (const stage of stages) await stage.stop();
  }

  async #stage(setting: Setting): Promise<Stage> {
    const name = JSON.stringify(setting);
    const old = this.#stages.get(name);
    if (old !== undefined && old.journalRows < MOST_ROWS) return old;
    this.#stages.delete(name);
    await old?.stop();
    const stage = await Stage.start(setting);
    this.#stages.set(name, stage);
    return stage;
  }

  async #end(setting: Setting, deviations: string[]): Promise<void> {
    const name = JSON.stringify(setting);
    const stage = this.#stages.get(name);
    this.#stages.delete(name);
    await stage?.stop().catch((error: Error) => deviations.push(`at the gateway's end: ${error.message}`));
  }
}
