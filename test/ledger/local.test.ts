/** The conformance suite of the ledger, on a state file. */
import { openLocalStore } from './local-store.ts';
import { testConformance, testTerms } from './suite.ts';
import { testWrongClocks } from './wrong-clocks.ts';

testConformance(openLocalStore, 20);
testTerms(openLocalStore);
testWrongClocks(openLocalStore);
