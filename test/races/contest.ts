/** Many rounds in a row, on gateways that are reused. */
import { type Combination, drawRound, nameOf, type Setting, settingFor } from './plan.ts';
import { type RoundResult, runRound } from './round.ts';
import { Stage } from './stage.ts';

/**
 * The auditor reads the whole journal after every round, so a gateway is replaced beyond this
 * length.
 */
const MOST_ROWS = 10_000;

export class Contest {
  /** By setting. */
  readonly #stages = new Map<string, Stage>();
  readonly #scale: number;

  /** `scale`: a factor for the usual number of clients and attempts. */
  constructor(scale = 1) {
    this.#scale = scale;
  }

  async run(combination: Combination, seed: number): Promise<RoundResult> {
    const setting = settingFor(combination, seed);
    const stage = await this.#stage(setting);
    const result = await runRound(stage, drawRound(combination, seed, this.#scale));
    const deviations = result.deviations.map((text) => `${nameOf(combination)}, seed ${seed}: ${text}`);
    // A failed round must not affect the next ones.
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
