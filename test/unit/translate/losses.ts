/** What becomes of each row of what is left out, for each client at each host: found by translating it. */
import type { Fields } from '../../../src/dialects/dialect.ts';
import { hosted } from './hosted.ts';
import { CLIENTS, type Client, HOSTS, type Host, type LeftOut, patternOf } from './left-out.ts';

/** `kept`: the host is told in its own words, or needs not be. */
export type Outcome = 'kept' | 'left out' | 'refused';

export interface Loss {
  readonly outcome: Outcome;
  /** What of the request no row says. */
  readonly unsaid: readonly string[];
}

const TERMS = { maxOutput: undefined, defaultOutput: 4_000 };

export function lossOf({ name, with: others = [], ignoreTools = [] }: LeftOut, fields: Fields, way: Way): Loss {
  const { client, host } = way;
  const room = client === 'messages' ? { max_tokens: 4_000 } : {};
  const result = hosted(client, host, { ...room, ...fields }, { ...TERMS, ignoreTools });
  if (!result.ok) return { outcome: 'refused', unsaid: [] };
  const { ignored } = result.hosted;
  const isNamed = (each: string) => patternOf(name).test(each);
  return {
    outcome: ignored.some(isNamed) ? 'left out' : 'kept',
    unsaid: ignored.filter((each) => !isNamed(each) && !others.includes(each)),
  };
}

export interface Way {
  readonly client: Client;
  readonly host: Host;
}

/** Where requests are translated. */
export const WAYS: readonly Way[] = CLIENTS.flatMap((client) =>
  HOSTS.filter((host) => host !== client).map((host) => ({ client, host })),
);
