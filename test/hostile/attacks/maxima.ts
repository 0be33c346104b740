/** Attacks with the maximum of output: two of them, and one that the host does not read. */
import type { Family } from '../attack.ts';
import { billedOverHeld, billedOverSpendLimit, OVER_HELD, overLimit } from '../measures.ts';
import { asks } from '../site.ts';

const BIG = 5_000;
const SMALL_LIMIT_NANOS = 20_000_000;
const both = (maxTokens: number, maxCompletionTokens: number) => ({
  max_tokens: maxTokens,
  max_completion_tokens: maxCompletionTokens,
});

export const MAXIMA: Family = {
  title: 'Two maxima, and the wrong one',
  about:
    'Hosts read `max_tokens`, `max_completion_tokens`, or both. What is held must cover whichever of them the host reads.',
  attacks: [
    {
      claim: 'of two maxima the larger one is held where the host reads max_tokens',
      passes: 'balance',
      tries: `\`max_tokens: ${BIG}\` with \`max_completion_tokens: 1\``,
      ...OVER_HELD,
      run: async (workshop) =>
        billedOverHeld(await workshop.site('plain'), { body: asks('old', both(BIG, 1)), wish: { tokens: BIG } }),
    },
    {
      claim: 'of two maxima the larger one is held where the host reads max_completion_tokens',
      passes: 'balance',
      tries: `\`max_completion_tokens: ${BIG}\` with \`max_tokens: 1\``,
      ...OVER_HELD,
      run: async (workshop) =>
        billedOverHeld(await workshop.site('plain'), { body: asks('new', both(1, BIG)), wish: { tokens: BIG } }),
    },
    {
      claim: 'cap_output caps a request whose only maximum its host does not read',
      passes: 'balance',
      tries: '`max_completion_tokens: 1` alone, with `cap_output`, at a host that reads only `max_tokens`',
      ...OVER_HELD,
      run: async (workshop) =>
        billedOverHeld(await workshop.site('capped'), {
          body: asks('old', { max_completion_tokens: 1 }),
          wish: { tokens: BIG },
        }),
    },
    {
      claim: 'racing requests with two maxima do not pass a spend limit by more than one request',
      tries: '20 racing requests with both maxima',
      // One request more than the limit covers, and the error of the estimates.
      ...overLimit('spend limit', SMALL_LIMIT_NANOS, BIG * 10_000),
      run: async (workshop) => {
        const request = { body: asks('old', both(BIG, 1)), wish: { tokens: BIG } };
        return billedOverSpendLimit(await workshop.site('plain'), SMALL_LIMIT_NANOS, Array(20).fill(request));
      },
    },
  ],
};
