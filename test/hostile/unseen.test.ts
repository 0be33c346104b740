/** The attacks of attacks/unseen.ts, but for those whose figures depend on how fast the machine is. */
import { STEADY_UNSEEN } from './attacks/unseen.ts';
import { testFamily } from './family-test.ts';

testFamily(STEADY_UNSEEN);
