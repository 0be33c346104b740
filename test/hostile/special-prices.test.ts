/** The attacks of attacks/special-prices.ts. */
import { SPECIAL_PRICES_FAMILY } from './attacks/special-prices.ts';
import { testFamily } from './family-test.ts';

testFamily(SPECIAL_PRICES_FAMILY);
