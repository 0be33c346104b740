/** The attacks of attacks/leaving.ts. */
import { LEAVING } from './attacks/leaving.ts';
import { testFamily } from './family-test.ts';

testFamily(LEAVING);
