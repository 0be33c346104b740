/** Attacks with input that a request names: its host fetches it, and the gateway sees an id or an address. */
import type { DialectName } from '../../hostile-dialects/dialogue.ts';
import { REFERENCE_PLACES } from '../../hostile-dialects/places/references.ts';
import type { Place } from '../../hostile-dialects/places/texts.ts';
import type { Attack, Family } from '../attack.ts';
import { billedOverBalance, billedOverHeld, billedOverTokenLimit, OVER_HELD, overLimit } from '../measures.ts';
import { NANOS_PER_USD } from '../truthful-site.ts';
import { bounded, DIRECTIONS, RACING, racing } from './dialect-requests.ts';

const BALANCE_NANOS = NANOS_PER_USD;
const WINDOW = 100_000;

const named = DIRECTIONS.flatMap((direction) =>
  REFERENCE_PLACES[direction.client].map(([what, fields]): Attack => {
    const request = bounded(direction, 1, fields, 'tooled');
    return {
      claim: `${what}, in ${direction.client}, is held for or refused`,
      tries: `${RACING} racing requests with ${what}, in ${direction.client}, with a balance of 1 USD`,
      ...overLimit('balance', BALANCE_NANOS),
      run: async (workshop) =>
        billedOverBalance(await workshop.dialects(), BALANCE_NANOS, racing(request, workshop.isLong)),
    };
  }),
);

/** One of each dialect, where the config lets the host fetch. */
const FETCHED: Readonly<Record<DialectName, string>> = {
  chat: 'a `file_id`',
  messages: 'a PDF by its address',
  responses: 'a `file_url`',
};

const fetched = DIRECTIONS.flatMap((direction) => {
  const { client } = direction;
  const [what, fields] = REFERENCE_PLACES[client].find(([each]) => each === FETCHED[client]) as Place;
  const request = bounded(direction, 1, fields, 'fetching');
  const tries = `${what}, in ${client}, where the config has \`remote_files: context\``;
  return [
    {
      claim: `${what}, in ${client}, is held for as all that fits in, where the host may fetch`,
      passes: 'balance',
      tries,
      ...OVER_HELD,
      run: async (workshop) => billedOverHeld(await workshop.dialects(), request),
    },
    {
      claim: `${what}, in ${client}, counts as all that fits in, where the host may fetch`,
      tries: `${tries}, with a token limit for less`,
      ...overLimit('token window', WINDOW),
      run: async (workshop) => billedOverTokenLimit(await workshop.dialects(), WINDOW, [request]),
    },
  ] satisfies Attack[];
});

export const REFERENCES: Family = {
  title: 'Input that is named',
  about:
    'Some requests name what their host is to read: a file that it keeps, an address, an earlier answer. The gateway does not see it. In these attacks each name stands for 150,000 tokens.',
  attacks: [...named, ...fetched],
};
