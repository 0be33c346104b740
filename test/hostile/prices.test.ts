/** The attacks of attacks/prices.ts. */
import { PRICES } from './attacks/prices.ts';
import { testFamily } from './family-test.ts';

testFamily(PRICES);
