/** The attacks of attacks/budgets.ts. */
import { BUDGETS } from './attacks/budgets.ts';
import { testFamily } from './family-test.ts';

testFamily(BUDGETS);
