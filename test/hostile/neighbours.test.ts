/** The attacks of attacks/neighbours.ts. */
import { NEIGHBOURS } from './attacks/neighbours.ts';
import { testFamily } from './family-test.ts';

testFamily(NEIGHBOURS);
