/**
 * The attacks of attacks/neighbours.ts that are short, and whose figures do not depend on how busy the machine is;
 * `npm run prove -- hostile` measures memory and processor time.
 */
import { QUICK_NEIGHBOURS } from './attacks/neighbours.ts';
import { testFamily } from './family-test.ts';

testFamily(QUICK_NEIGHBOURS);
