/** The attacks of attacks/references.ts. */
import { REFERENCES } from './attacks/references.ts';
import { testFamily } from './family-test.ts';

testFamily(REFERENCES);
