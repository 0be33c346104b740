/** The attacks of attacks/terminal.ts. */
import { TERMINAL } from './attacks/terminal.ts';
import { testFamily } from './family-test.ts';

testFamily(TERMINAL);
