/** Refused requests among those of the journal: in their order, none twice, none left out, however many there are. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Refusal, Refusals } from '../../src/observe/refusals.ts';
import type { JournalPlace, RequestPage, RequestRecord } from '../../src/state/requests.ts';
import type { Model, RequestSearch } from '../../src/tui/model.ts';
import { withRefused } from '../../src/tui/refused.ts';
import { after, keyId, letters, NOW_MS, press, SNAPSHOT, screenText, serving } from './samples.ts';

const ANY: RequestSearch = { id: undefined, keyId: undefined, errors: false, sinceMs: undefined, untilMs: undefined };

function refusal(number: number, more: Partial<Refusal> = {}): Refusal {
  return {
    id: `req_refused_${number}`,
    at_ms: NOW_MS - number * 1_000,
    key_id: keyId(2),
    model: 'openai/gpt-4o-mini',
    code: 'rate_limited',
    reason: 'requests_per_minute',
    cause: '60 requests/min, again in 7 s',
    user: 'anna',
    app: 'claude-cli',
    ...more,
  };
}

function record(number: number): RequestRecord {
  const names = { keyId: keyId(1), key: 'web-app', model: 'mock/echo', requestedModel: 'mock/echo' };
  return { id: `req_${number}`, ...names, admittedAtMs: NOW_MS - number * 1_000, holdNanos: 0n, end: undefined };
}

/** Oldest first, as they are refused. */
function kept(...all: readonly Refusal[]) {
  const refusals = new Refusals();
  for (const each of all.toSorted((a, b) => a.at_ms - b.at_ms)) refusals.add(each);
  return async (query: Parameters<Refusals['page']>[0]) => refusals.page(query);
}

/** All pages of a journal, as a search walks them. */
async function walked(journal: readonly RequestRecord[], ask: ReturnType<typeof kept>, perPage = 2): Promise<string[]> {
  const found: string[] = [];
  let place: JournalPlace | undefined;
  do {
    const before: number = place?.admittedAtMs ?? Number.POSITIVE_INFINITY;
    const left = journal.filter(({ admittedAtMs }) => admittedAtMs < before);
    const rows = left.slice(0, perPage);
    const last = left.length > perPage ? rows.at(-1) : undefined;
    const next = last && { admittedAtMs: last.admittedAtMs, row: 1n };
    const page = await withRefused({ rows, next } satisfies RequestPage, ANY, place, ask);
    found.push(...page.rows.map(({ id }) => id));
    place = page.next;
  } while (place !== undefined);
  return found;
}

describe('the pages of both', () => {
  test('are in order, and have each request once', async () => {
    const ask = kept(refusal(0), refusal(25), refusal(35), refusal(90));
    const found = await walked([record(10), record(20), record(30), record(40)], ask);
    const wanted = ['req_refused_0', 'req_10', 'req_20', 'req_refused_25', 'req_30', 'req_refused_35', 'req_40'];
    assert.deepEqual(found, [...wanted, 'req_refused_90']);
  });

  test('are more where more was refused than a page holds', async () => {
    const many = Array.from({ length: 1_201 }, (_, i) => refusal(i * 2, { id: `req_refused_${i}` }));
    const found = await walked([record(1), record(2_001), record(2_401)], kept(...many));
    assert.equal(found.length, 1_204);
    assert.equal(new Set(found).size, 1_204);
    assert.deepEqual([found.indexOf('req_1'), found.at(-1)], [1, 'req_2401']);
  });

  test('are the journal alone where no gateway tells', async () => {
    const rows = [record(1)];
    const page = await withRefused({ rows, next: undefined }, ANY, undefined, async () => undefined);
    assert.deepEqual(page, { rows, next: undefined, refusedSinceMs: undefined });
  });

  test('of a search for an id are the one request that has it', async () => {
    const search = { ...ANY, id: 'req_refused_7' };
    const page = await withRefused({ rows: [], next: undefined }, search, undefined, kept(refusal(6), refusal(7)));
    assert.deepEqual(
      page.rows.map(({ id }) => id),
      ['req_refused_7'],
    );
  });
});

describe('in the view', () => {
  const shown = (filter = '', columns = 149): Model => {
    const opened = press(serving('keys', SNAPSHOT, { columns, rows: 24 }), '4');
    const { model } = filter === '' ? opened : press(opened.model, '/', ...letters(filter), 'enter');
    const refused = refusal(5);
    const row = { ...record(5), ...{ id: refused.id, keyId: refused.key_id, key: refused.key_id, refused } };
    const page = { rows: [row, record(10)], next: undefined, refusedSinceMs: NOW_MS - 3_600_000 };
    return after(model, { kind: 'requests', search: model.requests.search, after: undefined, page });
  };

  test('they have the name of their key, their code and the cause, and it is said since when they are known', () => {
    const screen = screenText(shown());
    assert.match(screen, /batch-jobs .* rate_limited +60 requests\/min, aga/);
    assert.match(screen, /refusals since 11:00:00/);
  });

  test('short names of keys and models leave their room to the cause', () => {
    assert.match(screenText(shown('', 120)), /rate_limited +60 requests\/min, again in/);
  });

  test('filters find them by code, reason, user, app and key', () => {
    for (const filter of ['err:*', 'state=rate_limited', 'err:requests_per_minute', 'user=anna', 'app:claude'])
      assert.deepEqual(
        shown(filter).requests.rows.map(({ id }) => id),
        ['req_refused_5'],
        filter,
      );
    assert.deepEqual(
      shown('-err:*').requests.rows.map(({ id }) => id),
      ['req_10'],
    );
  });

  test('their details say why, and for whom', () => {
    const screen = screenText(press(shown(), 'enter').model);
    assert.match(screen, /refused +rate_limited, requests per minute: 60 requests\/min, again in 7 s/);
    assert.match(screen, /user +anna/);
    assert.match(screen, /kept +by the gateway here, as long as it runs/);
  });
});

test('the details of a key have its refusals of the last hour, by reason', () => {
  const minutes = Array.from({ length: 60 }, (_, i) => (i > 50 ? 43 : 0));
  const lately = { code: 'rate_limited', reason: 'requests_per_minute', minutes, first_at_ms: NOW_MS - 540_000 };
  const open = press(serving('keys', SNAPSHOT, { columns: 120, rows: 40 }), 'enter').model;
  const detail = { keyId: keyId(2), byModel: [], byDay: [], refusals: [], refusedLately: [lately] };
  assert.match(screenText(after(open, { kind: 'key_detail', detail })), /⣿+ 387 since 11:51 requests per minute/);
});
