/** The catalog: the models in the config. */
import type { DialectName, RefusedHeader } from '../core/dialects.ts';
import { Likenesses } from '../core/likeness.ts';
import { type ModelTerms, providerOf } from '../core/model-terms.ts';
import { printableName } from '../core/printable.ts';
import { Aliases } from './aliases.ts';

/** A model that clients can request. */
export interface Model extends ModelTerms {
  /** `<provider>/<name>`. */
  readonly id: string;
  readonly provider: string;
  /** False while its provider is inactive, because the variable of its credential is not set. */
  readonly active: boolean;
  /** Fields that requests to its provider must not have. */
  readonly refuseFields: readonly string[];
  /** Headers that requests to its provider must not have. */
  readonly refuseHeaders: readonly RefusedHeader[];
  /** The service tier that the provider's headers set for requests without one. */
  readonly tierOfHeaders: string | undefined;
  /** Tools of the client's own host that translation leaves out. */
  readonly ignoreTools: readonly string[];
  /** Whether its host stores responses, each for the key that created it. */
  readonly keepsResponses: boolean;
  /** Whether its host also stores responses for another provider. */
  readonly sharesKeeper: boolean;
  /** The dialects of its host. */
  readonly dialects: readonly DialectName[];
}

/** The fields of a configured provider that the catalog needs. */
export interface CatalogSource {
  readonly name: string;
  readonly missingVariable: string | undefined;
  readonly refuseFields: readonly string[];
  readonly refuseHeaders: readonly RefusedHeader[];
  readonly tierOfHeaders: string | undefined;
  readonly ignoreTools: readonly string[];
  readonly keepsResponses: boolean;
  readonly sharesKeeper: boolean;
  readonly dialects: readonly DialectName[];
  readonly models: readonly (ModelTerms & {
    readonly name: string;
    /** Undefined if they are the provider's. */
    readonly dialects?: readonly DialectName[] | undefined;
  })[];
}

/** A model as named in a request. */
export interface NamedModel {
  readonly model: Model;
  /** The printable name, if it is an alias of the model. */
  readonly alias: string | undefined;
}

/** A configured model that is not served. */
export interface InactiveModel {
  readonly id: string;
  readonly provider: string;
  /** The variable of the provider's credential, which is not set. */
  readonly variable: string;
}

/** The maximum number of suggestions for an unknown name. */
const MOST_NEAR = 3;

interface ModelName {
  readonly id: string;
  readonly model: Model;
}

export class Catalog {
  /** All configured models, in the order of the config. */
  readonly models: readonly Model[];
  readonly #active: ReadonlyMap<string, Model>;
  /** The unset variable of each provider that was left out. */
  readonly #missingVariables: ReadonlyMap<string, string | undefined>;
  readonly #aliases: Aliases;
  /** Cached aliases by model: clients list them often. */
  readonly #listed = new Map<string, readonly string[]>();
  /** Built on first use. */
  /** The names of models: ids and aliases. */
  #names: readonly ModelName[] | undefined;
  #likenesses: Likenesses<ModelName> | undefined;

  constructor(providers: readonly CatalogSource[], aliases: ReadonlyMap<string, string> = new Map()) {
    this.#aliases = new Aliases(aliases);
    this.models = providers.flatMap((provider) =>
      provider.models.map(({ name, ...model }) => ({
        ...model,
        id: `${provider.name}/${name}`,
        provider: provider.name,
        active: provider.missingVariable === undefined,
        refuseFields: provider.refuseFields,
        refuseHeaders: provider.refuseHeaders,
        tierOfHeaders: provider.tierOfHeaders,
        ignoreTools: provider.ignoreTools,
        keepsResponses: provider.keepsResponses,
        sharesKeeper: provider.sharesKeeper,
        dialects: model.dialects ?? provider.dialects,
      })),
    );
    this.#missingVariables = new Map(providers.map(({ name, missingVariable }) => [name, missingVariable]));
    this.#active = new Map(this.models.filter((model) => model.active).map((model) => [model.id, model]));
  }

  /** The active model with this id or alias. Ids take precedence. */
  named(name: string): NamedModel | undefined {
    const own = this.#active.get(name);
    if (own !== undefined) return { model: own, alias: undefined };
    const model = this.#active.get(this.#aliases.idOf(name) ?? '');
    return model && { model, alias: printableName(name) };
  }

  /** The aliases of a model that listings can show. */
  aliasesOf({ id }: Model): readonly string[] {
    const known = this.#listed.get(id);
    if (known !== undefined) return known;
    const names = this.#aliases.namesOf(id).filter((name) => !this.#active.has(name));
    this.#listed.set(id, names);
    return names;
  }

  /** The names of `models`, ids or aliases, that resemble an unknown name most. */
  near(name: string, models: readonly Model[]): readonly { readonly id: string }[] {
    this.#names ??= this.models.flatMap((model) => [model.id, ...this.aliasesOf(model)].map((id) => ({ id, model })));
    this.#likenesses ??= new Likenesses(this.#names);
    const callable = new Set(models);
    const among = new Set(this.#names.filter(({ model }) => callable.has(model)));
    const alike = this.#likenesses.mostAlike(name, among, among.size);
    const named = new Set<Model>();
    return alike.filter(({ model }) => !named.has(model) && named.add(model)).slice(0, MOST_NEAR);
  }

  /** The inactive model with this id or alias, if the config has it. */
  inactive(name: string): InactiveModel | undefined {
    const isModel = (id: string) => this.models.some((each) => each.id === id);
    const id = isModel(name) ? name : this.#aliases.idOf(name);
    if (id === undefined || !isModel(id)) return undefined;
    const provider = providerOf(id);
    const variable = this.#missingVariables.get(provider);
    return variable === undefined ? undefined : { id, provider, variable };
  }

  /** The inactive fallbacks of a model. */
  inactiveFallbacks({ fallback }: Model): readonly InactiveModel[] {
    return fallback.map((id) => this.inactive(id)).filter((model) => model !== undefined);
  }

  /** The fallbacks of a model that a key with this allowlist may call, in their order. */
  fallbacks({ fallback }: Model, allowlist: readonly string[] | null): Model[] {
    const models = fallback.map((id) => this.#active.get(id)).filter((model) => model !== undefined);
    return allowlist === null ? models : models.filter(({ id }) => allowlist.includes(id));
  }

  /** The active models that a key with this allowlist may call; null allows all. */
  callable(allowlist: readonly string[] | null): Model[] {
    return this.models.filter((model) => model.active && (allowlist === null || allowlist.includes(model.id)));
  }
}
