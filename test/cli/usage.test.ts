/** `usage`: sums by key, model, day and month within exact time bounds, as JSON and as CSV. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Outcome } from '../../src/core/settlement.ts';
import { NO_PARTS } from '../../src/core/usage.ts';
import { immediately, openDatabase } from '../../src/state/sqlite/database.ts';
import { Journal } from '../../src/state/sqlite/journal.ts';
import { CONCURRENCY, linesOf, Workplace } from '../support/cli.ts';

interface Entry {
  readonly keyId: string;
  readonly model: string;
  readonly at: string | number;
  readonly outcome: Outcome;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly costNanos: bigint;
}

/** Writes journal rows with the gateway's own operations, at times that the test chooses. */
function writeJournal(statePath: string, entries: readonly Entry[]): void {
  const { database } = openDatabase(statePath);
  const journal = new Journal(database);
  immediately(database, () => {
    for (const [index, { keyId, model, at, outcome, promptTokens, completionTokens, costNanos }] of entries.entries()) {
      const admittedAtMs = new Date(at).getTime();
      const requestId = `req_${index}`;
      const hold = { requestId, keyId, model, admittedAtMs, inputTokens: 0, outputTokens: 0, holdNanos: 0n };
      const parts = { ...NO_PARTS, cacheWriteTokens: Math.floor(promptTokens / 50) };
      const usage = { promptTokens, cachedTokens: Math.floor(promptTokens / 10), completionTokens, parts };
      const end = {
        outcome,
        usage,
        source: 'reported' as const,
        costNanos,
        completionId: undefined,
        firstByteMs: undefined,
      };
      journal.settle(hold, end, admittedAtMs + 1);
    }
    journal.writeCharges();
  });
  database.close();
}

const QUOTED_NAME = 'a "quoted", name';
const HOUR_MS = 3_600_000;

/** Four requests around the end of a month in 2020, and two that are recent. */
async function placeWithUsage(scope: ConstructorParameters<typeof Workplace>[0]) {
  const place = new Workplace(scope);
  const app = await place.createKey('app');
  const other = await place.createKey(QUOTED_NAME);
  const ok = { outcome: 'ok', completionTokens: 1, costNanos: 1n } as const;
  writeJournal(place.statePath, [
    { ...ok, keyId: app.id, model: 'mock/echo', at: '2020-01-31T23:59:59.999Z', promptTokens: 10, costNanos: 2n },
    {
      ...ok,
      keyId: app.id,
      model: 'mock/paid',
      at: '2020-02-01T00:00:00.000Z',
      promptTokens: 100,
      costNanos: 150_000n,
    },
    {
      ...ok,
      keyId: other.id,
      model: 'mock/echo',
      at: '2020-02-01T12:00:00.000Z',
      promptTokens: 7,
      outcome: 'cancelled',
    },
    {
      keyId: other.id,
      model: 'mock/paid',
      at: '2020-02-29T06:30:00.000Z',
      outcome: 'upstream_error',
      promptTokens: 0,
      completionTokens: 0,
      costNanos: 0n,
    },
    { ...ok, keyId: app.id, model: 'mock/echo', at: Date.now() - 2 * HOUR_MS, promptTokens: 1 },
    { ...ok, keyId: app.id, model: 'mock/echo', at: Date.now() - 72 * HOUR_MS, promptTokens: 1 },
  ]);
  return { place, app, other };
}

function figures(requests: number, errors: number, prompt: number, completion: number, cost: string) {
  return {
    requests,
    errors,
    prompt_tokens: prompt,
    cached_tokens: Math.floor(prompt / 10),
    cache_write_tokens: Math.floor(prompt / 50),
    completion_tokens: completion,
    total_tokens: prompt + completion,
    cost_usd: cost,
  };
}

