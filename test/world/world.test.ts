/** Nothing that a client has seen is lost, and nothing is charged twice, wherever the process or the power ends. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { POINTS } from './disk.ts';
import { play, playHistories, type Step } from './histories.ts';
import { ALL_USERS, GROUP } from './world.ts';

const HISTORIES = 4;
const DAY_MS = 100_000_000;

/** It comes to all points: requests are admitted, grow and end, and their rows are dropped. */
const SCENE: readonly Step[] = [
  { kind: 'edit', owner: GROUP, change: { totalNanos: 200n } },
  { kind: 'edit', owner: ALL_USERS, change: { totalNanos: 200n } },
  { kind: 'ask', worker: 0, key: 0, holdNanos: 30n, stream: true, user: 'alice' },
  { kind: 'ask', worker: 1, key: 1, holdNanos: 20n, stream: false, user: 'alice' },
  { kind: 'turn' },
  // The two come in batches of their own.
  { kind: 'sync' },
  { kind: 'sync' },
  { kind: 'grow', which: 0, nanos: 25n },
  { kind: 'turn' },
  { kind: 'sync' },
  { kind: 'settle', which: 0, percent: 50 },
  { kind: 'turn' },
  { kind: 'sync' },
  { kind: 'wait', milliseconds: DAY_MS },
];

describe('a process that is killed', () => {
  for (const point of POINTS) {
    test(`${point}`, async () => {
      const figures = await play([{ kind: 'end at', how: 'kill', point, visits: 1 }, ...SCENE]);
      assert.equal(figures.ends, 1, 'it comes there');
    });
  }
});

test(`random histories, with edits, disks and syncs that fail, kills and power cuts`, async (t) => {
  const seed = Date.now() % 1_000_000;
  t.diagnostic(`seed ${seed}`);
  await playHistories(HISTORIES, seed);
});
