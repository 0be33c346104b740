/**
 * Converts messages requests for Claude on other clouds, which expect the API version in the body and the model elsewhere. Pure.
 */
import { betasIn } from '../dialects/betas.ts';
import type { Fields } from '../dialects/dialect.ts';
import { membersOf } from '../wire/members.ts';

/**
 * Returns the betas from header and body that the host knows. Hosts reject requests with unknown betas, and clients send many.
 */
export function knownBetas(header: string | undefined, body: Fields, known: ReadonlySet<string>): readonly string[] {
  const named = [...(header?.split(',') ?? []), ...betasIn(body).flatMap(({ betas }) => betas)];
  return [...new Set(named.map((beta) => beta.trim()))].filter((beta) => known.has(beta));
}

/** Removes the members in `elsewhere` from a body and prepends `added`, members in JSON. */
export function bodyWithout(text: string, elsewhere: readonly string[], added: readonly string[] = []): string {
  const members = membersOf(text, 0)
    .filter(({ key }) => !elsewhere.includes(key))
    .map(({ keyStart, valueEnd }) => text.slice(keyStart, valueEnd));
  return `{${[...added, ...members].join(',')}}`;
}
