/** In Live, the rows of ended requests do not move while one of them is selected. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shownRequests } from '../../src/tui/lists/live.ts';
import type { Model } from '../../src/tui/model.ts';
import { after, endedRow, press, requestRow, SNAPSHOT, screenText, serving } from './samples.ts';

const live = serving('live');

describe('the rows of Live', () => {
  const idsOf = (model: Model) => shownRequests(model).map(({ id }) => id);
  const fresh = { ...SNAPSHOT, recent: Array.from({ length: 300 }, () => endedRow(0, 'ok')) };
  const chosen = press(live, 'end').model;
  const later = after(chosen, { kind: 'snapshot', snapshot: fresh });

  test('stay in place while an ended request is selected', () => {
    assert.deepEqual(idsOf(later), idsOf(live));
    assert.equal(later.lists.live.cursor, chosen.lists.live.cursor);
    assert.match(screenText(later), /paused, Home to resume/);
  });

  test('are all shown once the cursor is at the top again', () => {
    const { model } = press(later, 'home');
    assert.deepEqual(idsOf(model), idsOf(after(live, { kind: 'snapshot', snapshot: fresh })));
    assert.doesNotMatch(screenText(model), /held still/);
  });

  test('stay in place when the request under the cursor ends', () => {
    const id = idsOf(live)[0] ?? '';
    const ended = { ...SNAPSHOT, live: [], recent: [...SNAPSHOT.recent, endedRow(0, 'ok', { id })] };
    const model = after(press(live, 'enter').model, { kind: 'snapshot', snapshot: ended });
    const next = after(model, { kind: 'snapshot', snapshot: { ...fresh, live: [] } });
    assert.deepEqual(idsOf(next), idsOf(model));
    assert.equal(idsOf(model)[model.lists.live.cursor], id);
  });

  test('start at the top when the view is opened', () => {
    assert.deepEqual(press(later, '1', '3').model.live, live.live);
  });
});

test('while it asks whether to stop a request, it says which, and all rows stay in their place', () => {
  const asking = press(live, 'x').model;
  const text = screenText(asking);
  assert.match(text, /key +web-app/);
  assert.match(text, /model +openai\/gpt-4o-mini/);
  assert.match(text, /age +1m15s/);
  assert.match(text, /cost +0\.000219 USD so far/);
  const next = { ...SNAPSHOT, live: [requestRow(90), requestRow(80)], recent: [endedRow(0, 'ok')] };
  const later = after(asking, { kind: 'snapshot', snapshot: next });
  assert.deepEqual(shownRequests(later), shownRequests(asking));
  assert.equal(shownRequests(press(later, 'n').model)[0]?.id, requestRow(90).id);
});
