/**
 * What screens say of the gateway, and why they are empty. How all of them look is in `pictures.txt`.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { firstModel, type Model, VIEWS } from '../../src/tui/model.ts';
import { after, alone, NOW_MS, press, SIZE, SNAPSHOT, STORED, screenText, serving } from './samples.ts';

describe('the status line shows the state of the gateway', () => {
  const storageFault = 'the disk is full';
  const cases: readonly (readonly [what: string, model: Model, shown: RegExp])[] = [
    ['it serves', serving(), /● serving 127\.0\.0\.1:8787 {2}up 1d2h/],
    ['it has not answered yet', firstModel(STORED, SIZE, NOW_MS), /○ connecting…/],
    ['none has been running', alone(), /○ no gateway running; showing stored figures/],
    ['it has stopped', after(serving(), { kind: 'disconnected' }), /○ gateway stopped; waiting for it to start/],
    [
      'its socket belongs to another user',
      after(serving(), { kind: 'disconnected', socketError: 'another user owns it' }),
      /○ another user owns it/,
    ],
    ['it shuts down', serving('overview', { ...SNAPSHOT, draining: true }), /● shutting down/],
    ['it cannot write', serving('overview', { ...SNAPSHOT, storage_fault: storageFault }), /● the disk is full/],
    [
      'it cannot write and shuts down',
      serving('overview', { ...SNAPSHOT, draining: true, storage_fault: storageFault }),
      /full/,
    ],
  ];
  for (const [what, model, shown] of cases) {
    test(`when ${what}`, () => {
      const [head = ''] = screenText(model).split('\n');
      assert.match(head, shown);
      assert.match(head, /81\.77 USD$/);
    });
  }
});

test('before the first answer no view says that no gateway runs', () => {
  for (const view of VIEWS) {
    const screen = screenText({ ...firstModel(STORED, SIZE, NOW_MS), view });
    assert.doesNotMatch(screen, /no gateway|inf-gw serve/i);
  }
});

test('a gateway that has stopped leaves its charts for a while, and then the stored figures', () => {
  const stopped = after(serving(), { kind: 'disconnected' });
  assert.match(screenText(stopped), /requests\/s/);
  assert.match(screenText(after(stopped, { kind: 'tick', nowMs: NOW_MS + 600_000 })), /Keys, this month/);
});

describe('a view says why it is empty', () => {
  const none = { ...STORED, keys: [], models: [] };
  const cases: readonly (readonly [what: string, model: Model, shown: RegExp])[] = [
    ['no keys', alone('keys', none), /No keys yet\. Press n to create one\./],
    [
      'a filter that nothing matches',
      press(alone('keys'), '/', 'z', 'z').model,
      /No rows match "zz"\.\nWords: name: state: rpm: /,
    ],
    ['no gateway to watch', alone('live'), /No gateway is running\.\ninf-gw serve starts a gateway/],
    [
      'no request yet',
      serving('live', { ...SNAPSHOT, in_flight: 0, seconds: [], live: [], recent: [] }),
      /No requests yet\./,
    ],
    ['no usage', after(alone('usage'), { kind: 'usage', rows: [] }), /No usage recorded\.\nas of 12:00:00 UTC/],
    ['no models', alone('models', none), /Add some under `providers:`, then press R\./],
    ['no busy key and no provider', serving('overview', { ...SNAPSHOT, busiest: [], upstreams: [] }), /none +none/],
  ];
  for (const [what, model, shown] of cases) test(what, () => assert.match(screenText(model), shown));
});
