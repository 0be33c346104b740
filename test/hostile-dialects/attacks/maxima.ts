/** Attacks with the maximum of output: two of them, that of another dialect, thinking, several answers. */

import { billedOverBalance, billedOverSpendLimit, billedOverTokenLimit, overLimit } from '../../hostile/measures.ts';
import type { Fields } from '../../hostile/names.ts';
import type { DialectName } from '../dialogue.ts';
import { type DialectAttack, headOf, holds, isRefused, requestOf, site } from '../measures.ts';
import { ALL, type Direction, MAXIMA, NATIVE, type Request, TRANSLATED } from '../requests.ts';

const BIG = 5_000;
const NAMES = ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'max_tokens_to_sample'];

/** At a host that reads every maximum there is, and takes the largest. */
const second = ALL.flatMap((direction) =>
  NAMES.filter((name) => name !== MAXIMA[direction.client]).map((name) =>
    holds({
      direction: { ...direction, reading: 'go' },
      what: `${name} beside its own maximum is held or refused`,
      fields: { [MAXIMA[direction.client]]: 1, [name]: BIG },
      conduct: { tokens: BIG },
    }),
  ),
);

const first = ALL.map((direction) =>
  holds({
    direction,
    what: 'no maximum is held for as far as the model writes unasked',
    fields: { [MAXIMA[direction.client]]: undefined },
    conduct: { tokens: 90 },
  }),
);

/** How a client asks for much thinking. */
const THINKING: Readonly<Record<DialectName, Fields>> = {
  chat: { reasoning_effort: 'high' },
  messages: { thinking: { type: 'enabled', budget_tokens: BIG - 1 } },
  responses: { reasoning: { effort: 'high' } },
};

const thinking = ALL.flatMap((direction) =>
  [false, true].map((stream) =>
    holds({
      direction,
      what: `a maximum spent on hidden thinking is held and charged${stream ? ', streamed' : ''}`,
      fields: { stream, [MAXIMA[direction.client]]: BIG, ...THINKING[direction.client] },
      conduct: { tokens: 100, hidden: BIG - 100, piecesAtOnce: 40 },
    }),
  ),
);

const answers = TRANSLATED.map((direction) =>
  isRefused({ direction, what: 'n: 5, where a host gives one answer, is refused', fields: { n: 5 } }),
);

const RACING = 6;
const MAXIMUM = 500;
/** One answer costs that at most, and its input less. */
const ANSWER_NANOS = MAXIMUM * 10_000;

function racing(direction: Direction): readonly Request[] {
  const fields = { [MAXIMA[direction.client]]: MAXIMUM };
  return Array(RACING).fill(requestOf({ direction, what: '', fields, conduct: { tokens: 2 * MAXIMUM } }));
}

const atBalance = ALL.map(
  (direction): DialectAttack => ({
    ...headOf({ direction, what: `${RACING} racing requests do not pass a balance for two` }),
    ...overLimit('balance', 2 * ANSWER_NANOS),
    run: async () => billedOverBalance(await site(), 2 * ANSWER_NANOS, racing(direction)),
  }),
);

const atLimits = NATIVE.flatMap((direction): readonly DialectAttack[] => [
  {
    ...headOf({ direction, what: `${RACING} racing requests pass a spend limit for two by less than one` }),
    ...overLimit('spend limit', 2 * ANSWER_NANOS, 1.1 * ANSWER_NANOS),
    run: async () => billedOverSpendLimit(await site(), 2 * ANSWER_NANOS, racing(direction)),
  },
  {
    ...headOf({ direction, what: `${RACING} racing requests do not pass a token limit for two` }),
    ...overLimit('token window', 2 * MAXIMUM),
    run: async () => billedOverTokenLimit(await site(), 2 * MAXIMUM, racing(direction)),
  },
]);

export const OUTPUT = {
  title: 'The maximum of output, in other dialects',
  attacks: [...second, ...first, ...thinking, ...answers, ...atBalance, ...atLimits],
};