describe('usage', { concurrency: CONCURRENCY }, () => {
  test('usage adds up by key, model, day and month, and a cancelled request is no error', async (t) => {
    const { place, app, other } = await placeWithUsage(t);
    const of2020 = ['--until', '2021-01-01'];
    const expectations: [words: string[], rows: object[]][] = [
      [[], [figures(4, 1, 117, 3, '0.000150003')]],
      [
        ['--by', 'key'],
        [
          { key: 'app', key_id: app.id, ...figures(2, 0, 110, 2, '0.000150002') },
          { key: QUOTED_NAME, key_id: other.id, ...figures(2, 1, 7, 1, '0.000000001') },
        ],
      ],
      [
        ['--by', 'model'],
        [
          { model: 'mock/paid', ...figures(2, 1, 100, 1, '0.000150') },
          { model: 'mock/echo', ...figures(2, 0, 17, 2, '0.000000003') },
        ],
      ],
      [
        ['--by', 'day'],
        [
          { day: '2020-01-31', ...figures(1, 0, 10, 1, '0.000000002') },
          { day: '2020-02-01', ...figures(2, 0, 107, 2, '0.000150001') },
          { day: '2020-02-29', ...figures(1, 1, 0, 0, '0.00') },
        ],
      ],
      [
        ['--by', 'month'],
        [
          { month: '2020-01', ...figures(1, 0, 10, 1, '0.000000002') },
          { month: '2020-02', ...figures(3, 1, 107, 2, '0.000150001') },
        ],
      ],
      [
        ['--by', 'key,model'],
        [
          { key: 'app', key_id: app.id, model: 'mock/paid', ...figures(1, 0, 100, 1, '0.000150') },
          { key: 'app', key_id: app.id, model: 'mock/echo', ...figures(1, 0, 10, 1, '0.000000002') },
          { key: QUOTED_NAME, key_id: other.id, model: 'mock/echo', ...figures(1, 0, 7, 1, '0.000000001') },
          { key: QUOTED_NAME, key_id: other.id, model: 'mock/paid', ...figures(1, 1, 0, 0, '0.00') },
        ],
      ],
      [
        ['--by', 'hour', '--key', 'app', '--since', '2020-02-01'],
        [{ hour: '2020-02-01T00:00:00Z', ...figures(1, 0, 100, 1, '0.000150') }],
      ],
      [
        ['--by', 'user,model', '--key', 'app'],
        [
          { user: '', model: 'mock/paid', ...figures(1, 0, 100, 1, '0.000150') },
          { user: '', model: 'mock/echo', ...figures(1, 0, 10, 1, '0.000000002') },
        ],
      ],
      [['--user', 'nobody', '--by', 'key'], []],
      [
        ['--by', 'day', '--key', 'app', '--model', 'mock/paid'],
        [{ day: '2020-02-01', ...figures(1, 0, 100, 1, '0.000150') }],
      ],
      [['--key', other.id], [figures(2, 1, 7, 1, '0.000000001')]],
      [['--model', 'mock/never-used'], [figures(0, 0, 0, 0, '0.00')]],
    ];
    const answers = await place.runAll(expectations.map(([words]) => ['usage', ...words, ...of2020, '--json']));
    for (const [index, [words, rows]] of expectations.entries()) {
      assert.deepEqual(JSON.parse(answers[index]?.stdout ?? ''), rows, words.join(' '));
    }
  });

  test('`--since` is inclusive, `--until` exclusive, a date means its start in UTC, and 12h means that long ago', async (t) => {
    const { place } = await placeWithUsage(t);
    const bounds: [words: string, requests: number][] = [
      ['--until 2020-02-01', 1],
      ['--until 2020-02-01T00:00:00.001Z', 2],
      ['--until 2020-01-31T23:59:59.999Z', 0],
      ['--since 2020-01-31T23:59:59.999Z --until 2020-02-01', 1],
      ['--since 2020-02-01 --until 2021-01-01', 3],
      ['--since 2020-02-01 --until 2020-02-02', 2],
      ['--since 2020-02-01T12:00:00Z --until 2020-02-29T06:30:00Z', 1],
      ['--since 2020-02-01T12:00 --until 2020-02-29T06:31', 2],
      ['--since 2020-02-01T13:00+01:00 --until 2020-02-02', 1],
      ['--since 12h', 1],
      ['--since 7d', 2],
      ['--since 7d --until 12h', 1],
      ['--since 2h --until 1h', 0],
      ['--since 9999-12-31T12:00:00Z', 0],
    ];
    const answers = await place.runAll(bounds.map(([words]) => ['usage', '--json', ...words.split(' ')]));
    for (const [index, [words, requests]] of bounds.entries()) {
      const [row] = JSON.parse(answers[index]?.stdout ?? '') as { requests: number }[];
      assert.equal(row?.requests, requests, words);
    }
  });

  test('CSV has the JSON fields as its header, and values with commas or quotes are quoted', async (t) => {
    const { place, app, other } = await placeWithUsage(t);
    const names =
      'requests,errors,prompt_tokens,cached_tokens,cache_write_tokens,completion_tokens,total_tokens,cost_usd';
    const expectations: [words: string, lines: string[]][] = [
      ['', [names, '4,1,117,11,2,3,120,0.000150003']],
      [
        '--by key',
        [
          `key,key_id,${names}`,
          `app,${app.id},2,0,110,11,2,2,112,0.000150002`,
          `"a ""quoted"", name",${other.id},2,1,7,0,0,1,8,0.000000001`,
        ],
      ],
      ['--by day --key app --model mock/echo', [`day,${names}`, '2020-01-31,1,0,10,1,0,1,11,0.000000002']],
      ['--by month --model mock/none', [`month,${names}`]],
    ];
    const answers = await place.runAll(
      expectations.map(([words]) => `usage --csv --until 2021-01-01 ${words}`.trim().split(' ')),
    );
    for (const [index, [words, lines]] of expectations.entries()) {
      assert.equal(answers[index]?.status, 0, words);
      assert.equal(answers[index]?.stderr, '');
      assert.deepEqual(linesOf(answers[index]?.stdout ?? ''), lines, words);
    }
  });

  test('for people, the figures are in a table with units in its head', async (t) => {
    const { place } = await placeWithUsage(t);
    const [table, byTwo, nothing] = await place.runAll([
      ['usage', '--by', 'month', '--until', '2021-01-01'],
      ['usage', '--by', 'key,model', '--until', '2021-01-01'],
      ['usage', '--by', 'key', '--until', '2019-01-01'],
    ]);
    assert.match(table?.stdout ?? '', /^MONTH +REQUESTS +ERRORS .*COST \(USD\)\n2020-01 +1 +0 /);
    assert.match(byTwo?.stdout ?? '', /^KEY +MODEL +REQUESTS .*\napp +mock\/paid +1 +0 /);
    assert.match(nothing?.stdout ?? '', /^No usage recorded/);
  });
});

