/** The Usage view on a real terminal, compared with what `usage` prints. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { utcMonth } from '../../src/core/clock.ts';
import { openDatabase } from '../../src/state/sqlite/database.ts';
import { daysAgo, drawPast, writePast } from '../support/past.ts';
import { Desk } from '../support/terminal.ts';

interface UsageJson {
  readonly key?: string;
  readonly model?: string;
  readonly day?: string;
  readonly requests: number;
  readonly cost_usd: string;
}

/** How long ago some requests were, and how many: each range has a different number of them. */
const PAST = [
  [0.5, 11],
  [4, 23],
  [20, 31],
  [80, 47],
] as const;

test('usage on the screen, and in the exported file, is that of the command', async (t) => {
  const desk = await Desk.open(t);
  const { place } = desk;
  const keyIds = [await place.createKey('first'), await place.createKey('second')].map(({ id }) => id);
  const { database } = openDatabase(place.statePath);
  for (const [days, count] of PAST) {
    const drawn = drawPast(keyIds, count, daysAgo(days), daysAgo(days) + 1_000);
    // Expensive enough to show in cents.
    const past = drawn.map((request) => ({ ...request, costNanos: request.costNanos * 1_000_000_000n }));
    writePast(
      database,
      past.map((request) => ({ ...request, requestId: `${request.requestId}_${days}` })),
    );
  }
  database.close();
  await desk.dashboard();
  await desk.type('5');
  await desk.shows(/Total {2}\d+ requests/);

  await t.test('over each range', async () => {
    const month = `${utcMonth(Date.now())}-01`;
    for (const since of ['7d', '30d', month, undefined, 'today', '24h']) {
      const [sum] = await place.json<UsageJson[]>('usage', ...(since === undefined ? [] : ['--since', since]));
      await desk.type(']');
      // Nothing was used on this day: there is no sum to show.
      await desk.shows(sum?.requests === 0 ? /over +today/ : new RegExp(`Total  ${sum?.requests} requests`));
    }
  });

  await t.test('by key, by model and by day', async () => {
    await desk.type('[[');
    for (const by of ['key', 'model', 'day'] as const) {
      await desk.shows(new RegExp(`^${by.toUpperCase()} `, 'm'));
      const screen = await desk.shows(/Total {2}112 requests/);
      const rows = await place.json<UsageJson[]>('usage', '--by', by);
      assert.ok(rows.length >= 2);
      for (const row of rows) {
        const cost = Number(row.cost_usd).toLocaleString('en-US', { minimumFractionDigits: 2 });
        assert.match(screen, new RegExp(`^${row[by]} .* ${row.requests} .* ${cost}$`, 'm'));
      }
      await desk.press('Right');
    }
    await desk.press('Left', 'Left', 'Left');
    await desk.shows(/^KEY /m);
  });

  await t.test('as a file, which never overwrites another', async () => {
    await desk.type('w');
    await desk.shows(/usage-by-key\.csv/);
    await desk.press('Enter');
    await desk.shows(/Wrote usage-by-key\.csv\./);
    const { stdout } = await place.run(['usage', '--by', 'key', '--csv']);
    assert.equal(place.read('usage-by-key.csv').toString(), stdout);
    await desk.type('w');
    await desk.shows(/Export usage as CSV/);
    await desk.press('Enter');
    await desk.shows(/the file already exists/);
  });
});
