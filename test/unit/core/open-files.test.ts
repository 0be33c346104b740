/** How many connections a limit of open files leaves room for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { filesNeeded, openFilesLimit, roomForConnections } from '../../../src/core/open-files.ts';

const ROWS: readonly (readonly [limit: number | undefined, max: number, threads: number, room: number])[] = [
  [undefined, 8192, 1, 8192],
  [65_536, 8192, 1, 8192],
  [16_640, 8192, 1, 8192],
  [16_639, 8192, 1, 8191],
  [1024, 8192, 1, 384],
  [1024, 100, 1, 100],
  [1024, 8192, 4, 264],
  [256, 8192, 1, 32],
  [4, 8192, 1, 1],
];

for (const [limit, max, threads, room] of ROWS) {
  test(`${limit ?? 'no limit of'} files, max_connections ${max} and ${threads} threads: room for ${room}`, () => {
    // An argument that is undefined would be that of this process.
    assert.equal(roomForConnections(max, threads, limit ?? Number.POSITIVE_INFINITY), room);
  });
}

test('with 512 files or more, all connections and those to providers fit into the limit', () => {
  const numbers = [fc.integer({ min: 512, max: 2 ** 20 }), fc.integer({ min: 1, max: 2 ** 20 })] as const;
  fc.assert(
    fc.property(...numbers, (limit, max) => {
      const room = roomForConnections(max, 1, limit);
      assert.ok(room >= 1 && room <= max && filesNeeded(room, 1) <= limit);
    }),
  );
});

test('the limit of this process is what Node reports of it', () => {
  const { userLimits } = process.report.getReport() as { userLimits: { open_files: { soft: number | string } } };
  const soft = Number(userLimits.open_files.soft);
  assert.equal(openFilesLimit(), Number.isNaN(soft) ? undefined : soft);
});
