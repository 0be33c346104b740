/** Hosts that report their usage early, late, never, or as no usage can be: what they bill is charged. */
import type { Report } from '../dialogue.ts';
import { charges } from '../measures.ts';
import { ALL, MAXIMA, NATIVE } from '../requests.ts';

const TOKENS = 300;
const IMPOSSIBLE: readonly unknown[] = [-1, 1.5, 1e12, '7'];

type Way = readonly [how: string, report: Report];

const USUAL: readonly Way[] = [
  ['in the end', 'end'],
  ['late', 'late'],
  ['in the first event alone', 'early'],
  ['never', 'never'],
];
/** How a dialect reads a report is the same in every translation from it. */
const UNUSUAL: readonly Way[] = [
  ['in each event', 'each event'],
  ...IMPOSSIBLE.map((value): Way => [`as ${JSON.stringify(value)}`, { impossible: value }]),
];

export const REPORTS = {
  title: 'Reports that come early, late, never or wrong',
  attacks: ALL.flatMap((direction) =>
    [...USUAL, ...(NATIVE.includes(direction) ? UNUSUAL : [])].flatMap(([how, report]) =>
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
