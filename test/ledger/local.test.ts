/** The conformance suite of the ledger, on a state file. */

import { runs } from '../support/at-length.ts';
import { openLocalStore } from './local-store.ts';
import { testConformance, testTerms } from './suite.ts';
import { testWrongClocks } from './wrong-clocks.ts';

testConformance(openLocalStore, runs(60));
testTerms(openLocalStore);
testWrongClocks(openLocalStore);
