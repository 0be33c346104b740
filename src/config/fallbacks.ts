/** Checks the fallbacks of models when the config is read, not when one is needed. */
import { isObject } from '../core/json.ts';
import { providerOf } from '../core/model-terms.ts';
import type { AddProblem } from './document.ts';
import { WILDCARD } from './models.ts';
import type { ParsedConfig } from './schema.ts';

/**
 * Records each `fallback` that names an unknown model, the model itself, or the same model twice.
 * `raw` is the whole file: a fallback may name a model that is invalid in another way, which is
 * recorded elsewhere.
 */
export function checkFallbacks({ providers = {} }: ParsedConfig, raw: unknown, addProblem: AddProblem): void {
  const ids = idsIn(raw);
  for (const [provider, { models }] of Object.entries(providers)) {
    for (const [model, { fallback }] of Object.entries(models)) {
      for (const [i, id] of fallback.entries()) {
        const path = ['providers', provider, 'models', model, 'fallback', i];
        if (!ids.has(id) && !ids.has(`${providerOf(id)}/${WILDCARD}`))
          addProblem(path, `no such model in this file: ${JSON.stringify(id)}; expected <provider>/<model>`);
        else if (id === `${provider}/${model}`) addProblem(path, 'a model cannot be its own fallback');
        else if (fallback.indexOf(id) !== i) addProblem(path, 'this model is already in the list');
      }
    }
  }
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
