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
  assert.match(screenText(model), /^failure upstream 401: check the api_key of the provider$/m);
});

test('the details of a request that did not fail do not', () => {
  const { model } = press(serving('live', { ...SNAPSHOT, live: [], recent: [endedRow(3, 'ok')] }), 'enter');
  assert.doesNotMatch(screenText(model), /^failure/m);
});
