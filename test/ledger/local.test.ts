/** The conformance suite of the ledger, on a state file. */
import { openLocalStore } from './local-store.ts';
import { testConformance } from './suite.ts';

testConformance(openLocalStore, 20);
