/** The attacks of attacks/estimates.ts. */
import { ESTIMATES } from './attacks/estimates.ts';
import { testFamily } from './family-test.ts';

testFamily(ESTIMATES);
