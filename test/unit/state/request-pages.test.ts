/** A page of requests walks a bounded part of the journal, however rare what it looks for is. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import type { BookAtOnce } from '../../../src/state/book.ts';
import { bookOf } from '../../../src/state/sqlite/book.ts';
import { openDatabase } from '../../../src/state/sqlite/database.ts';
import { drawPast, writePast } from '../../support/past.ts';

test('the request of a rare key is found behind 45,000 of another, three pages further back, and what is left is known', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-pages-'));
  const { database } = openDatabase(join(directory, 'state.db'), 'crash');
  t.after(() => {
    database.close();
    rmSync(directory, { recursive: true });
  });
  const rare = drawPast(['key_rare'], 1, 1_000, 2_000).map((request) => ({ ...request, requestId: 'req_rare' }));
  writePast(database, [...rare, ...drawPast(['key_busy'], 45_000, 10_000, 20_000)]);
  const requests = bookOf(database).requests;
  const query = { keyId: 'key_rare', sinceMs: undefined, untilMs: undefined, errors: false, limit: 10 };
  const found: (readonly string[])[] = [];
  const before: (number | undefined)[] = [];
  let after: ReturnType<BookAtOnce['requests']['page']>['next'];
  do {
    const page = requests.page({ ...query, after });
    found.push(page.rows.map(({ id }) => id));
    after = page.next;
    if (after !== undefined) before.push(requests.countBefore(after));
  } while (after !== undefined);
  assert.deepEqual(found, [[], [], ['req_rare']]);
  assert.deepEqual(before, [25_001, 5_001]);
});
