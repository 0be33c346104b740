/** What Claude is asked at the hosts of others, which take the body of messages with its version and without its model. Pure. */
import { membersOf } from '../wire/members.ts';

/** Of the betas that a client names in its header, those of a host: it refuses a request for any other, and clients name many. */
export function knownBetas(header: string | undefined, known: ReadonlySet<string>): readonly string[] {
  const named = header === undefined ? [] : header.split(',').map((beta) => beta.trim());
  return named.filter((beta) => known.has(beta));
}

/** A body without what stands elsewhere. `added`: members as JSON. */
export function bodyWithout(text: string, elsewhere: readonly string[], added: readonly string[] = []): string {
  const members = membersOf(text, 0)
    .filter(({ key }) => !elsewhere.includes(key))
    .map(({ keyStart, valueEnd }) => text.slice(keyStart, valueEnd));
  return `{${[...added, ...members].join(',')}}`;
}
