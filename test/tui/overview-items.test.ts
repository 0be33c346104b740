/** The cursor in the Overview: what is wrong, the keys, the upstreams, and what is looked into. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chosenItem, shownItems } from '../../src/tui/lists/overview.ts';
import type { Model } from '../../src/tui/model.ts';
import { after, letters, NOW_MS, press, SNAPSHOT, screenText, serving } from './samples.ts';
import { styledText, textIn } from './styles.ts';

const CAUSES = [
  { cause: 'http_status', count: 41, message: 'upstream 401  check the api_key', at_ms: NOW_MS - 5_000 },
  { cause: 'timeout', count: 2, message: 'no answer within 60 s', at_ms: NOW_MS - 600_000 },
];
const upstreams = SNAPSHOT.upstreams.map((each) => (each.upstream === 'claude' ? { ...each, causes: CAUSES } : each));
const WRONG = { ...SNAPSHOT, upstreams };
const start = serving('overview', WRONG);

/** The row on the band, or the trouble that is inverse. */
function selectedText(model: Model): string {
  const screen = styledText(model);
  const [, , troubles = ''] = screen.split('\n');
  return [...textIn(screen, '48;5;237', '49'), ...textIn(troubles, '7', '27')].join('').trim();
}

test('nothing is chosen at first; the arrows go through troubles, keys and upstreams', () => {
  assert.equal(chosenItem(start), undefined);
  const kinds = shownItems(start).map(({ kind }) => kind);
  assert.deepEqual(kinds, ['trouble', 'key', 'key', 'upstream', 'upstream']);
  for (const [index, name] of ['claude failing', 'web-app', 'batch-jobs', 'claude', 'openai'].entries()) {
    const { model } = press(start, ...Array<string>(index + 1).fill('down'));
    assert.match(selectedText(model), new RegExp(name));
  }
});

test('the chosen one stays chosen as others come before it', () => {
  const { model } = press(start, 'end');
  const busier = { ...SNAPSHOT.busiest[0], id: 'key_new' } as (typeof SNAPSHOT.busiest)[number];
  const next = after(model, { kind: 'snapshot', snapshot: { ...WRONG, busiest: [busier, ...SNAPSHOT.busiest] } });
  const item = chosenItem(next);
  assert.equal(item?.kind === 'upstream' && item.upstream.upstream, 'openai');
});

test('an upstream tells its failures by cause, and Esc shows the keys again', () => {
  const { model } = press(start, 'end', 'up', 'enter');
  const text = screenText(model);
  assert.match(text, /claude {2}✕ 4 failed {2}4 requests\/min/);
  assert.match(text, /^http status +41 +5s ago/m);
  assert.doesNotMatch(text, /BUSIEST/);
  assert.match(screenText(press(model, 'escape').model), /BUSIEST/);
});

test('an upstream of which nothing failed says so', () => {
  assert.match(screenText(press(start, 'end', 'enter').model), /Nothing has failed in the last hour\./);
});

describe('a filter', () => {
  test('leaves the keys and upstreams that it names', () => {
    const { model } = press(start, '/', ...letters('openai'), 'enter');
    assert.deepEqual(
      shownItems(model).map(({ kind }) => kind),
      ['upstream'],
    );
    assert.match(screenText(model), /\/ openai/);
  });
});

test('many upstreams: the chosen one is in sight', () => {
  const [well] = SNAPSHOT.upstreams;
  const many = Array.from({ length: 30 }, (_, i) => ({ ...(well as NonNullable<typeof well>), upstream: `host-${i}` }));
  const model = press(serving('overview', { ...SNAPSHOT, upstreams: many }), 'end').model;
  assert.match(selectedText(model), /host-29/);
});
