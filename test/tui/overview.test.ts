/** The Overview on a good day and on a bad one, from the smallest terminals to large ones. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { asciiOf } from '../../src/tui/draw/ascii.ts';
import { dayOf } from './overview-samples.ts';
import { after, alone, press, SNAPSHOT, STORED, screenText } from './samples.ts';

/** Rows of a list and how many more there are. */
function counted(rows: readonly string[], isRow: (row: string) => boolean): number {
  const more = rows.find((row) => row.startsWith('+'));
  return rows.filter(isRow).length + Number(/\d+/.exec(more ?? '0'));
}

describe('whatever the size of the window, it shows what is free, which provider fails, which key is refused', () => {
  for (const columns of [60, 79, 80, 100, 160, 200]) {
    for (const rows of [16, 18, 24, 30, 50]) {
      test(`and how many it leaves out, at ${columns} by ${rows}`, () => {
        const screen = screenText(dayOf('wrong', columns, rows));
        assert.match(screen, /free +0\.20/);
        assert.match(screen, /117 refused for lack/);
        assert.match(screen, /✕ openai/);
        assert.match(screen, /key_0+…?0*19 .*431/);
        const lines = screen.split('\n');
        const head = lines.findIndex((line) => line.startsWith('BUSIEST KEYS'));
        const middle = lines[head]?.indexOf('PROVIDERS') ?? 0;
        const below = lines.slice(head + 1, -2);
        const keys = below.map((line) => line.slice(0, middle).trimEnd());
        assert.equal(
          counted(keys, (row) => /^[a-z]/.test(row)),
          20,
        );
        const providers = below.map((line) => line.slice(middle));
        assert.equal(
          counted(providers, (row) => /^[✕▲●]/.test(row)),
          17,
        );
      });
    }
  }
});

test('no range of the charts changes the rest of the screen', () => {
  const model = dayOf('well', 80, 24);
  const rest = (chartRange: '1m' | '24h') =>
    screenText({ ...model, chartRange })
      .split('\n')
      .slice(9);
  assert.deepEqual(rest('1m'), rest('24h'));
  assert.match(screenText({ ...model, chartRange: '24h' }), /-24h +now/);
});

test('a second without traffic moves nothing but the charts', () => {
  const model = dayOf('well', 120, 40);
  const rows = (nowMs: number) => screenText({ ...model, nowMs }).split('\n');
  const [before, later] = [rows(model.nowMs), rows(model.nowMs + 1_000)];
  const axis = (lines: readonly string[]) => lines.map((line) => /^ *[\d.,kMs]+┤/.exec(line)?.[0]);
  assert.deepEqual(axis(later), axis(before));
  assert.deepEqual(later.slice(-15), before.slice(-15));
});

test('what is free, held and spent has one form, however little of it is held', () => {
  const legend = (balance: string, held: string) => {
    const snapshot = { ...SNAPSHOT, balance_usd: balance, held_usd: held };
    return /█ free .*/.exec(screenText(after(alone('overview'), { kind: 'snapshot', snapshot })))?.[0];
  };
  assert.match(legend('2.69', '0.008130') ?? '', /free 2\.68 {2}▓ held <0\.01 {2}░/);
  assert.match(legend('0.009', '0.008130') ?? '', /free 0\.000870 {2}▓ held 0\.008130 {2}░/);
});

test('in ASCII it has the same lines, and nothing that is not ASCII', () => {
  const lines = screenText(dayOf('wrong', 120, 40)).split('\n');
  for (const line of lines) {
    assert.match(asciiOf(line), /^[ -~]*$/);
    assert.doesNotMatch(asciiOf(line), /\?(?! help)/, line);
  }
});

describe('before the first request', () => {
  const fresh = { ...STORED, balanceNanos: 0n, keys: [], modelUsage: new Map() };
  const start = alone('overview', fresh);

  test('it lists the first steps, and n takes the one that needs a form', () => {
    assert.match(screenText(start), /First steps/);
    assert.equal(press(start, 'n').model.dialog?.kind, 'form');
    assert.equal(press({ ...start, isReadOnly: true }, 'n').model.dialog, undefined);
  });

  test('a step that no key press takes is a command', () => {
    const text = screenText({ ...start, isReadOnly: true, configOption: 'other.yaml' });
    assert.match(text, /✕ key +inf-gw -c other.yaml keys create my-app\n/);
    assert.match(text, /✕ gateway +inf-gw -c other.yaml serve /);
  });

  test('it asks for no credit that nobody needs', () => {
    assert.doesNotMatch(screenText(alone('overview', { ...fresh, creditEnforced: false })), /✕ credit/);
  });

  test('the request is for a model and an address that are there', () => {
    const snapshot = { ...SNAPSHOT, address: '127.0.0.1:9999', tls: { names: [], expires_at: '' }, seconds: [] };
    const text = screenText(after(alone('overview', fresh), { kind: 'snapshot', snapshot }));
    assert.match(text, /curl https:\/\/127\.0\.0\.1:9999\/v1\/chat\/completions/);
    assert.match(text, /"model": "openai\/gpt-4o-mini"/);
  });

  test('and with the first answer, the charts are there', () => {
    const answered = after(start, { kind: 'snapshot', snapshot: SNAPSHOT });
    assert.doesNotMatch(screenText(answered), /First steps/);
    assert.doesNotMatch(screenText(alone('overview', { ...fresh, keys: STORED.keys })), /First steps/);
  });
});
