/** Explains a request where no gateway runs: by the config and the state, as one that starts now would decide. */
import { Catalog } from '../catalog/catalog.ts';
import type { Config } from '../config/config.ts';
import type { ExplainQuestion, Explanation } from '../core/explanation.ts';
import { factsOfStanding, forecastOf } from '../ledger/local/forecast.ts';
import { explain } from '../proxy/explain.ts';
import type { KeyRecord } from '../state/keys.ts';
import type { OpenState } from '../state/state.ts';
import { closeProviders, startProviders } from './providers.ts';

export interface ExplainedHere {
  readonly explanation: Explanation;
  /** Requests that a crash has left open. The next start charges their holds, and so does this explanation. */
  readonly interrupted: number;
}

/** `key` is the one of the question. Changes nothing, and asks no provider. */
export async function explainHere(
  config: Config,
  { standings, budgets, kept }: Pick<OpenState, 'standings' | 'budgets' | 'kept'>,
  key: KeyRecord,
  question: ExplainQuestion,
): Promise<ExplainedHere> {
  const { tier, creditEnforced, capOutput, maxBodyBytes } = config;
  const now = { wallMs: Date.now(), nowMs: performance.now() };
  const standing = await standings.of(key.id, now.wallMs);
  const spends = (await budgets.spentBy([key], now.wallMs)).get(key.id) ?? [];
  const facts = factsOfStanding(key, standing, spends, { ...tier, creditEnforced }, now);
  const providers = startProviders(config.providers);
  try {
    const parts = { catalog: new Catalog(config.providers, config.aliases), providers, capOutput, maxBodyBytes };
    const ledger = { forecast: async (asked: Parameters<typeof forecastOf>[0]) => forecastOf(asked, () => facts) };
    return {
      explanation: await explain({ ...parts, ledger, keeper: kept }, question),
      interrupted: standing.interrupted,
    };
  } finally {
    await closeProviders(providers);
  }
}
