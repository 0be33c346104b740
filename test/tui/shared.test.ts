/** The dashboard on a database that gateways share: beside one of them, and where none runs. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NodeRecord } from '../../src/state/nodes.ts';
import { shownRequests } from '../../src/tui/lists/live.ts';
import type { LiveRow, Model, Shared } from '../../src/tui/model.ts';
import type { Event } from '../../src/tui/update/step.ts';
import { after, alone, keyId, NOW_MS, press, requestRow, SNAPSHOT, STORED, screenText, serving } from './samples.ts';

function node(name: string, more: Partial<NodeRecord> = {}): NodeRecord {
  return {
    name,
    version: '0.1.0',
    address: `${name}.example:8787`,
    state: 'alive',
    startedAtMs: NOW_MS - 93_784_000,
    seenAtMs: NOW_MS - 400,
    requestsPerMin: 310,
    tokensPerMin: 108_500,
    inFlight: 2,
    heldNanos: 12_000_000n,
    ...more,
  };
}

/** A request in flight, admitted `number` seconds ago, of which the hold is known. */
function heldRow(number: number, name: string, holdNanos: bigint): LiveRow {
  const unknown = { provider: '', stream: false, prompt_tokens: 0, completion_tokens: 0, cost_usd: '0.00' };
  const { first_byte_ms, source, ...row } = requestRow(number, unknown);
  return { ...row, elsewhere: { node: name, holdNanos } };
}

const IDLE = { requestsPerMin: 0, tokensPerMin: 0 };
const SHARED: Shared = {
  ownNode: 'eu-1',
  nodes: [
    node('eu-1'),
    node('eu-2', { version: '0.2.0', inFlight: 12, heldNanos: 81_234_567n }),
    node('us-1', { state: 'silent', seenAtMs: NOW_MS - 185_000, inFlight: 1, heldNanos: 1_000n, ...IDLE }),
    node('us-2', { state: 'stopped', seenAtMs: NOW_MS - 185_000, inFlight: 0, heldNanos: 0n, ...IDLE }),
  ],
  open: [heldRow(90, 'us-1', 1_000n), heldRow(75, 'eu-1', 500_000n), heldRow(30, 'eu-2', 2_400_000n)],
  busiest: [{ id: keyId(1), requests: 480, tokens: 1_510_000, open: 2, usd_per_min: '0.00', refused: 0, history: [] }],
  keys: [{ id: keyId(2), requests: 30, tokens: 4_000, open: 0, usd_per_min: '0.00', refused: 0, history: [] }],
  isStale: false,
};
const WIDE = { columns: 140, rows: 40 };
const SMALL = { columns: 60, rows: 16 };

function shared(changes: Partial<Shared> = {}): Event {
  return { kind: 'shared', shared: { ...SHARED, ...changes } };
}

/** From the third line on: what is above is the same in all views. */
function body(model: Model): string {
  return screenText(model).split('\n').slice(3).join('\n').trimEnd();
}

function ids(model: Model): string[] {
  return shownRequests(model).map(({ id }) => id.slice(-2));
}

const OVERVIEW = `
 inf-gw 0.1.0  ● serving 127.0.0.1:8787  up 1d2h              balance 81.77 USD
 1 Overview  2 Keys  3 Live  4 Requests  5 Usage  6 Models  7 Groups
 ! claude failing   press ! to go there
Overview  over  1m  5m  1h  24h       15 in flight, 2 here   loop delay p99 3 ms
requests/s here  8.1  max 9.4            first byte here  p50 ≤136ms  p99 ≤1.0s
   10┤       ⣠⣶⡄   ⢠⣶⣄   ⢀⣶⣆   ⢀⣼⣦⡄   ⣴     2s┤
    0┤       ⣿⣿⣿⣆⣀⣠⣿⣿⣿⣦⣄⣠⣿⣿⣿⣿⣄⣠⣾⣿⣿⣿⣆⣀⣾⣿      0┤       ⣀⣏⣆⣀⣀⣀⣀⣏⣱⣀⣀⣀⣀⣏⣱⣀⣀⣀⣀⣸⣱⣀⣀⣀⣀⣸
errors, 1 min 6 rate_limited  3 upstream_error
free          81.75 USD  about 41 days at the pace of the last 7 days

NODE        STATE              VERSION   REQ/MIN  TOK/MIN  IN FLIGHT  HELD (USD)
eu-1 here   ● alive, up 1d2h   0.1.0         310     109k          2    0.012000
eu-2        ● alive, up 1d2h   0.2.0         310     109k         12    0.081234
us-1        ✕ silent for 3m5s  0.1.0           0        0          1    0.000001
us-2        ○ stopped 3m ago   0.1.0           0        0          0    0.000000

BUSIEST KEYS         USD/MIN    REQ/LIMIT  REFUSED  PROVIDERS       STATE
web-app                 0.00      480/600        -  ✕ claude        4 failed
batch-jobs              0.00        59/60        -    refused
                                                    ● openai        in use



 1-7 Tab views  ↑↓ Enter look into  + credit  R reload  q quit  ? help
`;

