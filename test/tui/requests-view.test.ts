/** The Requests view: what it asks the journal for, page by page, and what it shows. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RequestPage, RequestRecord } from '../../src/state/requests.ts';
import { searchOf, shownJournal } from '../../src/tui/lists/journal.ts';
import { shownRequests } from '../../src/tui/lists/live.ts';
import type { FoundPage, Model } from '../../src/tui/model.ts';
import { requestsEveryMs } from '../../src/tui/refresh.ts';
import { MAX_FOUND } from '../../src/tui/update/requests.ts';
import { update } from '../../src/tui/update/update.ts';
import { alone, keyId, letters, NOW_MS, press, requestRow, SNAPSHOT, screenText, serving } from './samples.ts';

const REQUEST = `req_${'0'.repeat(26)}`;

function record(number: number, outcome: 'ok' | 'upstream_error' = 'ok', key = 'web-app'): RequestRecord {
  const failed = { reason: 'http_status', status: 401, message: 'upstream 401  check the api_key' } as const;
  return {
    id: `req_${String(number).padStart(26, '0')}`,
    keyId: keyId(1),
    key,
    model: 'openai/gpt-4o-mini',
    requestedModel: 'openai/gpt-4o-mini',
    admittedAtMs: NOW_MS - number * 60_000,
    holdNanos: 1_000_000n,
    end: {
      settledAtMs: NOW_MS - number * 60_000 + 2_500,
      outcome,
      source: 'reported',
      promptTokens: 1_234,
      cachedTokens: 0,
      cacheWriteTokens: 0,
      completionTokens: 56,
      costNanos: 219_000n,
      completionId: `chatcmpl-${number}`,
      firstByteMs: 130,
      upstream: 'openai',
      attempts: 1,
      failure: outcome === 'ok' ? undefined : failed,
      correctedAtMs: undefined,
    },
  };
}

function read(model: Model, page: FoundPage | undefined, more: { after?: RequestPage['next']; search?: number } = {}) {
  const { after, search = model.requests.search } = more;
  return update(model, { kind: 'requests', search, after, page });
}

const place = (row: number) => ({ admittedAtMs: NOW_MS, row: BigInt(row) });
const opened = press(serving('keys'), '4');
const filtered = (filter: string) => press(opened.model, '/', ...letters(filter)).model;
const ids = (model: Model) => shownJournal(model).map(({ id }) => Number(id.slice(4)));

describe('the search', () => {
  const nothing = { id: undefined, keyId: undefined, errors: false, sinceMs: undefined, untilMs: undefined };
  const day = Date.UTC(2026, 9, 30);
  const CASES: readonly (readonly [filter: string, what: Partial<ReturnType<typeof searchOf>>])[] = [
    ['', {}],
    ['cost>1 model:gpt', {}],
    ['err:*', { errors: true }],
    ['err:401', { errors: true }],
    ['-err:*', {}],
    ['key=web-app', { keyId: keyId(1) }],
    ['key=WEB-APP err:*', { keyId: keyId(1), errors: true }],
    ['key:web', {}],
    ['key=nobody', {}],
    ['day:2026-10-30', { sinceMs: day, untilMs: day + 86_400_000 }],
    ['day:2026-1', {}],
    ['day:2026-10', { sinceMs: Date.UTC(2026, 9), untilMs: Date.UTC(2026, 10) }],
    ['day:2026-13', {}],
    ['age<2h', { sinceMs: NOW_MS - 7_200_000 }],
    ['age>2h', {}],
    [REQUEST, { id: REQUEST }],
    ['chatcmpl-9xKq83hdh2', { id: 'chatcmpl-9xKq83hdh2' }],
    ['upstream_error_something', {}],
  ];
  for (const [filter, what] of CASES) {
    test(`of ${JSON.stringify(filter)}`, () => assert.deepEqual(searchOf(filtered(filter)), { ...nothing, ...what }));
  }

  test('begins when the view is opened, and with each other filter', () => {
    assert.deepEqual(opened.effects, [{ kind: 'load_requests', search: 1, query: nothing, after: undefined }]);
    assert.equal(press(opened.model, '/', 'a', 'b').effects.length, 2);
    assert.deepEqual(press(opened.model, '/', 'left', 'enter').effects, []);
  });

  test('for what is pasted begins at once', () => {
    const { model, effects } = update(opened.model, { kind: 'paste', text: `${REQUEST}\n` });
    assert.equal(model.lists.requests.filter.text, REQUEST);
    assert.equal(effects.length, 1);
  });

  test('drops what an earlier one still finds', () => {
    const { model } = read(filtered('a'), { rows: [record(1)], next: undefined }, { search: 1 });
    assert.deepEqual(ids(model), []);
  });
});

describe('pages', () => {
  const two = { rows: [record(1), record(2, 'upstream_error')], next: place(2) };

  test('are read on until the screen is full, and then as the cursor moves down', () => {
    const first = read(opened.model, two);
    assert.deepEqual(
      first.effects.map(({ kind }) => kind),
      ['load_requests'],
    );
    const many = { rows: Array.from({ length: 60 }, (_, i) => record(i + 3)), next: place(62) };
    const full = read(first.model, many, { after: two.next });
    assert.deepEqual(full.effects, []);
    assert.match(screenText(full.model), /Requests {2}62\+/);
    const near = press(full.model, 'end');
    assert.deepEqual(
      near.effects.map((effect) => effect.kind === 'load_requests' && effect.after),
      [place(62)],
    );
  });

  test('hold what passes the filter, and the search goes on', () => {
    const { model, effects } = read(filtered('err:401'), two);
    assert.deepEqual([ids(model), effects.length], [[2], 1]);
  });

  test('that could not be read end the reading', () => {
    const { model, effects } = read(opened.model, undefined);
    assert.deepEqual([model.requests.isReading, effects], [false, []]);
  });

  test('beyond what is kept push out the first', () => {
    const rows = Array.from({ length: MAX_FOUND }, (_, i) => record(i + 3));
    const { model } = read(read(opened.model, two).model, { rows, next: undefined }, { after: two.next });
    assert.deepEqual([model.requests.rows.length, ids(model)[0]], [MAX_FOUND, 3]);
  });

  test('read again replace the first', () => {
    const before = read(opened.model, { rows: [record(1)], next: undefined }).model;
    assert.deepEqual(ids(read(before, { rows: [record(0), record(1)], next: undefined }).model), [0, 1]);
  });
});

describe('a search that takes its time', () => {
  const far = { admittedAtMs: NOW_MS - 3 * 86_400_000, row: 660_000n };
  const begun = read(filtered('cost>999'), { rows: [record(1)], next: place(1_000_000) });
  const looking = read(begun.model, { rows: [record(2)], next: far }, { after: place(1_000_000) });

  test('says how far it has come', () => {
    assert.match(screenText(looking.model), /looked through 340k, back to 10-29 · Esc stops/);
    assert.equal(looking.effects.length, 1);
    const known = { rows: [record(2)], next: far, left: 660_000 };
    const { model } = read(begun.model, known, { after: place(1_000_000) });
    assert.match(screenText(model), /looked through 340k of 1\.0M, back to 10-29 · Esc stops/);
  });

  test('is stopped by Esc, which leaves the filter, and drops what still comes', () => {
    const { model, effects } = press(looking.model, 'escape');
    assert.deepEqual([model.requests.isReading, model.lists.requests.filter.text, effects], [false, 'cost>999', []]);
    assert.match(screenText(model), /looked through 340k, back to 10-29 · ↓ goes on/);
    const late = read(model, { rows: [record(3)], next: undefined }, { search: looking.model.requests.search });
    assert.equal(late.model, model);
    assert.equal(press(model, 'escape').model.lists.requests.filter.text, '');
  });

  test('goes on where it was, once the cursor does', () => {
    const [effect] = press(looking.model, 'escape', 'down').effects;
    assert.deepEqual(effect?.kind === 'load_requests' && effect.after, far);
  });

  test('is not begun anew by itself', () => {
    const over = read(looking.model, { rows: [], next: undefined }, { after: far }).model;
    assert.equal(requestsEveryMs(over), Number.POSITIVE_INFINITY);
    assert.equal(requestsEveryMs(read(opened.model, { rows: [record(1)], next: undefined }).model), 5_000);
  });
});

test('f shows only errors, and everything again', () => {
  const errors = press(filtered('key:web'), 'enter', 'f').model;
  assert.equal(errors.lists.requests.filter.text, 'key:web err:*');
  assert.equal(press(errors, 'f').model.lists.requests.filter.text, 'key:web');
});

test('a request opens with everything that is known of it, and why it failed', () => {
  const { model } = read(opened.model, { rows: [record(1), record(2, 'upstream_error')], next: undefined });
  const text = screenText(press(model, 'down', 'enter').model);
  assert.match(
    text,
    /^upstream_error {2}0\.000219 USD {2}req_0+2\n░█{9} {2}admitted ▸ first byte 130 ms ▸ end 2\.5 s$/m,
  );
  assert.match(text, /^failure +upstream 401 {2}check the api_key$/m);
  assert.match(text, /^completion chatcmpl-2$/m);
  assert.match(text, /^cost +0\.000219 USD$/m);
});

test('without requests the view says so, and while it reads', () => {
  assert.match(screenText(press(alone(), '4').model), /Reading…/);
  const { model } = read(press(alone(), '4').model, { rows: [], next: undefined });
  assert.match(screenText(model), /No requests have ended yet\./);
});

test('Live shows the user and the app where a request names them, and finds them', () => {
  const live = [requestRow(5, { user: 'anna', app: 'claude-cli' }), requestRow(4)];
  const model = serving('live', { ...SNAPSHOT, live, recent: [] }, { columns: 160, rows: 24 });
  const screen = screenText(press(model, 'enter').model);
  assert.match(screen, / USER +APP /);
  assert.match(screen, / anna +claude-cli /);
  assert.match(screen, /running {2}0\.000219 USD {2}req_0+5$/m);
  assert.match(screen, /admitted ▸ first byte 130 ms ▸ now 5\.0 s/);
  assert.match(screen, /for +anna, with claude-cli/);
  assert.equal(shownRequests(press(model, '/', ...'user:anna').model).length, 1);
  assert.doesNotMatch(screenText(serving('live')), / USER | APP /);
});
