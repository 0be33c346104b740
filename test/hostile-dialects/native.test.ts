/** Attacks in messages and responses, at hosts that speak them. */
import { NATIVE } from './requests.ts';
import { testDirections } from './table.ts';

testDirections(NATIVE);
