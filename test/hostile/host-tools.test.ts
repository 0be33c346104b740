/** The attacks of attacks/host-tools.ts. */
import { HOST_TOOLS } from './attacks/host-tools.ts';
import { testFamily } from './family-test.ts';

testFamily(HOST_TOOLS);
