/** The attacks of attacks/google-tools.ts. */
import { GOOGLE_TOOLS } from './attacks/google-tools.ts';
import { testFamily } from './family-test.ts';

testFamily(GOOGLE_TOOLS);
