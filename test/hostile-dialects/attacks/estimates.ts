/** Attacks on the estimate of the input: text in every place that a dialect has, and text in disguise. */
import { billedOverBalance, billedOverTokenLimit, overLimit } from '../../hostile/measures.ts';
import type { DialectName } from '../dialogue.ts';
import { type DialectAttack, headOf, holds, type Row, requestOf, site } from '../measures.ts';
import { CHAT_PLACES } from '../places/chat.ts';
import { MESSAGES_PLACES } from '../places/messages.ts';
import { RESPONSES_PLACES } from '../places/responses.ts';
import { DISGUISED, type Place } from '../places/texts.ts';
import { ALL, type Direction, MAXIMA, NATIVE, user } from '../requests.ts';

/** The places for text in the requests of each dialect. */
export const TEXT_PLACES: Readonly<Record<DialectName, readonly Place[]>> = {
  chat: CHAT_PLACES,
  messages: MESSAGES_PLACES,
  responses: RESPONSES_PLACES,
};

/** One token of output, so that the input is what counts. */
function rowFor(direction: Direction, [where, fields]: Place): Row {
  return { direction, what: `text in ${where} counts`, fields: { [MAXIMA[direction.client]]: 1, ...fields } };
}

const inPlace = ALL.flatMap((direction) =>
  TEXT_PLACES[direction.client].map((place) => holds(rowFor(direction, place))),
);

const SMALL_BALANCE_NANOS = 1_000_000;
const SMALL_WINDOW = 350;
const RACING = 6;

const races = NATIVE.flatMap((direction): readonly DialectAttack[] => {
  const row = rowFor(direction, ['', user(direction.client, DISGUISED)]);
  const requests = Array(RACING).fill(requestOf(row));
  return [
    {
      ...headOf({ direction, what: `${RACING} racing requests of dense text do not pass a balance for less than one` }),
      ...overLimit('balance', SMALL_BALANCE_NANOS),
      run: async () => billedOverBalance(await site(), SMALL_BALANCE_NANOS, requests),
    },
    {
      ...headOf({ direction, what: `${RACING} racing requests of dense text do not pass a token limit for less` }),
      ...overLimit('token window', SMALL_WINDOW),
      run: async () => billedOverTokenLimit(await site(), SMALL_WINDOW, requests),
    },
  ];
});

export const INPUT = {
  title: 'Input that counts for less than it costs, in other dialects',
  attacks: [...inPlace, ...races],
};
