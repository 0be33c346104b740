/** Headers that the provider of a model refuses, for hosts that change prices by a header. Pure. */
import { printableName } from '../core/printable.ts';
import type { Model } from './catalog.ts';
import { hasLongContext, isLongContextBeta } from './long-context.ts';

type Refusing = Pick<Model, 'refuseHeaders' | 'above' | 'contextWindow'>;

const BETA_HEADER = 'anthropic-beta';

/** The problem of a model with the headers of a request, by their lower-case names; undefined without one. */
export function headerProblem(model: Refusing, headers: Readonly<Record<string, string>>): string | undefined {
  for (const [name, sent] of Object.entries(headers)) {
    const problem = valueProblem(model, name, sent.split(','), { where: name, what: 'header' });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The same for betas that a field of the body names. */
export function betaProblem(model: Refusing, field: string, betas: readonly string[]): string | undefined {
  return valueProblem(model, BETA_HEADER, betas, { where: printableName(field), what: 'field' });
}

function valueProblem(
  model: Refusing,
  header: string,
  values: readonly string[],
  { where, what }: { readonly where: string; readonly what: 'header' | 'field' },
): string | undefined {
  for (const { name, value } of model.refuseHeaders) {
    if (name !== header) continue;
    if (value === undefined) return `${where}: requests to this provider may not have this ${what}`;
    const found = values.find((each) => isRefused(each.trim().toLowerCase(), value));
    if (found !== undefined)
      return `${where}: requests to this provider may not have ${printableName(found.trim())} in this ${what}`;
  }
  if (header !== BETA_HEADER || hasLongContext(model)) return undefined;
  // A beta must not open a long context at the ordinary price.
  const asked = values.find((each) => isLongContextBeta(each.trim().toLowerCase()));
  return asked === undefined ? undefined : `${where}: ${printableName(asked.trim())}: ${UNPRICED_CONTEXT}`;
}

const UNPRICED_CONTEXT =
  'this model has no price for a long context; leave it out (in the config of the gateway: `above`, or a `context_window` of more than 200000)';

function isRefused(sent: string, refused: string): boolean {
  return refused.endsWith('*') ? sent.startsWith(refused.slice(0, -1)) : sent === refused;
}