const OVERVIEW_ALONE = `
 inf-gw ○ no gateway here; 2 alive, 1 silent                  balance 81.77 USD
 1 Overview  2 Keys  3 Live  4 Requests  5 Usage  6 Models  7 Groups

gateways      2 alive, 1 silent          requests/min  620
in flight     15                         tokens/min    217,000
credit        █████████████████████████████████████████████████████████████████▓
              █ free 81.75  ▓ held 0.01  ░ spent this month 0.00 USD
lasts         about 41 days at the pace of the last 7 days

NODE        STATE              VERSION   REQ/MIN  TOK/MIN  IN FLIGHT  HELD (USD)
eu-1        ● alive, up 1d2h   0.1.0         310     109k          2    0.012000
eu-2        ● alive, up 1d2h   0.2.0         310     109k         12    0.081234
us-1        ✕ silent for 3m5s  0.1.0           0        0          1    0.000001
us-2        ○ stopped 3m ago   0.1.0           0        0          0    0.000000

BUSIEST KEYS          USD/MIN                      REQ/LIMIT  REFUSED  IN FLIGHT
web-app                  0.00  ████████████▊░░░      480/600        -          2






 1-7 Tab views  ↑↓ Enter look into  + credit  R reload  q quit  ? help
`;

const LIVE = `
 inf-gw 0.1.0  ● serving 127.0.0.1:8787  up 1d2h              balance 81.77 USD
 1 Overview  2 Keys  3 Live  4 Requests  5 Usage  6 Models  7 Groups
 ! claude failing   press ! to go there
Live  15 in flight on all gateways, followed by recent requests here
     AGE  KEY         MODEL               NODE          OUT  STATE
   1m30s  web-app     openai/gpt-4o-mini  us-1            -  running
   1m15s  web-app     openai/gpt-4o-mini  eu-1           56  running
     30s  web-app     openai/gpt-4o-mini  eu-2            -  running
      4s  batch-jobs  openai/gpt-4o-mini  eu-1           56  running
  3s ago  web-app     openai/gpt-4o-mini  eu-1           56  ok
 12s ago  web-app     claude/large        eu-1           56  upstream_error
 40s ago  web-app     openai/gpt-4o-mini  eu-1            -  rate_limited











 Enter more  x stop  f errors  / filter  s sort  q quit  ? help
`;

describe('of a shared database the screen shows', () => {
  const screens: readonly (readonly [what: string, model: Model, expected: string])[] = [
    ['all gateways, beside one of them', after(serving(), shared()), OVERVIEW],
    ['all gateways, where none runs', after(alone(), shared()), OVERVIEW_ALONE],
    ['the requests in flight of all gateways', after(serving('live'), shared()), LIVE],
  ];
  for (const [what, model, expected] of screens) {
    test(what, () => assert.equal(screenText(model).trimEnd(), expected.slice(1).trimEnd()));
  }

  test('addresses too, where there is room', () => {
    const screen = screenText(after(serving('overview', SNAPSHOT, WIDE), shared()));
    assert.match(screen, /^eu-2 +● alive, up 1d2h +0\.2\.0 +eu-2\.example:8787 +310 +109k +12 +0\.081234$/m);
  });

  test('what a request elsewhere can cost at most, where there is room', () => {
    const screen = screenText(after(serving('live', SNAPSHOT, { ...WIDE, columns: 159 }), shared()));
    assert.match(screen, /^ +30s {2}web-app +openai\/gpt-4o-mini +eu-2 +- +- +≤0\.002400 +- {2}running$/m);
    assert.match(
      screen,
      /^ +1m15s {2}web-app +openai\/gpt-4o-mini +eu-1 +stream +1,234 +56 +0\.000219 +130 ms {2}running$/m,
    );
  });

  test('as many gateways as there is room for, and how many more there are', () => {
    const nodes = Array.from({ length: 30 }, (_, index) => node(`node-${index}`));
    assert.match(screenText(after(serving(), shared({ nodes }))), /^node-3 .*\n26 more: inf-gw status$/m);
    const small = after(alone('overview', STORED, SMALL), shared({ nodes }));
    assert.match(screenText(small), /^node-1 .*\n28 more: inf-gw status\n\nBUSIEST KEYS /m);
    assert.doesNotMatch(screenText(after(serving('overview', SNAPSHOT, SMALL), shared({ nodes }))), /node-/);
  });

  test('that no gateway has used it', () => {
    const screen = screenText(after(alone(), shared({ nodes: [], open: [], busiest: [], keys: [] })));
    assert.match(screen, /no gateway here; 0 alive {2}/);
    const first = after({ ...alone(), isConnecting: true }, shared());
    assert.match(screenText(first), /^ inf-gw ○ connecting… {2}2 alive, 1 silent/);
    assert.match(screen, /^No gateway has used this database in the last day\.$/m);
  });

  test('that the database is away, instead of what was so before', () => {
    const screen = screenText(after(alone(), shared({ isStale: true })));
    assert.match(screen, /no gateway here; the database is away /);
    assert.match(screen, /^gateways +the database is away /m);
    assert.match(screen, /^eu-1 +unknown +0\.1\.0 /m);
    assert.doesNotMatch(screen, /alive/);
  });

  test('names that cannot break it', () => {
    const nodes = [node('evil\u001b[2J\nname', { version: '9\u0007\u202e', address: 'a\u001b]0;x\u0007' })];
    for (const size of [WIDE, SMALL]) {
      const model = after(
        alone('overview', STORED, size),
        shared({ nodes, open: [heldRow(3, nodes[0]?.name ?? '', 0n)] }),
      );
      for (const each of [
        model,
        press(model, '3').model,
        press(model, '3', 'enter').model,
        press(model, '3', 'x').model,
      ]) {
        assert.doesNotMatch(screenText(each), /(?!\n)[\p{Cc}\p{Cf}]/u);
        assert.equal(screenText(each).split('\n').length, size.rows);
      }
    }
  });
});

