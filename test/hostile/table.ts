/** All attacks. */
import type { Family } from './attack.ts';
import { BUDGETS } from './attacks/budgets.ts';
import { END_USERS } from './attacks/end-users.ts';
import { ESTIMATES } from './attacks/estimates.ts';
import { FAILURES } from './attacks/failures.ts';
import { FALLBACKS } from './attacks/fallbacks.ts';
import { FORMS } from './attacks/forms.ts';
import { GOOGLE_TOOLS } from './attacks/google-tools.ts';
import { HOST_TOOLS } from './attacks/host-tools.ts';
import { KEPT } from './attacks/kept.ts';
import { LEAVING } from './attacks/leaving.ts';
import { LOST } from './attacks/lost.ts';
import { MAXIMA } from './attacks/maxima.ts';
import { NAMES } from './attacks/names.ts';
import { NEIGHBOURS } from './attacks/neighbours.ts';
import { PACKED } from './attacks/packed.ts';
import { PRICES } from './attacks/prices.ts';
import { REFERENCES } from './attacks/references.ts';
import { SPECIAL_PRICES_FAMILY } from './attacks/special-prices.ts';
import { STREAMS } from './attacks/streams.ts';
import { TERMINAL } from './attacks/terminal.ts';
import { UNSEEN } from './attacks/unseen.ts';
import { WORDS } from './attacks/words.ts';

export const FAMILIES: readonly Family[] = [
  ESTIMATES,
  REFERENCES,
  KEPT,
  PACKED,
  MAXIMA,
  NAMES,
  STREAMS,
  UNSEEN,
  LEAVING,
  FAILURES,
  FALLBACKS,
  FORMS,
  LOST,
  PRICES,
  SPECIAL_PRICES_FAMILY,
  HOST_TOOLS,
  GOOGLE_TOOLS,
  BUDGETS,
  END_USERS,
  WORDS,
  NEIGHBOURS,
  TERMINAL,
];
