/** Headers that the provider of a model refuses: some hosts change a price by a header, and not by the body. Pure. */
import { printableName } from '../core/printable.ts';
import type { Model } from './catalog.ts';

/** What is wrong with the headers of a request, by their names in lower case, for a model; undefined if nothing is. */
export function headerProblem(
  { refuseHeaders }: Pick<Model, 'refuseHeaders'>,
  headers: Readonly<Record<string, string>>,
): string | undefined {
  for (const { name, value } of refuseHeaders) {
    const sent = headers[name];
    if (sent === undefined) continue;
    if (value === undefined) return `${name}: requests to this provider may not have this header`;
    const found = sent.split(',').find((each) => isRefused(each.trim().toLowerCase(), value));
    if (found !== undefined)
      return `${name}: requests to this provider may not have ${printableName(found.trim())} in this header`;
  }
  return undefined;
}

function isRefused(sent: string, refused: string): boolean {
  return refused.endsWith('*') ? sent.startsWith(refused.slice(0, -1)) : sent === refused;
}