describe('without a gateway here', () => {
  test('the keys have the activity that the database knows', () => {
    const screen = screenText(after(alone('keys'), shared()));
    assert.match(screen, /^batch-jobs .* 30\/60$/m);
    assert.match(screen, /^web-app .* 480\/600$/m);
  });

  test('requests of the gateway that was here are shown as those of any other', () => {
    const stopped = after(serving('live'), shared(), { kind: 'disconnected' });
    assert.deepEqual(ids(stopped), ['90', '75', '30']);
    assert.match(body(stopped), /^Live {2}15 in flight on all gateways\n/);
  });

  test('nothing is in flight until something is', () => {
    const nodes = [node('eu-2', { inFlight: 0 })];
    assert.match(body(after(alone('live'), shared({ open: [], nodes }))), /^Live {2}0 in flight .*\n\nNo requests\./);
  });
});

describe('a request in flight', () => {
  test('here has its details, and is stopped here', () => {
    const { model, effects } = press(after(serving('live'), shared()), 'down', 'enter', 'x', 'y');
    assert.match(screenText(model), /^tokens {2}1,234 in, 56 out \(estimated so far\)/m);
    assert.deepEqual(effects, [{ kind: 'act', action: { kind: 'stop_request', id: requestRow(75).id } }]);
  });

  test('elsewhere shows its hold, and is stopped there', () => {
    const open = press(after(serving('live'), shared()), 'down', 'down', 'enter').model;
    const { id } = requestRow(30);
    assert.match(screenText(open), new RegExp(`^${id} {2}on eu-2, which alone knows its tokens$`, 'm'));
    assert.match(screenText(open), /^held {4}0\.002400 USD$/m);
    const asked = press(open, 'x');
    assert.match(screenText(asked.model), new RegExp(`Stop ${id} on eu-2\\?`));
    assert.deepEqual(asked.effects, []);
    assert.deepEqual(press(asked.model, 'y').effects, [
      { kind: 'act', action: { kind: 'stop_elsewhere', id, node: 'eu-2' } },
    ]);
  });

  test('keeps the cursor as others come and go on any gateway', () => {
    const chosen = press(after(serving('live'), shared()), 'down', 'down').model;
    const later = after(chosen, shared({ open: [heldRow(120, 'us-1', 1n), heldRow(110, 'us-1', 1n), ...SHARED.open] }));
    assert.equal(shownRequests(later)[later.lists.live.cursor]?.id, requestRow(30).id);
  });
});

describe('a read-only dashboard', () => {
  const readOnly = (model: Model): Model => ({ ...after(model, shared()), isReadOnly: true });

  test('says so', () => assert.match(screenText(readOnly(alone())), /7 Groups +read-only$/m));

  const refused: readonly (readonly [what: string, view: Model['view'], keys: readonly string[]])[] = [
    ['stop a request here', 'live', ['down', 'x']],
    ['stop a request elsewhere', 'live', ['x']],
    ['enable a key', 'keys', ['e']],
    ['disable, rotate or delete one', 'keys', ['d', 'y', 'r', 'y', 'D', 'enter']],
    ['create one, or edit limits or models', 'keys', ['n', 'l', 'm']],
    ['add credit', 'overview', ['+']],
    ['reload the config', 'overview', ['R']],
  ];
  for (const [what, view, keys] of refused) {
    test(`does not ${what}`, () => {
      const { model, effects } = press(readOnly(serving(view)), ...keys);
      assert.deepEqual(
        effects.filter(({ kind }) => kind === 'act' || kind === 'reload'),
        [],
      );
      assert.equal(model.dialog, undefined);
      assert.equal(model.message?.text, 'This dashboard is read-only.');
    });
  }

  test('still exports, filters and helps', () => {
    assert.equal(press(readOnly(serving('usage')), 'w').model.dialog?.kind, 'form');
    assert.equal(press(readOnly(serving('keys')), '/', 'w', 'e').model.lists.keys.filter.text, 'we');
    assert.equal(press(readOnly(serving()), '?').model.dialog?.kind, 'help');
  });
});
