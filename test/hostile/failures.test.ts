/** The attacks of attacks/failures.ts. */
import { FAILURES } from './attacks/failures.ts';
import { testFamily } from './family-test.ts';

testFamily(FAILURES);
