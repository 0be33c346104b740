/** The line under the tabs: what is wrong, the worst first, and the way to its cause. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Snapshot } from '../../src/control/protocol.ts';
import { fixedSpend } from '../../src/core/budgets.ts';
import type { Model } from '../../src/tui/model.ts';
import {
  after,
  alone,
  keyId,
  NOW_MS,
  press,
  SNAPSHOT,
  STORED,
  screenText,
  second,
  serving,
  storedGroup,
  storedKey,
  traffic,
} from './samples.ts';
import { styledText, textIn } from './styles.ts';

const USD = 1_000_000_000n;
const WELL: Snapshot = { ...SNAPSHOT, upstreams: [], seconds: [], minutes: [] };
const dead = (name: string) => ({
  provider: name,
  upstream: name,
  state: 'open' as const,
  in_flight: 0,
  requests: 3,
  failures: 3,
  last_failure: { at_ms: NOW_MS, message: 'upstream 401: check the api_key of the provider' },
  causes: [],
});
const DAY_SPENT = fixedSpend({ period: 'day', limitNanos: USD }, USD, Date.UTC(2026, 10, 2), NOW_MS);
const spent = (number: number, name: string) =>
  storedKey(number, name, { spendLimitNanos: 5n * USD }, { requests: 9, costNanos: 5n * USD });

/** Under the tabs. */
const lineOf = (model: Model) => screenText(model).split('\n')[2]?.trimEnd() ?? '';
const withSnapshot = (more: Partial<Snapshot>, columns = 120) =>
  lineOf(serving('overview', { ...WELL, ...more }, { columns, rows: 24 }));
const errors = (codes: Record<string, number>) => [second(NOW_MS / 1_000 - 5, { errors: codes })];

describe('the line under the tabs', () => {
  const rows: readonly (readonly [what: string, snapshot: Partial<Snapshot>, line: string])[] = [
    ['is empty while all is well', {}, ''],
    ['is empty for a few refusals for rates', { seconds: errors({ rate_limited: 5 }) }, ''],
    [
      'counts what is free, not what is held',
      { balance_usd: '2.32', held_usd: '2.32' },
      ' ! CREDIT 0.00 free of 2.32 USD   press ! to go there',
    ],
    [
      'says that requests are refused for money',
      { balance_usd: '2.32', held_usd: '2.24', seconds: errors({ insufficient_credit: 47 }) },
      ' ! CREDIT 0.08 free of 2.32 USD, refusing 47/min   press ! to go there',
    ],
    [
      'says when the credit ends, at the pace of this minute',
      { balance_usd: '0.30', held_usd: '0.03', ...traffic([second(NOW_MS / 1_000 - 5, { cost_usd: '0.39' })]) },
      ' ! CREDIT runs out in about 7 min (0.27 USD free)   press ! to go there',
    ],
    [
      'says that there is no credit',
      { balance_usd: '0.00', held_usd: '0.00' },
      ' ! CREDIT used up   press ! to go there',
    ],
    [
      'names the upstreams that fail',
      { upstreams: [dead('dead'), dead('badauth'), dead('third')] },
      ' ! dead, badauth and 1 more failing   press ! to go there',
    ],
    [
      'says that many are refused for rates',
      { seconds: errors({ rate_limited: 120 }) },
      ' ! rate limits, refusing 120/min   press ! to go there',
    ],
    [
      'begins with what stops everybody',
      { storage_fault: 'the disk is full', balance_usd: '0.00', upstreams: [dead('dead')] },
      ' ! STORAGE the disk is full   ! CREDIT used up   ! dead failing   press ! to go there',
    ],
  ];
  for (const [what, snapshot, line] of rows) {
    test(what, () => assert.equal(withSnapshot(snapshot), line));
  }

  test('shows what fits whole, in fewer words where room is short, and how many more there are', () => {
    const snapshot = { ...WELL, balance_usd: '0.00', upstreams: [dead('a-provider-with-a-long-name'), dead('claude')] };
    const stored = { ...STORED, keys: [spent(1, 'near-cap'), spent(2, 'other')] };
    const lineAt = (columns: number) =>
      lineOf(after(serving('overview', snapshot, { columns, rows: 24 }), { kind: 'stored', stored }));
    assert.deepEqual([150, 128, 90, 60].map(lineAt), [
      ' ! CREDIT used up   ! a-provider-with-a-long-name, claude failing   ! near-cap, other have spent their monthly budgets   press ! to go there',
      ' ! CREDIT used up   ! a-provider-with-a-long-name, claude failing   ! near-cap, other have spent their monthly budgets',
      ' ! CREDIT used up   ! a-provider-with-a-long-name and 1 more failing   +1 more',
      ' ! CREDIT used up   +2 more   press ! to go there',
    ]);
  });

  test('names keys at their spend limits, with and without a gateway, in every view', () => {
    const stored = { ...STORED, keys: [spent(1, 'near-cap'), spent(2, 'other'), storedKey(3, 'fine')] };
    const model = after(serving('models', WELL), { kind: 'stored', stored });
    assert.equal(lineOf(model), ' ! near-cap, other have spent their monthly budgets   press ! to go there');
    assert.equal(
      lineOf(alone('usage', { ...stored, keys: [spent(1, 'near-cap')] })),
      ' ! near-cap has spent its monthly budget, resets in 30 days, 12-01 UTC',
    );
  });

  test('names groups that have spent a budget, before keys, and ! opens the first', () => {
    const group = { ...storedGroup(1, 'research', {}, {}, [DAY_SPENT]), keys: 2 };
    const stored = { ...STORED, groups: [group], keys: [spent(1, 'near-cap')] };
    const model = alone('usage', stored, { columns: 120, rows: 30 });
    assert.equal(
      lineOf(model),
      ' ! @research has spent its daily budget   ! near-cap has spent its monthly budget   press ! to go there',
    );
    const opened = press(model, '!').model;
    assert.deepEqual([opened.view, opened.groups.isOpen], ['groups', true]);
    assert.match(screenText(opened), /^day +██████ 1\.00 of 1\.00 USD/m);
    const disabled = { ...group, record: { ...group.record, state: 'disabled' as const } };
    assert.equal(lineOf(alone('usage', { ...stored, groups: [disabled], keys: [] })), '');
  });

  test('is red for credit that ends within the hour, yellow within the day, and so is the balance above it', () => {
    const tones = (cost: string) => {
      const lines = styledText(
        serving('keys', {
          ...WELL,
          balance_usd: '10.00',
          held_usd: '0.00',
          ...traffic([second(NOW_MS / 1_000 - 5, { cost_usd: cost })]),
        }),
      ).split('\n');
      const codes = { bad: '38;5;217', warn: '38;5;221' };
      const toneOf = (row: number, text: string) =>
        Object.entries(codes).find(([, code]) =>
          textIn(lines[row] ?? '', code, '39')
            .join('')
            .includes(text),
        )?.[0];
      return [toneOf(2, 'CREDIT'), toneOf(0, '10.00')];
    };
    assert.deepEqual(
      [tones('2.00'), tones('1.00'), tones('0.001')],
      [
        ['bad', 'bad'],
        ['warn', 'warn'],
        [undefined, undefined],
      ],
    );
  });

  test('begins with the gateway that has gone, and not before one was there', () => {
    const gone = after(serving('keys', { ...WELL, storage_fault: 'the disk is full' }), { kind: 'disconnected' });
    assert.equal(lineOf(gone), ' ! GATEWAY stopped at 12:00:00 UTC; inf-gw serve starts it   press ! to go there');
    assert.equal(lineOf(alone('keys')), '');
    assert.equal(lineOf(after(gone, { kind: 'snapshot', snapshot: WELL })), '');
  });

  test('says nothing of credit that is not enforced', () => {
    const stored = { ...STORED, creditEnforced: false, balanceNanos: 0n };
    assert.equal(lineOf(alone('overview', stored)), '');
  });
});

