/**
 * The rest of the conformance suite of the ledger on a database: terms of keys, clocks that are wrong, long logs,
 * answers that are lost twice, more gateways and more histories.
 */
import { after, test } from 'node:test';
import { MORE_NONSENSE, testLongLogs, testNonsense } from './agreement.ts';
import { testClocks } from './clocks.ts';
import { testCuts } from './cuts.ts';
import { testRepeatedDoubts } from './doubts.ts';
import { compareWithNaiveLedger } from './model.ts';
import { testRaces } from './races.ts';
import { SharedDatabase } from './shared-store.ts';
import { testTerms } from './suite.ts';
import { testWrongClocks } from './wrong-clocks.ts';

const HISTORIES = 10;

const database = await SharedDatabase.start();
after(() => database.stop());

testTerms(database.openStore);
testWrongClocks(database.openStore);
testRaces(database, 4, 400);
testClocks(database);
testNonsense(database, MORE_NONSENSE);
testLongLogs(database);
testRepeatedDoubts(database);
testCuts(database, HISTORIES);

test('whatever happens, the ledger gives the answers and totals of a plain list, in more histories', async (t) => {
  const seed = Date.now() % 1_000_000;
  t.diagnostic(`seed ${seed}`);
  await compareWithNaiveLedger(database.openStore, HISTORIES, seed);
});
