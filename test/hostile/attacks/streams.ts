/** Attacks with streams that write more than is held for them. */
import type { Family } from '../attack.ts';
import { billedOverBalance, billedOverSpendLimit, billedOverTokenLimit, overLimit, steps } from '../measures.ts';
import { asks, DEFAULT_OUTPUT, type Request } from '../site.ts';

const TOKENS = 2_000;
const RACING = 50;
/** Of a stream that is to pass a limit by itself. */
const ONE_LIMIT_NANOS = steps(2);
/** Of many that race. */
const RACE_LIMIT_NANOS = steps(50);

const stream = (fields = {}, wish = {}): Request => ({
  body: asks('exact', { stream: true, ...fields }),
  wish: { tokens: TOKENS, piecesAtOnce: 4, ...wish },
});
const racing = (count: number, request: Request): Request[] => Array(count).fill(request);

export const STREAMS: Family = {
  title: 'Streams without a maximum',
  about: `A stream that sets no maximum is held at the model's \`default_output\`. Its hold grows by as much, a step at a time, and when nothing is left to hold, the stream is cut. In these attacks a step is ${DEFAULT_OUTPUT} tokens.`,
  attacks: [
    {
      claim: 'one stream passes a balance by one step at most',
      tries: `one stream of ${TOKENS} tokens, with a balance for 200`,
      ...overLimit('balance', ONE_LIMIT_NANOS, steps(1)),
      run: async (workshop) => billedOverBalance(await workshop.site('plain'), ONE_LIMIT_NANOS, [stream()]),
    },
    {
      claim: 'a stream of dense text passes a balance by one step at most',
      tries: `one stream of ${TOKENS} tokens of ideographs, with a balance for 200`,
      ...overLimit('balance', ONE_LIMIT_NANOS, steps(1)),
      run: async (workshop) =>
        billedOverBalance(await workshop.site('plain'), ONE_LIMIT_NANOS, [
          stream({}, { alphabet: 'rare ideographs', piecesAtOnce: 1 }),
        ]),
    },
    {
      claim: 'a stream of tool calls passes a balance by one step at most',
      tries: 'one stream that writes only the arguments of a tool call',
      ...overLimit('balance', ONE_LIMIT_NANOS, steps(1)),
      run: async (workshop) =>
        billedOverBalance(await workshop.site('plain'), ONE_LIMIT_NANOS, [stream({}, { field: 'tool call' })]),
    },
    {
      claim: 'a stream of many choices passes a balance by one step for each at most',
      tries: 'one stream with `n: 8`, with a balance for two steps',
      ...overLimit('balance', steps(16), steps(8)),
      run: async (workshop) =>
        billedOverBalance(await workshop.site('plain'), steps(16), [stream({ n: 8 }, { piecesAtOnce: 2 })]),
    },
    {
      claim: 'one stream passes a spend limit by one step at most',
      tries: `one stream of ${TOKENS} tokens, with a spend limit for 200`,
      ...overLimit('spend limit', ONE_LIMIT_NANOS, steps(1)),
      run: async (workshop) => billedOverSpendLimit(await workshop.site('plain'), ONE_LIMIT_NANOS, [stream()]),
    },
    {
      claim: 'racing streams pass a balance by one step each at most',
      tries: `${RACING} racing streams of ${TOKENS} tokens, with a balance for 5,000 in all`,
      ...overLimit('balance', RACE_LIMIT_NANOS, steps(RACING)),
      run: async (workshop) =>
        billedOverBalance(await workshop.site('plain'), RACE_LIMIT_NANOS, racing(RACING, stream())),
    },
    {
      claim: 'racing streams pass a spend limit by one step each at most',
      tries: `${RACING} racing streams of ${TOKENS} tokens, with a spend limit for 5,000 in all`,
      ...overLimit('spend limit', RACE_LIMIT_NANOS, steps(RACING)),
      run: async (workshop) =>
        billedOverSpendLimit(await workshop.site('plain'), RACE_LIMIT_NANOS, racing(RACING, stream())),
    },
    {
      claim: 'racing streams with a maximum do not pass a token limit',
      tries: `${RACING} racing streams with \`max_tokens: 500\` and a token limit of 5,000`,
      ...overLimit('token window', 5_000),
      run: async (workshop) =>
        billedOverTokenLimit(await workshop.site('plain'), 5_000, racing(RACING, stream({ max_tokens: 500 }))),
    },
  ],
};
