/** The attacks of attacks/fallbacks.ts. */
import { FALLBACKS } from './attacks/fallbacks.ts';
import { testFamily } from './family-test.ts';

testFamily(FALLBACKS);
