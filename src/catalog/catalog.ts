/** The catalog: the models in the config. */

import type { DialectName, RefusedHeader } from '../core/dialects.ts';
import { type ModelTerms, providerOf } from '../core/model-terms.ts';

/** A model that clients can name. */
export interface Model extends ModelTerms {
  /** `<provider>/<name>`. */
  readonly id: string;
  readonly provider: string;
  /** False while its provider is not active: the variable with its credential is not set. */
  readonly active: boolean;
  /** Names of fields that requests to its provider may not have. */
  readonly refuseFields: readonly string[];
  /** Headers that they may not have. */
  readonly refuseHeaders: readonly RefusedHeader[];
  /** What its host speaks. */
  readonly dialects: readonly DialectName[];
}

/** A provider in the config, as far as the catalog needs it. */
export interface CatalogSource {
  readonly name: string;
  readonly missingVariable: string | undefined;
  readonly refuseFields: readonly string[];
  readonly refuseHeaders: readonly RefusedHeader[];
  readonly dialects: readonly DialectName[];
  readonly models: readonly (ModelTerms & { readonly name: string })[];
}

export class Catalog {
  /** Every model in the config, in its order. */
  readonly models: readonly Model[];
  readonly #active: ReadonlyMap<string, Model>;
  /** The variable that each provider lacks which was left out. */
  readonly #missingVariables: ReadonlyMap<string, string | undefined>;

  constructor(providers: readonly CatalogSource[]) {
    this.models = providers.flatMap((provider) =>
      provider.models.map(({ name, ...model }) => ({
        ...model,
        id: `${provider.name}/${name}`,
        provider: provider.name,
        active: provider.missingVariable === undefined,
        refuseFields: provider.refuseFields,
        refuseHeaders: provider.refuseHeaders,
        dialects: provider.dialects,
      })),
    );
    this.#missingVariables = new Map(providers.map(({ name, missingVariable }) => [name, missingVariable]));
    this.#active = new Map(this.models.filter((model) => model.active).map((model) => [model.id, model]));
  }

  /** The model with this id, if it exists and is active. */
  find(id: string): Model | undefined {
    return this.#active.get(id);
  }

  /** The variable that is not set, if the model with this id is in the config but was left out for it. */
  missingVariableOf(id: string): string | undefined {
    const variable = this.#missingVariables.get(providerOf(id));
    return variable !== undefined && this.models.some((each) => each.id === id) ? variable : undefined;
  }

  /** The fallbacks of a model that a key with this allowlist may use, in their order. */
  fallbacks({ fallback }: Model, allowlist: readonly string[] | null): Model[] {
    const models = fallback.map((id) => this.#active.get(id)).filter((model) => model !== undefined);
    return allowlist === null ? models : models.filter(({ id }) => allowlist.includes(id));
  }

  /** The active models that a key with this allowlist may call; null allows all. */
  callable(allowlist: readonly string[] | null): Model[] {
    return this.models.filter((model) => model.active && (allowlist === null || allowlist.includes(model.id)));
  }
}
