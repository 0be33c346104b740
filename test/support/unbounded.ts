/** Options of a stream for which nothing is held, and which may write as much as it likes. */
import type { Allowance } from '../../src/relay/relay.ts';

export const NO_BOUND: Allowance = { tokens: Number.POSITIVE_INFINITY, extend: async () => undefined };
export const UNBOUNDED = { secrets: [], choices: 1, allowance: NO_BOUND };
