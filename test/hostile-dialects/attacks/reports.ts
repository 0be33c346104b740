/** Hosts that report their usage early, late, never, or as no usage can be: what they bill is charged. */
import type { Report } from '../dialogue.ts';
import { charges } from '../measures.ts';
import { ALL, MAXIMA, NATIVE } from '../requests.ts';

const TOKENS = 300;
const IMPOSSIBLE: readonly unknown[] = [-1, 1.5, 1e12, '7'];

const WAYS: readonly (readonly [how: string, report: Report])[] = [
  ['in the end', 'end'],
  ['late', 'late'],
  ['in each event', 'each event'],
  ['in the first event alone', 'early'],
  ['never', 'never'],
];
const USELESS = IMPOSSIBLE.map((value) => [`as ${JSON.stringify(value)}`, { impossible: value }] as const);

export const REPORTS = {
  title: 'Reports that come early, late, never or wrong',
  attacks: ALL.flatMap((direction) =>
    // What cannot be used is read by the dialect of the host alone.
    [...WAYS, ...USELESS.slice(0, NATIVE.includes(direction) ? undefined : 1)].flatMap(([how, report]) =>
      [false, true].map((stream) =>
        charges({
          direction,
          what: `what is reported ${how} is charged${stream ? ', streamed' : ''}`,
          fields: { stream, [MAXIMA[direction.client]]: TOKENS },
          conduct: { tokens: TOKENS, report, piecesAtOnce: 40 },
        }),
      ),
    ),
  ),
};
