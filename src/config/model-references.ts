/** Checks references to models in fallbacks and aliases when the config is read. */
import { isObject } from '../core/json.ts';
import { providerOf } from '../core/model-terms.ts';
import type { AddProblem } from './document.ts';
import { WILDCARD } from './models.ts';
import type { ParsedConfig } from './schema.ts';

/**
 * Records each reference to a model that does not exist. `raw` is the whole file: a reference may name a model that is
 * invalid in another way, which is reported separately.
 */
export function checkModelReferences(parsed: ParsedConfig, raw: unknown, addProblem: AddProblem): void {
  const ids = idsIn(raw);
  checkFallbacks(parsed, ids, addProblem);
  checkAliases(parsed, ids, addProblem);
}

/** Each `fallback` that names an unknown model, the model itself, or a model twice. */
function checkFallbacks({ providers = {} }: ParsedConfig, ids: ReadonlySet<string>, addProblem: AddProblem): void {
  for (const [provider, { models }] of Object.entries(providers)) {
    for (const [model, { fallback }] of Object.entries(models)) {
      for (const [i, id] of fallback.entries()) {
        const path = ['providers', provider, 'models', model, 'fallback', i];
        if (!isModel(id, ids)) addProblem(path, noSuchModel(id));
        else if (id === `${provider}/${model}`) addProblem(path, 'a model cannot be its own fallback');
        else if (fallback.indexOf(id) !== i) addProblem(path, 'this model is already in the list');
      }
    }
  }
}

function checkAliases(
  { aliases, providers = {} }: ParsedConfig,
  ids: ReadonlySet<string>,
  addProblem: AddProblem,
): void {
  const count = (text: string) => text.split(WILDCARD).length - 1;
  for (const [name, id] of Object.entries(aliases)) {
    const path = ['aliases', name];
    if (count(name) > 1 || count(id) > 1) addProblem(path, 'expected at most one * on each side');
    else if (count(id) > count(name))
      addProblem(path, 'expected a * in the name as well: it is what the * of the model stands for');
    else if (ids.has(name))
      addProblem(path, 'this is the name of a model in this file, which it would never stand for');
    else if (count(id) === 0 ? !isModel(id, ids) : !Object.hasOwn(providers, providerOf(id)))
      addProblem(path, noSuchModel(id));
  }
}

function isModel(id: string, ids: ReadonlySet<string>): boolean {
  return ids.has(id) || ids.has(`${providerOf(id)}/${WILDCARD}`);
}

function noSuchModel(id: string): string {
  return `no such model in this file: ${JSON.stringify(id)}; expected <provider>/<model>`;
}

function idsIn(raw: unknown): Set<string> {
  const members = (value: unknown, name: string) => (isObject(value) && isObject(value[name]) ? value[name] : {});
  const providers = Object.entries(members(raw, 'providers'));
  return new Set(
    providers.flatMap(([name, provider]) =>
      Object.keys(members(provider, 'models')).map((model) => `${name}/${model}`),
    ),
  );
}
