/** The conformance suite of the ledger, on a database. */
import { after } from 'node:test';
import { NONSENSE, testAgreement, testNonsense } from './agreement.ts';
import { testDatabase } from './database.ts';
import { testDoubts } from './doubts.ts';
import { testLosses } from './losses.ts';
import { testNodes } from './nodes.ts';
import { testRaces } from './races.ts';
import { SharedDatabase } from './shared-store.ts';
import { testConformance } from './suite.ts';

const database = await SharedDatabase.start();
after(() => database.stop());

testConformance(database.openStore, 1);
testRaces(database, 2, 200);
testNodes(database);
testAgreement(database);
testNonsense(database, NONSENSE);
testDoubts(database);
testLosses(database);
testDatabase(database);
