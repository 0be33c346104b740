/** Options of a stream for which nothing is held, and which may write as much as it likes. */
import type { Allowance } from '../../src/relay/relay.ts';
import { NO_SECRETS } from '../../src/wire/secrets.ts';

export const NO_BOUND: Allowance = { tokens: Number.POSITIVE_INFINITY, extend: async () => undefined };
export const UNBOUNDED = { secrets: NO_SECRETS, choices: 1, allowance: NO_BOUND };
