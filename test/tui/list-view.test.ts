/** What all lists say of themselves: their order, their filter, and why nothing passes it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { healthOf, stateText } from '../../src/tui/health.ts';
import type { View } from '../../src/tui/model.ts';
import { troublesOf } from '../../src/tui/trouble.ts';
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
      ' 1-6 Tab views  ↑↓ Enter look into  q quit  ? help',
      ' Enter more  / filter  s sort  q quit  ? help',
      ' Enter more  f errors  / filter  s sort  q quit  ? help',
      ' Enter usage  / filter  s sort  q quit  ? help',
    ],
  );
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

  test('that is tried again is still in trouble', () => {
    const tried = { ...upstream, state: 'half_open' as const, requests: 1 };
    assert.match(troublesOf(serving('overview', { ...SNAPSHOT, upstreams: [tried] }))[0]?.text ?? '', /failing/);
  });
});
