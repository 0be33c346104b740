/** Readers that stop reading, in short; `npm run test:readers` does the same at length. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stopReading } from './trial.ts';

/** So long that what the systems in between hold of it is a part. */
const BYTES_EACH = 40_000_000;
const READERS = 20;
/** Three reads of 64 KB, a sample of the text, and what goes with a request. */
const MOST_BYTES_A_READER = 550_000;

test('clients that stop reading hold the host back, cost little memory, and get all of it once they read on', async (t) => {
  const result = await stopReading(t, { readers: READERS, bytesEach: BYTES_EACH });
  const { usedBefore, usedAfter, pulledBytes, deviations } = result;
  assert.deepEqual(deviations, []);
  assert.ok(pulledBytes < (READERS * BYTES_EACH) / 2, `the host could send ${pulledBytes} bytes`);
  const each = (usedAfter - usedBefore) / READERS;
  assert.ok(each < MOST_BYTES_A_READER, `each takes ${each} bytes`);
});
