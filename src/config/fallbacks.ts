/** Checks the models that stand in for others: one that is not there would be noticed only when it is needed. */
import type { Report } from './build.ts';
import type { ParsedConfig } from './schema.ts';

/** Reports each `fallback` that names no model of the config, the model itself, or the same model twice. */
export function checkFallbacks({ providers = {} }: ParsedConfig, report: Report): void {
  const ids = new Set(Object.entries(providers).flatMap(([name, { models }]) => idsOf(name, models)));
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

function idsOf(provider: string, models: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(models).map((model) => `${provider}/${model}`);
}
