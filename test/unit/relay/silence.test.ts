/** How long a model has shown nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Silence } from '../../../src/relay/silence.ts';

test('a silence is the time until something is shown, and every longer pause after that', () => {
  const silence = new Silence(1_000);
  assert.equal(silence.until(1_050), 50);
  silence.end(1_050);
  assert.equal(silence.until(2_000), 50);
  silence.end(2_000);
  silence.end(5_000);
  assert.equal(silence.until(6_000), 3_050);
  assert.equal(silence.until(8_000), 6_050);
  assert.equal(silence.beforeLastMs, 3_050);
});

test('a silence that something encrypted stands for is over', () => {
  const silence = new Silence(0);
  silence.explain(5_000);
  assert.equal(silence.until(5_100), 0);
  assert.equal(silence.until(8_000), 3_000);
});

test('a silence begins anew with another host, and is none while nobody reads', () => {
  const silence = new Silence(0);
  silence.restart(4_000);
  assert.equal(silence.until(4_500), 500);
  silence.excuse(400);
  assert.equal(silence.until(4_500), 100);
  silence.end(4_500);
  silence.excuse(10_000);
  assert.equal(silence.until(15_000), 100);
});
