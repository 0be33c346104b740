/** What clients send in one write: several requests one after the other, and mutations of all that. */
import type { Random } from '../support/random.ts';
import { cutAnywhere, mutateBytes } from './bytes.ts';
import { drawRequest } from './requests.ts';

const MOST_REQUESTS = 6;
const MUTATED_SHARE = 0.5;
/** Whoever reads them asks for no key. */
const SECRETS = { calm: 'sk-calm', wild: 'sk-wild', disabled: 'sk-disabled' };

/** Ends what an intake may wait for: the line before a chunk, and what could be the beginning of a blank line. */
const LAST = Buffer.from('\r\n....');

interface Write {
  readonly sent: Buffer;
  /** The same in the pieces in which it arrives. */
  readonly pieces: readonly Buffer[];
}

export function drawWrite(random: Random): Write {
  const requests = Array.from({ length: random.between(1, MOST_REQUESTS) }, () => drawRequest(random, SECRETS).pieces);
  const whole = Buffer.concat(requests.flat());
  const sent = Buffer.concat([random.chance(MUTATED_SHARE) ? mutateBytes(whole, random) : whole, LAST]);
  return { sent, pieces: cutAnywhere(sent, random).filter(({ length }) => length > 0) };
}
