/** The attacks of attacks/lost.ts. */
import { LOST } from './attacks/lost.ts';
import { testFamily } from './family-test.ts';

testFamily(LOST);
