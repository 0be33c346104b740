/** Checks the models that stand in for others: one that is not there would be noticed only when it is needed. */
import { isObject } from '../core/json.ts';
import type { Report } from './build.ts';
import type { ParsedConfig } from './schema.ts';

/**
 * Reports each `fallback` that names no model, the model itself, or the same model twice. `raw` is the whole file, in which
 * models may have faults of other kinds.
 */
export function checkFallbacks({ providers = {} }: ParsedConfig, raw: unknown, report: Report): void {
  const ids = idsIn(raw);
  for (const [provider, { models }] of Object.entries(providers)) {
    for (const [model, { fallback }] of Object.entries(models)) {
      for (const [i, id] of fallback.entries()) {
        const path = ['providers', provider, 'models', model, 'fallback', i];
        if (!ids.has(id))
          report(path, `there is no model ${JSON.stringify(id)} in this file; expected <provider>/<model>`);
        else if (id === `${provider}/${model}`) report(path, 'a model cannot stand in for itself');
        else if (fallback.indexOf(id) !== i) report(path, 'this model stands in the list already');
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
