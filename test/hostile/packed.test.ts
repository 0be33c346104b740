/** The attacks of attacks/packed.ts. */
import { PACKED } from './attacks/packed.ts';
import { testFamily } from './family-test.ts';

testFamily(PACKED);
