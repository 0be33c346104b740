/** Requests for Claude at other vendors, whose hosts take the body of messages with its version and without its model. Pure. */
import { betasIn } from '../dialects/betas.ts';
import type { Fields } from '../dialects/dialect.ts';
import { membersOf } from '../wire/members.ts';

/**
 * The betas of a request that its host knows, from the header and the body: a host refuses a request with any other, and
 * clients name many.
 */
export function knownBetas(header: string | undefined, body: Fields, known: ReadonlySet<string>): readonly string[] {
  const named = [...(header?.split(',') ?? []), ...betasIn(body).flatMap(({ betas }) => betas)];
  return [...new Set(named.map((beta) => beta.trim()))].filter((beta) => known.has(beta));
}

/** A body without what stands elsewhere. `added`: members as JSON. */
export function bodyWithout(text: string, elsewhere: readonly string[], added: readonly string[] = []): string {
  const members = membersOf(text, 0)
    .filter(({ key }) => !elsewhere.includes(key))
    .map(({ keyStart, valueEnd }) => text.slice(keyStart, valueEnd));
  return `{${[...added, ...members].join(',')}}`;
}
