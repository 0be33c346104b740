/** What all lists say of themselves: their order, their filter, and why nothing passes it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { statusLines } from '../../src/cli/status-view.ts';
import { healthOf, stateText } from '../../src/operator/health.ts';
import { shownKeys } from '../../src/tui/lists/keys.ts';
import { shownRequests } from '../../src/tui/lists/live.ts';
import type { View } from '../../src/tui/model.ts';
import { detailEveryMs } from '../../src/tui/refresh.ts';
import { troublesOf } from '../../src/tui/trouble.ts';
import { update } from '../../src/tui/update/update.ts';
import { after, letters, NOW_MS, press, SNAPSHOT, screenText, serving } from './samples.ts';

const SMALL = { columns: 60, rows: 20 };

describe('an order', () => {
  test('by a column that does not fit is said in the title', () => {
    const model = press(serving('keys', SNAPSHOT, SMALL), ...letters('sss')).model;
    assert.match(screenText(model), /Keys {2}3, by tpm ↓/);
  });

  test('in which a list begins is not', () => {
    assert.doesNotMatch(screenText(serving('keys', SNAPSHOT, SMALL)), /, by /);
  });

  test('by age points up where the newest comes last', () => {
    const model = press(serving('requests'), 's').model;
    const rows = { rows: [], next: undefined };
    assert.match(screenText(after(model, { kind: 'requests', search: 1, after: undefined, page: rows })), /by age ↑/);
  });
});

describe('a filter', () => {
  test('is gone on with by a word of its own', () => {
    const { model } = press(serving('live'), 'f', '/', ...letters('web'));
    assert.equal(model.lists.live.filter.text, 'err:* web');
  });

  test('that names no field says which', () => {
    assert.match(screenText(press(serving('keys'), '/', ...letters('modle:x')).model), /There is no field modle\./);
    assert.doesNotMatch(screenText(press(serving('keys'), '/', ...letters('model:zzz')).model), /There is no field/);
  });

  test('that finds no request says since when refused ones are known', () => {
    const { model } = press(serving('requests'), '/', 'z');
    assert.match(screenText(model), /Refused requests are known only while a gateway runs here\./);
    const { search } = model.requests;
    const page = { rows: [], next: undefined, refusedSinceMs: NOW_MS };
    const told = after(model, { kind: 'requests', search, after: undefined, page });
    assert.match(screenText(told), /Refused requests are known since 2026-11-01 12:00:00/);
  });

  test('that compares with no figure says so', () => {
    const typing = press(serving('keys'), '/', ...letters('cost>abc'));
    assert.match(screenText(typing.model), /cost>abc: no figure/);
    assert.match(screenText(press(typing.model, 'enter').model), /cost>abc: no figure/);
    for (const fine of ['cost>1', 'cost>', 'cost:abc', 'name>abc', 'age<2h'])
      assert.doesNotMatch(screenText(press(serving('keys'), '/', ...letters(fine)).model), /no figure/, fine);
  });

  test('of the Overview does not hide what ! leads to', () => {
    const model = press(serving(), '/', ...letters('zzz'), 'enter', '!').model;
    assert.match(screenText(model), /claude {2}✕ 4 failed/);
  });
});

test('the last line of a read-only dashboard names only what works there', () => {
  const hints = (view: View) =>
    screenText({ ...serving(view, SNAPSHOT, { columns: 120, rows: 24 }), isReadOnly: true })
      .split('\n')
      .at(-1);
  assert.deepEqual(
    [hints('overview'), hints('keys'), hints('live'), hints('models')],
    [
      ' 1-7 Tab views  ↑↓ Enter look into  q quit  ? help',
      ' Enter more  / filter  s sort  q quit  ? help',
      ' Enter more  f errors  / filter  s sort  q quit  ? help',
      ' Enter usage  / filter  s sort  q quit  ? help',
    ],
  );
});

describe('from 160 columns on a pane beside the list', () => {
  const WIDE = { columns: 160, rows: 40 };

  test('has the details of the key under the cursor, and Enter goes on to its requests', () => {
    const start = press(serving('overview', SNAPSHOT, WIDE), '2');
    const [first, second] = shownKeys(start.model).map(({ record }) => record.id);
    assert.deepEqual(start.effects, [{ kind: 'load_key', keyId: first }]);
    // Its figures come with the next refresh.
    const moved = press(start.model, 'down');
    assert.deepEqual([moved.effects, detailEveryMs(moved.model)], [[], 0]);
    assert.match(screenText(moved.model), new RegExp(`id +${second}`));
    assert.equal(press(moved.model, 'enter').model.view, 'requests');
  });

  test('has them of a key once the window is so wide, and Esc goes back as if it were not there', () => {
    const narrow = press(serving(), '2').model;
    assert.equal(narrow.keys.detail, undefined);
    const wide = update(narrow, { kind: 'resize', ...WIDE });
    assert.deepEqual(
      wide.effects.map(({ kind }) => kind),
      ['load_key'],
    );
    const filtered = press(wide.model, '/', 'w', 'enter', 'escape').model;
    assert.equal(filtered.lists.keys.filter.text, '');
    assert.notEqual(filtered.keys.detail, undefined);
  });

  test('has those of the newest request until the cursor is moved', () => {
    const model = serving('live', SNAPSHOT, WIDE);
    const [first, second] = shownRequests(model).map(({ id }) => id);
    assert.match(screenText(model), new RegExp(`running .* ${first}$`, 'm'));
    assert.match(screenText(press(model, 'down').model), new RegExp(`running .* ${second}$`, 'm'));
  });
});

describe('an upstream', () => {
  const [upstream] = SNAPSHOT.upstreams;
  assert.ok(upstream !== undefined);
  const causes = [{ cause: '401', count: 3, message: 'no', at_ms: NOW_MS - 300_000 }];

  test('that nobody asks does not count as well if it has failed in the last hour', () => {
    const quiet = { ...upstream, requests: 0, failures: 0, causes };
    assert.deepEqual([healthOf(quiet), stateText(quiet)], ['warn', 'has failed']);
    assert.equal(healthOf({ ...quiet, causes: [] }), 'good');
    assert.equal(healthOf({ ...quiet, requests: 5 }), 'good');
  });

  for (const [what, change, said] of [
    ['serves', { requests: 5, failures: 0 }, '● in use'],
    ['fails in part', { requests: 5, failures: 2 }, '▲ 2 failed'],
    ['fails', { requests: 2, failures: 2 }, '✕ 2 failed'],
    ['is out of use', { state: 'backing_off' as const }, '✕ backing off'],
    ['has failed, and was not asked since', { requests: 0, failures: 0, causes }, '▲ has failed'],
    ['was never asked', { requests: 0, failures: 0, causes: [], unasked: true as const }, '○ never asked'],
  ] as const) {
    test(`that ${what} has the same sign and words in status: ${said}`, () => {
      const snapshot = { ...SNAPSHOT, upstreams: [{ ...upstream, state: 'closed' as const, ...change }] };
      const [sign, words] = [said.slice(0, 1), said.slice(2)];
      assert.match(screenText(serving('overview', snapshot)), new RegExp(`${sign} openai .*${words}`));
      const beside = { isShared: false, shared: undefined, spent: undefined, week: undefined };
      const look = { room: 120, paint: (text: string) => text };
      assert.match(statusLines(snapshot, beside, look).join('\n'), new RegExp(`openai +${said}`));
    });
  }

  test('that is tried again is still in trouble', () => {
    const tried = { ...upstream, state: 'half_open' as const, requests: 1 };
    assert.match(troublesOf(serving('overview', { ...SNAPSHOT, upstreams: [tried] }))[0]?.text ?? '', /failing/);
  });
});
