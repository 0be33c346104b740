/** The attacks of attacks/maxima.ts. */
import { MAXIMA } from './attacks/maxima.ts';
import { testFamily } from './family-test.ts';

testFamily(MAXIMA);
