/** The attacks of attacks/streams.ts. */
import { STREAMS } from './attacks/streams.ts';
import { testFamily } from './family-test.ts';

testFamily(STREAMS);
