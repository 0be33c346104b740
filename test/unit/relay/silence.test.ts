/** How long a model has shown nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Silence } from '../../../src/relay/silence.ts';

test('a silence is the time until something is shown, and every pause after that', () => {
  const silence = new Silence(1_000);
  assert.equal(silence.until(1_050), 50);
  silence.end(1_050);
  assert.equal(silence.until(1_100), 50);
  silence.end(1_100);
  silence.end(2_100);
  assert.equal(silence.until(2_200), 1_050);
  assert.equal(silence.until(3_100), 2_050);
  assert.equal(silence.beforeLastMs, 1_050);
});

test('a silence that something encrypted stands for is over', () => {
  const silence = new Silence(0);
  silence.explain(5_000);
  assert.equal(silence.until(5_100), 0);
  assert.equal(silence.until(6_000), 1_000);
});
