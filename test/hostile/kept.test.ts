/** The attacks of attacks/kept.ts. */
import { KEPT } from './attacks/kept.ts';
import { testFamily } from './family-test.ts';

testFamily(KEPT);
