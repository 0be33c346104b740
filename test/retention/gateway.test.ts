/** A gateway that drops old journal rows. Its steps, disks that fail between them and ends are in `test/world/`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { audit } from '../../src/audit/audit.ts';
import { openDatabase } from '../../src/state/sqlite/database.ts';
import { CONFIG, Workplace } from '../support/cli.ts';
import { writeOldRows, writePast } from '../support/past.ts';
import { until } from '../support/wait.ts';

/** About five steps' worth. */
const ROWS = 4_500;
const KEEPS_A_DAY = 'journal_retention: 1d\n';

/** The number of requests in the journal, and of those dropped from it. */
interface Counts {
  readonly rows: number;
  readonly dropped: number;
}

function countsOf(statePath: string): Counts {
  const database = new Database(statePath, { readonly: true, timeout: 5_000 });
  const counts = database
    .prepare(
      'SELECT (SELECT count(*) FROM journal) AS rows, (SELECT coalesce(sum(requests), 0) FROM sealed_days) AS dropped',
    )
    .get() as Counts;
  database.close();
  return counts;
}

function assertClean(statePath: string): void {
  const checks = audit(statePath, { onProgress: () => {} });
  assert.deepEqual(
    checks.flatMap(({ differences }) => differences),
    [],
  );
}

/**
 * A workplace with that many old journal rows. Gateways and auditor run in processes of their own.
 */
function placeWithOldRows(scope: ConstructorParameters<typeof Workplace>[0], config: string): Workplace {
  const place = new Workplace(scope, config + CONFIG);
  const { database } = openDatabase(place.statePath);
  writeOldRows(database, ROWS);
  database.close();
  return place;
}

test('a gateway that keeps its journal for a day drops older rows under load, and the totals agree throughout', async (t) => {
  const place = placeWithOldRows(t, `${KEEPS_A_DAY}threads: 2\n`);
  const { key } = await place.createKey('app', '--rpm', '1000000');
  const serving = await place.serve();
  let requests = 0;
  for (let seen = -1; seen < ROWS; ) {
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => serving.chatOutcome(key)));
    assert.deepEqual([...new Set(outcomes)], ['200']);
    requests += outcomes.length;
    const { dropped } = countsOf(place.statePath);
    if (dropped !== seen) assertClean(place.statePath);
    seen = dropped;
  }
  assert.deepEqual(countsOf(place.statePath), { rows: requests, dropped: ROWS });
  assert.equal(await serving.stop(), 0);
  assertClean(place.statePath);
});

test('a gateway without journal_retention drops nothing', async (t) => {
  const place = placeWithOldRows(t, '');
  const { key } = await place.createKey('app');
  const serving = await place.serveHere();
  assert.equal(await serving.chatOutcome(key), '200');
  assert.equal(await serving.stop(), 0);
  assert.deepEqual(countsOf(place.statePath), { rows: ROWS + 1, dropped: 0 });
});

test('the commands report what was dropped: part of a day is left out, a request is unknown', async (t) => {
  const place = new Workplace(t, KEEPS_A_DAY + CONFIG);
  const { id: keyId } = await place.createKey('app');
  const { database } = openDatabase(place.statePath);
  const times = ['2020-01-10T06:00Z', '2020-01-10T18:00Z', '2020-01-11T06:00Z', '2020-02-01T06:00Z'];
  const figures = { keyId, model: 'mock/paid', promptTokens: 1, completionTokens: 1, costNanos: 5n };
  const end = { source: 'reported', outcome: 'ok' } as const;
  writePast(
    database,
    times.map((time, i) => ({ requestId: `req_${i}`, admittedAtMs: Date.parse(time), ...figures, ...end })),
  );
  database.close();
  const requestsIn = async (...range: string[]) => {
    const { status, stdout, stderr } = await place.run(['usage', ...range, '--json']);
    assert.equal(status, 0, stderr);
    return [JSON.parse(stdout)[0].requests, stderr];
  };
  const broken = ['--since', '2020-01-10T12:00:00Z', '--until', '2020-01-12'];
  assert.deepEqual(await requestsIn(...broken), [2, '']);
  assert.equal((await place.json<{ id: string }>('requests', 'show', 'req_0')).id, 'req_0');

  const serving = await place.serve();
  await until(() => countsOf(place.statePath).rows === 0);
  assert.equal(await serving.stop(), 0);

  const [left, note] = await requestsIn(...broken);
  assert.equal(left, 1);
  assert.match(note, /^note: [^\n]*2020-01-10[^\n]*journal_retention[^\n]*\n$/);
  assert.deepEqual(await requestsIn(), [4, '']);
  assert.deepEqual(await requestsIn('--since', '2020-01-10', '--until', '2020-01-11'), [2, '']);
  const { status, stderr } = await place.run(['requests', 'show', 'req_0']);
  assert.equal(status, 1);
  assert.match(stderr, /^error: no such request: "req_0"; .*older than journal_retention/);
});
