/** All attacks, and how far each came when the figures were last recorded. */
import { fileURLToPath } from 'node:url';
import type { Family } from './attack.ts';
import { ESTIMATES } from './attacks/estimates.ts';
import { LEAVING } from './attacks/leaving.ts';
import { MAXIMA } from './attacks/maxima.ts';
import { NAMES } from './attacks/names.ts';
import { NEIGHBOURS } from './attacks/neighbours.ts';
import { PRICES } from './attacks/prices.ts';
import { SPECIAL_PRICES_FAMILY } from './attacks/special-prices.ts';
import { STREAMS } from './attacks/streams.ts';
import { TERMINAL } from './attacks/terminal.ts';
import { WORDS } from './attacks/words.ts';

export const FAMILIES: readonly Family[] = [
  ESTIMATES,
  MAXIMA,
  NAMES,
  STREAMS,
  LEAVING,
  PRICES,
  SPECIAL_PRICES_FAMILY,
  WORDS,
  NEIGHBOURS,
  TERMINAL,
];

/** By the claim of the attack. */
export type Figures = Readonly<Record<string, number>>;

/** Written by `npm run test:hostile -- --record`. */
export const FIGURES_FILE = fileURLToPath(new URL('./figures.json', import.meta.url));
