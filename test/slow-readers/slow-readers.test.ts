/** Clients that stop reading, short form; `npm run prove -- slow-readers` is the long one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stopReading } from './trial.ts';

/** Long enough that the buffers of the systems in between hold only a part of it. */
const BYTES_EACH = 24_000_000;
const READERS = 3;
/**
 * Three reads of 64 KB, a text sample, the events of one read, and the overhead of a request: 551 KB
 * was measured on a busy machine.
 */
const MOST_BYTES_A_READER = 650_000;

test('clients that stop reading slow the host down, cost little memory, and get everything once they read on', async (t) => {
  const result = await stopReading(t, { readers: READERS, bytesEach: BYTES_EACH });
  const { usedBefore, usedAfter, pulledBytes, deviations } = result;
  assert.deepEqual(deviations, []);
  assert.ok(pulledBytes < (READERS * BYTES_EACH) / 2, `the host could send ${pulledBytes} bytes`);
  const each = (usedAfter - usedBefore) / READERS;
  assert.ok(each < MOST_BYTES_A_READER, `each takes ${each} bytes`);
});
