/** The catalog: the models that are configured, and their prices. */

import type { ModelTerms } from '../core/model-terms.ts';
import { costRoundedUp, type Nanos } from '../core/money.ts';
import type { TokenUsage } from '../core/usage.ts';

/** A model that clients can name. */
export interface Model extends ModelTerms {
  /** `<provider>/<name>`. */
  readonly id: string;
  readonly provider: string;
  /** False when its provider lacks its credential. */
  readonly active: boolean;
}

/** What a catalog is made from: the providers of the config, as far as it concerns the catalog. */
export interface CatalogSource {
  readonly name: string;
  readonly missingVariable: string | undefined;
  readonly models: readonly (ModelTerms & { readonly name: string })[];
}

export class Catalog {
  /** Every configured model, in the order of the config. */
  readonly models: readonly Model[];
  readonly #active: ReadonlyMap<string, Model>;

  constructor(providers: readonly CatalogSource[]) {
    this.models = providers.flatMap((provider) =>
      provider.models.map(({ name, ...model }) => ({
        ...model,
        id: `${provider.name}/${name}`,
        provider: provider.name,
        active: provider.missingVariable === undefined,
      })),
    );
    this.#active = new Map(this.models.filter((model) => model.active).map((model) => [model.id, model]));
  }

  /** The model that a client names, if it exists and can be called. */
  find(id: string): Model | undefined {
    return this.#active.get(id);
  }

  /** The fallbacks of a model that a key with this allowlist may use, in their order. */
  fallbacks({ fallback }: Model, allowlist: readonly string[] | null): Model[] {
    const models = fallback.map((id) => this.#active.get(id)).filter((model) => model !== undefined);
    return allowlist === null ? models : models.filter(({ id }) => allowlist.includes(id));
  }

  /** The models that a key with this allowlist may call; null allows all. */
  callable(allowlist: readonly string[] | null): Model[] {
    return this.models.filter((model) => model.active && (allowlist === null || allowlist.includes(model.id)));
  }
}

/** What a request would cost if it used this many tokens, none of them cached. */
export function expectedCost(model: Model, inputTokens: number, outputTokens: number): Nanos {
  return usageCost(model, { promptTokens: inputTokens, cachedTokens: 0, completionTokens: outputTokens });
}

/** What a request cost. Rounded up to the nanodollar, once. */
export function usageCost(model: Model, usage: TokenUsage): Nanos {
  return costRoundedUp([
    { tokens: usage.promptTokens - usage.cachedTokens, nanosPerMillion: model.input },
    { tokens: usage.cachedTokens, nanosPerMillion: model.cachedInput },
    { tokens: usage.completionTokens, nanosPerMillion: model.output },
  ]);
}
