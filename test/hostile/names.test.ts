/** The attacks of attacks/names.ts. */
import { NAMES } from './attacks/names.ts';
import { testFamily } from './family-test.ts';

testFamily(NAMES);
