/** Headers that the provider of a model refuses: some hosts change a price by a header, and not by the body. Pure. */
import { printableName } from '../core/printable.ts';
import type { Model } from './catalog.ts';
import { hasLongContext, isLongContextBeta } from './long-context.ts';

/** What is wrong with the headers of a request, by their names in lower case, for a model; undefined if nothing is. */
export function headerProblem(
  model: Pick<Model, 'refuseHeaders' | 'above' | 'contextWindow'>,
  headers: Readonly<Record<string, string>>,
): string | undefined {
  for (const { name, value } of model.refuseHeaders) {
    const sent = headers[name];
    if (sent === undefined) continue;
    if (value === undefined) return `${name}: requests to this provider may not have this header`;
    const found = sent.split(',').find((each) => isRefused(each.trim().toLowerCase(), value));
    if (found !== undefined)
      return `${name}: requests to this provider may not have ${printableName(found.trim())} in this header`;
  }
  return hasLongContext(model) ? undefined : longContextProblem(headers['anthropic-beta'] ?? '');
}

/** A header must not open a dearer context at the plain price. */
function longContextProblem(betas: string): string | undefined {
  const asked = betas.split(',').find((each) => isLongContextBeta(each.trim().toLowerCase()));
  return asked === undefined ? undefined : `anthropic-beta: ${printableName(asked.trim())}: ${UNPRICED_CONTEXT}`;
}

const UNPRICED_CONTEXT =
  'this model has no price for a long context; leave it out (in the config of the gateway: `above`, or a `context_window` of more than 200000)';

function isRefused(sent: string, refused: string): boolean {
  return refused.endsWith('*') ? sent.startsWith(refused.slice(0, -1)) : sent === refused;
}
