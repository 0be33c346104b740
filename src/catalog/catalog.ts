/** The catalog: the models in the config. */
import type { DialectName, RefusedHeader } from '../core/dialects.ts';
import { Likenesses } from '../core/likeness.ts';
import { type ModelTerms, providerOf } from '../core/model-terms.ts';
import { printableName } from '../core/printable.ts';
import { Aliases } from './aliases.ts';

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
  /** The service tier that the headers of its provider set for requests without one. */
  readonly tierOfHeaders: string | undefined;
  /** Tools of clients' own hosts that requests leave out when they are translated. */
  readonly ignoreTools: readonly string[];
  /** Whether its host keeps responses, each for the key that made it. */
  readonly keepsResponses: boolean;
  /** Whether its host keeps them for clients of another provider. */
  readonly sharesKeeper: boolean;
  /** What its host speaks. */
  readonly dialects: readonly DialectName[];
}

/** A provider in the config, as far as the catalog needs it. */
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
    /** Where they are not those of the provider. */
    readonly dialects?: readonly DialectName[] | undefined;
  })[];
}

/** A model as a request names it. */
export interface NamedModel {
  readonly model: Model;
  /** The name as it can be shown, if it is an alias of the model. */
  readonly alias: string | undefined;
}

/** A model in the config that is not served. */
export interface InactiveModel {
  readonly id: string;
  readonly provider: string;
  /** The variable with the credential of the provider, which is not set. */
  readonly variable: string;
}

/** How many similar names are suggested for one that no model has, at most. */
const MOST_NEAR = 3;

interface ModelName {
  readonly id: string;
  readonly model: Model;
}

export class Catalog {
  /** Every model in the config, in its order. */
  readonly models: readonly Model[];
  readonly #active: ReadonlyMap<string, Model>;
  /** The variable that each provider lacks which was left out. */
  readonly #missingVariables: ReadonlyMap<string, string | undefined>;
  readonly #aliases: Aliases;
  /** The aliases of each model that were asked for: clients list them again and again. */
  readonly #listed = new Map<string, readonly string[]>();
  /** Made when it is first needed. */
  /** What models are called: their ids, and aliases. */
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

  /** The active model that a request means by a name: its id, or an alias of it. An id that exists wins. */
  named(name: string): NamedModel | undefined {
    const own = this.#active.get(name);
    if (own !== undefined) return { model: own, alias: undefined };
    const model = this.#active.get(this.#aliases.idOf(name) ?? '');
    return model && { model, alias: printableName(name) };
  }

  /** The aliases of a model that can be listed. */
  aliasesOf({ id }: Model): readonly string[] {
    const known = this.#listed.get(id);
    if (known !== undefined) return known;
    const names = this.#aliases.namesOf(id).filter((name) => !this.#active.has(name));
    this.#listed.set(id, names);
    return names;
  }

  /** The names of these models, ids or aliases, that are most like one that no model has. */
  near(name: string, models: readonly Model[]): readonly { readonly id: string }[] {
    this.#names ??= this.models.flatMap((model) => [model.id, ...this.aliasesOf(model)].map((id) => ({ id, model })));
    this.#likenesses ??= new Likenesses(this.#names);
    const callable = new Set(models);
    const among = new Set(this.#names.filter(({ model }) => callable.has(model)));
    const alike = this.#likenesses.mostAlike(name, among, among.size);
    const named = new Set<Model>();
    return alike.filter(({ model }) => !named.has(model) && named.add(model)).slice(0, MOST_NEAR);
  }

  /** The model with this name or alias, if the config has it and its provider is inactive. */
  inactive(name: string): InactiveModel | undefined {
    const isModel = (id: string) => this.models.some((each) => each.id === id);
    const id = isModel(name) ? name : this.#aliases.idOf(name);
    if (id === undefined || !isModel(id)) return undefined;
    const provider = providerOf(id);
    const variable = this.#missingVariables.get(provider);
    return variable === undefined ? undefined : { id, provider, variable };
  }

  /** The fallbacks of a model that are not active. */
  inactiveFallbacks({ fallback }: Model): readonly InactiveModel[] {
    return fallback.map((id) => this.inactive(id)).filter((model) => model !== undefined);
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
