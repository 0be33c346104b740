/** Attacks in one dialect, at hosts of another. */
import { TRANSLATED } from './requests.ts';
import { testDirections } from './table.ts';

testDirections(TRANSLATED);
