/** Attacks on each unit of price, and by images and sound: nobody passes a balance or pays less than the host bills. */
import { testAttacks, testRefused } from './units/attack.ts';
import { PRICE_ATTACKS, REFUSED_PRICES } from './units/prices.ts';

testAttacks(PRICE_ATTACKS);
testRefused(REFUSED_PRICES);
