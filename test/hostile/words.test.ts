/** The attacks of attacks/words.ts. */
import { WORDS } from './attacks/words.ts';
import { testFamily } from './family-test.ts';

testFamily(WORDS);
