/** Attacks with answers that fail, and are billed all the same. */
import type { Direction } from '../../hostile-dialects/requests.ts';
import { shown, user } from '../../hostile-dialects/requests.ts';
import type { Attack, Family } from '../attack.ts';
import { billedOverCharged, OVER_CHARGED } from '../measures.ts';
import { bounded, CHAT, MESSAGES, RESPONSES } from './dialect-requests.ts';

const TOKENS = 10_000;
const SHOWN = 100;
const LONG_TEXT = 'one '.repeat(10_000);

const FAILING: readonly Direction[] = [
  CHAT,
  MESSAGES,
  RESPONSES,
  { client: 'responses', host: 'chat' },
  { client: 'chat', host: 'messages' },
];

const failed = FAILING.flatMap((direction) =>
  [true, false].map((stream): Attack => {
    const what = stream ? 'a stream' : 'an answer';
    return {
      claim: `${what} of ${shown(direction)} that fails is charged as its host reports`,
      passes: 'balance',
      tries: `${what} of ${shown(direction)}, most of which is thinking that is not shown, and which ends with an error and a report`,
      ...OVER_CHARGED,
      run: async (workshop) =>
        billedOverCharged(
          await workshop.dialects(),
          bounded(direction, TOKENS, { stream, ...user(direction.client, LONG_TEXT) }, 'cheap', {
            conduct: { tokens: SHOWN, hidden: TOKENS - SHOWN, end: 'failed' },
          }),
        ),
    };
  }),
);

const filtered = [CHAT, RESPONSES].flatMap((direction) =>
  [true, false].map((stream): Attack => {
    const where = `in ${direction.client}${stream ? ', streamed' : ''}`;
    return {
      claim: `an input that its host filters ${where}, is charged`,
      passes: 'balance',
      tries: `an input of 10,000 tokens ${where}, which its host reads, bills and answers with a 400`,
      ...OVER_CHARGED,
      run: async (workshop) =>
        billedOverCharged(
          await workshop.dialects(),
          bounded(direction, TOKENS, { stream, ...user(direction.client, LONG_TEXT) }, 'cheap', {
            conduct: { end: 'filtered' },
          }),
        ),
    };
  }),
);

export const FAILURES: Family = {
  title: 'Answers that fail',
  about:
    'An error is free only where its host says so. Some bill what was written before it, and report it there, or bill the input that they refuse.',
  attacks: [...failed, ...filtered],
};
