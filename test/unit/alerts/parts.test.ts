/** The small parts of alerts: pace, rate, pauses between attempts, and what a message looks like. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyFor, eventOf } from '../../../src/alerts/event.ts';
import { Pace } from '../../../src/alerts/pace.ts';
import { BURST, Rate, REFILL_MS } from '../../../src/alerts/rate.ts';
import { GIVE_UP_MS, pauseMs } from '../../../src/alerts/retry.ts';
import { targetId } from '../../../src/alerts/target-id.ts';
import type { WebhookTarget } from '../../../src/core/alert-targets.ts';

const MINUTE = 60_000;

test('a pace is that of the last hour, and is not known in the first five minutes', () => {
  const pace = new Pace();
  assert.equal(pace.add(0, 0n), undefined);
  assert.equal(pace.add(5 * MINUTE - 1, 10n), undefined);
  assert.deepEqual(pace.add(5 * MINUTE, 10n), { costNanos: 10n, spanMs: 5 * MINUTE });
  // An hour of one a minute; what was before it has left.
  let spending: unknown;
  for (let minute = 6; minute <= 125; minute++) spending = pace.add(minute * MINUTE, BigInt(4 + minute));
  assert.deepEqual(spending, { costNanos: 60n, spanMs: 60 * MINUTE });
  assert.equal(pace.add(MINUTE, 200n), undefined, 'the clock was set back');
});

test('so many events are told at once, and then one a minute', () => {
  const rate = new Rate(0);
  const told = (nowMs: number) => {
    let count = 0;
    for (; rate.hasRoom(nowMs); count++) rate.take();
    return count;
  };
  assert.equal(told(0), BURST);
  assert.equal(told(REFILL_MS - 1), 0);
  assert.equal(told(REFILL_MS), 1);
  assert.equal(told(3.5 * REFILL_MS), 2);
  assert.equal(told(4 * REFILL_MS), 1);
  assert.equal(told(1_000 * REFILL_MS), BURST);
  assert.equal(told(0), 0, 'the clock was set back');
  assert.equal(told(REFILL_MS), 1);
});

test('attempts are 5 s apart at first, 15 minutes at most, and end after a day', () => {
  const pauses = Array.from({ length: 10 }, (_, i) => (pauseMs(i + 1, 0) ?? 0) / 1_000);
  assert.deepEqual(pauses, [5, 10, 20, 40, 80, 160, 320, 640, 900, 900]);
  assert.equal(pauseMs(2_000, GIVE_UP_MS - 1), 900_000);
  assert.equal(pauseMs(3, GIVE_UP_MS), undefined);
});

test('a message for Slack is its text, and no name in it is a link or a mention', () => {
  const facts = { kind: 'budget', severity: 'warning', text: 'the key <!channel> & co', figures: {} } as const;
  const event = eventOf(facts, 'eu-1', 0);
  assert.deepEqual(JSON.parse(bodyFor('slack', JSON.stringify(event))), {
    text: '[warning] inf-gw eu-1: the key &lt;!channel&gt; &amp; co',
  });
  assert.deepEqual(JSON.parse(bodyFor('json', JSON.stringify(event))), event);
});

test('a target is called the same in every gateway, and does not show its address', () => {
  const target: WebhookTarget = {
    kind: 'webhook',
    name: 'webhook 1',
    url: 'https://hooks.example/services/T0/SECRET',
    secret: 'abc',
    format: 'json',
    missingVariable: undefined,
  };
  assert.equal(targetId(target), targetId({ ...target, name: 'webhook 2', secret: undefined }));
  assert.notEqual(targetId(target), targetId({ ...target, url: `${target.url}2` }));
  assert.doesNotMatch(targetId(target), /SECRET|hooks/);
});