test('of credit that is not enforced the Overview shows the balance where it is whole, and else what was spent', () => {
  const stored = { ...STORED, creditEnforced: false };
  const spent = (columns: number) => {
    const model = after(alone('overview', stored, { columns, rows: 24 }), { kind: 'snapshot', snapshot: SNAPSHOT });
    return (
      screenText(model)
        .split('\n')
        .find((line) => line.startsWith('spent')) ?? ''
    );
  };
  assert.match(spent(100), /USD\/min {2}balance \S+ USD, not enforced$/);
  assert.match(spent(60), /USD\/min$/);
});

test('the Overview counts how long the credit lasts by what is free as well', () => {
  const spending = { ...WELL, ...traffic([second(NOW_MS / 1_000 - 5, { cost_usd: '0.50' })]) };
  const lasts = (held: string) =>
    /^lasts +(.+?) *$/m.exec(
      screenText(serving('overview', { ...spending, balance_usd: '2.32', held_usd: held }, { columns: 120, rows: 30 })),
    )?.[1];
  assert.match(lasts('0.00') ?? '', /^about 46 min at the pace/);
  assert.equal(lasts('2.32'), 'no credit is free');
});

describe('the key !', () => {
  test('opens the key at its spend limit, whatever the filter was', () => {
    const stored = { ...STORED, keys: [storedKey(3, 'fine'), spent(1, 'near-cap')] };
    const filtered = press(alone('keys', stored), '/', 'f', 'enter').model;
    const { model, effects } = press(filtered, '!');
    assert.deepEqual([model.view, model.lists.keys.filter.text, model.keys.detail?.keyId], ['keys', '', keyId(1)]);
    assert.deepEqual(effects, [{ kind: 'load_key', keyId: keyId(1) }]);
  });

  test('goes to the view that shows the cause', () => {
    const model = serving('models', { ...WELL, upstreams: [dead('dead')] });
    assert.equal(press(model, '!').model.view, 'overview');
  });

  test('goes from trouble to trouble, and from the last to the first', () => {
    const stored = { ...STORED, keys: [spent(1, 'near-cap')] };
    const snapshot = { ...WELL, storage_fault: 'the disk is full', upstreams: [dead('dead')] };
    const start = after(serving('models', snapshot), { kind: 'stored', stored });
    const told = (...keys: string[]) => press(start, ...keys).model.message?.text;
    assert.deepEqual(
      [told('!'), told('!', '!'), told('!', '!', '!'), told('!', '!', '!', '!')],
      [
        '1 of 3: STORAGE the disk is full',
        '2 of 3: dead failing',
        '3 of 3: near-cap has spent its monthly budget, resets in 30 days, 12-01 UTC',
        '1 of 3: STORAGE the disk is full',
      ],
    );
    assert.equal(press(start, '!', '!', '!').model.keys.detail?.keyId, keyId(1));
    assert.equal(told('!', '6', '!'), '1 of 3: STORAGE the disk is full');
    const back = press(start, '!', '!', '!', '!', '!', '!', 'escape', 'escape').model;
    assert.deepEqual([back.view, back.trail], [start.view, []]);
  });

  test('says so where nothing is wrong', () => {
    const { model } = press(serving('models', WELL), '!');
    assert.deepEqual([model.view, model.message?.text], ['models', 'Nothing is wrong.']);
  });
});
