/** The live view shows why a request failed, and nothing in its place for one that did not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endedRow, press, SNAPSHOT, screenText, serving } from './samples.ts';

const failure = {
  reason: 'http_status',
  status: 401,
  message: 'upstream 401: check the api_key of the provider',
} as const;

test('the details of a request say why it failed', () => {
  const recent = [endedRow(3, 'upstream_error', { failure })];
  const { model } = press(serving('live', { ...SNAPSHOT, live: [], recent }), 'enter');
  assert.match(screenText(model), /^why {5}upstream 401: check the api_key of the provider$/m);
});

test('the details of a request that did not fail do not', () => {
  const { model } = press(serving('live', { ...SNAPSHOT, live: [], recent: [endedRow(3, 'ok')] }), 'enter');
  assert.doesNotMatch(screenText(model), /^why/m);
});

test('a row that failed or was refused says why, where there is room', () => {
  const recent = [
    endedRow(3, 'rate_limited', { refusal: '60 requests/min, again in 7 s', provider: '' }),
    endedRow(2, 'upstream_error', { failure }),
    endedRow(1, 'ok'),
  ];
  const wide = screenText({ ...serving('live', { ...SNAPSHOT, live: [], recent }), columns: 200 });
  assert.match(wide, / STATE +WHY$/m);
  assert.match(wide, / rate_limited +60 requests\/min, again in 7 s$/m);
  assert.match(wide, / upstream_error +upstream 401: check the api_key of the provider$/m);
  assert.match(wide, / ok$/m);
});

test('the details of a refused request say what was reached', () => {
  const recent = [endedRow(3, 'rate_limited', { refusal: '3 requests in flight', provider: '' })];
  const { model } = press(serving('live', { ...SNAPSHOT, live: [], recent }), 'enter');
  assert.match(screenText(model), /^why {5}3 requests in flight$/m);
});
