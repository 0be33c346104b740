/**
 * The attacks of attacks/neighbours.ts whose figures do not depend on how busy the machine is;
 * `npm run test:hostile` measures memory and processor time.
 */
import { NEIGHBOURS } from './attacks/neighbours.ts';
import { testFamily } from './family-test.ts';

const attacks = NEIGHBOURS.attacks.filter(({ passes }) => passes !== 'event loop' && passes !== 'memory');
testFamily({ ...NEIGHBOURS, attacks });