test('usage and requests say what came from the cache, and what that has saved', async (t) => {
  const place = new Workplace(
    t,
    `listen: 127.0.0.1:0
state: ./state.db
providers:
  mock: { kind: mock, models: { paid: { input: 1, output: 2, cache: { ttl: 1h } } } }
`,
  );
  const { key, id } = await place.createKey('app');
  await place.json('credit', 'add', '5');
  const serving = await place.serveHere();
  const bodies: string[] = [];
  let last = '';
  for (let i = 0; i < 3; i++) {
    const answer = await serving.chat(key, { model: 'mock/paid', messages: [{ role: 'user', content: 'hi' }] });
    last = answer.headers.get('x-request-id') ?? '';
    bodies.push(await answer.text());
  }
  assert.equal(await serving.stop(), 0);
  const again = await place.serveHere();
  const late = await again.chat(key, { model: 'mock/paid', messages: [{ role: 'user', content: 'hi' }] });
  assert.equal(late.headers.get('x-inf-gw-cache'), 'hit', 'also after a restart');
  bodies.push(await late.text());
  assert.equal(await again.stop(), 0);
  assert.equal(new Set(bodies).size, 1);
  const [all] = await place.json<Record<string, unknown>[]>('usage');
  const cost = String(all?.cost_usd);
  const saved = (3 * Number(cost)).toFixed(cost.split('.')[1]?.length ?? 0);
  assert.partialDeepStrictEqual(all, { requests: 4, cache_hits: 3, saved_usd: saved });
  const [one] = await place.json<Record<string, unknown>[]>('usage', '--by', 'key,month', '--key', id);
  assert.partialDeepStrictEqual(one, { key: 'app', requests: 4, cache_hits: 3, saved_usd: saved });
  const [before] = await place.json<Record<string, unknown>[]>('usage', '--until', '2020-01-01');
  assert.ok(before === undefined || before.cache_hits === undefined);
  const text = await place.run(['usage']);
  assert.match(text.stdout, new RegExp(`\n3 requests were answered from the cache, which saved ${saved} USD\\.\n$`));
  const shown = await place.json<Record<string, unknown>>('requests', 'show', last);
  assert.partialDeepStrictEqual(shown, { upstream: '(cache)' });
  const inWords = await place.runAll([
    ['requests', 'show', last],
    ['explain', last],
  ]);
  for (const { stdout } of inWords) {
    assert.match(stdout, /^price +nothing, from the cache$/m);
    assert.match(stdout, /0 out; answered from the cache$/m);
  }
});
