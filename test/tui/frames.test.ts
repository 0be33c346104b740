/**
 * Whole screens as users see them: each view with a gateway, at the smallest common terminal size.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { firstModel, type Model, VIEWS, type View } from '../../src/tui/model.ts';
import { after, alone, NOW_MS, press, SIZE, SNAPSHOT, STORED, screenText, serving } from './samples.ts';

const OVERVIEW = `
 inf-gw 0.1.0  ● serving 127.0.0.1:8787  up 1d2h              balance 81.77 USD
 1 Overview  2 Keys  3 Live  4 Requests  5 Usage  6 Models  7 Groups
 ! claude failing   ! go there
Overview  over  1m  5m  1h  24h                2 in flight   loop delay p99 3 ms
requests/s  8.1  max 9.4                 first byte  p50 136 ms  p99 1.0 s
   10┤       ⢀⣶⡄   ⢀⣴⡄    ⣶⡄    ⣰⣆⡀   ⣰     2s┤
    5┤       ⣾⣿⣷   ⣼⣿⣿⡀  ⣼⣿⣿⣤  ⣰⣿⣿⣧  ⢠⣿     1s┤        ⡤⡀    ⡤⢄    ⡤⢄    ⢠⢄    ⢠
    0┤       ⣿⣿⣿⣧⣤⣼⣿⣿⣿⣷⣆⣴⣿⣿⣿⣿⣆⣰⣿⣿⣿⣿⣧⣠⣿⣿      0┤       ⣀⣇⣇⣀⣀⣀⣀⣇⣸⣀⣀⣀⣀⣇⣸⣀⣀⣀⣀⣸⣸⣀⣀⣀⣀⣸
      -5m                           now        -5m                           now

errors, 1 min 6 rate_limited  3 upstream_error
credit        ███████████████████████████████████████████████████▓  0.01 USD/min
              █ free 81.75  ▓ held 0.01  ░ spent this month 0.00 USD
lasts         4d17h at this minute’s pace; 40d21h at the last seven days’ pace

BUSIEST KEYS         USD/MIN    REQ/LIMIT  REFUSED  PROVIDERS       STATE
web-app                 0.00      480/600        -  ✕ claude        4 failed
batch-jobs              0.00        59/60        -    refused
                                                    ● openai        in use




 1-7 Tab views  ↑↓ Enter look into  + credit  R reload  q quit  ? help
`;

const KEYS = `
 inf-gw 0.1.0  ● serving 127.0.0.1:8787  up 1d2h              balance 81.77 USD
 1 Overview  2 Keys  3 Live  4 Requests  5 Usage  6 Models  7 Groups
 ! claude failing   ! go there
Keys  3                                       requests, tokens: this month (UTC)
NAME ↑                 STATE      MONEY (USD)                 REQUESTS/MIN
batch-jobs             enabled                    1.23 month  █████▉       59/60
laptop                 disabled                  <0.01 month  ▏░░░░░       1/600
web-app                enabled    █████▏   17.00/20.00 month  ████▊░     480/600















 Enter more  n new  e d on/off  l limits  m models  r rotate  D delete  ? help
`;

const LIVE = `
 inf-gw 0.1.0  ● serving 127.0.0.1:8787  up 1d2h              balance 81.77 USD
 1 Overview  2 Keys  3 Live  4 Requests  5 Usage  6 Models  7 Groups
 ! claude failing   ! go there
Live  2 in flight, followed by recent requests
     AGE  KEY         MODEL                 OUT  COST (USD)  STATE
   1m15s  web-app     openai/gpt-4o-mini     56    0.000219  running
      4s  batch-jobs  openai/gpt-4o-mini     56    0.000219  running
  3s ago  web-app     openai/gpt-4o-mini     56    0.000219  ok
 12s ago  web-app     claude/large           56    0.000219  upstream_error
 40s ago  web-app     openai/gpt-4o-mini      -           -  rate_limited













 Enter more  x stop  f errors  / filter  s sort  q quit  ? help
`;

const USAGE = `
 inf-gw 0.1.0  ● serving 127.0.0.1:8787  up 1d2h              balance 81.77 USD
 1 Overview  2 Keys  3 Live  4 Requests  5 Usage  6 Models  7 Groups
 ! claude failing   ! go there
Usage  by  key  model  day  month  source  user  tag  app   over  24h
KEY              COST COMPARED      REQUESTS  ERRORS     IN    OUT    COST (USD)
web-app          █████████████████     12.3k       5   3.7M   864k         17.00
batch-jobs       █▎                      321       5  96.3k  22.5k          1.23
laptop           ▏                         7       0  2,100    490         <0.01
Total  12,673 requests, 4,689,010 tokens, 18.23 USD           as of 12:00:00 UTC














 Enter more  ←→ group  [ ] range  w export CSV  / filter  s sort  q quit  ? help
`;

const MODELS = `
 inf-gw 0.1.0  ● serving 127.0.0.1:8787  up 1d2h              balance 81.77 USD
 1 Overview  2 Keys  3 Live  4 Requests  5 Usage  6 Models  7 Groups
 ! claude failing   ! go there
Models  4, USD per million tokens, requests of this month, tier standard
MODEL                          INPUT    CACHED    OUTPUT   SHARE  PROVIDER
openai/gpt-4o-mini            0.15      0.075     0.60       99%  ● openai
openai/fast                   0.10      0.00      0.40         -  ● openai
claude/large                  3.00      0.30     15.00         -  no key set
mock/echo                     0.00      0.00      0.00        1%  · mock














 Enter usage  R reload config  / filter  s sort  q quit  ? help
`;

const DELETING = `
 inf-gw 0.1.0  ● serving 127.0.0.1:8787  up 1d2h              balance 81.77 USD
 1 Overview  2 Keys  3 Live  4 Requests  5 Usage  6 Models  7 Groups
 ! claude failing   ! go there
Keys  3                                       requests, tokens: this month (UTC)
  ╭──────────────────────────────────────────────────────────────────────────╮
  │ Delete batch-jobs permanently?                                           │
  │                                                                          │
  │ this month  321 requests, 1.23 USD                                       │
  │ last used   2m ago                                                       │
  │                                                                          │
  │ Its requests are refused from now on, and this cannot be undone. Its     │
  │ usage is kept.                                                           │
  │                                                                          │
  │ Type this to confirm:                                                    │
  │ batch-jobs                                                               │
  │ › ba▏                                                                    │
  │                                                                          │
  │ Enter: confirm   Esc: cancel                                             │
  ╰──────────────────────────────────────────────────────────────────────────╯




 type the text shown  Enter confirm  Esc cancel
`;

const ALONE = `
 inf-gw ○ no gateway running; showing stored figures          balance 81.77 USD
 1 Overview  2 Keys  3 Live  4 Requests  5 Usage  6 Models  7 Groups

inf-gw serve starts a gateway; this screen then follows it.

this month    12,003 requests, 0 tokens
credit        █████████████████████████████████████████████████████████████████▓
              █ free 81.75  ▓ held 0.01  ░ spent this month 0.00 USD
lasts         40d21h at the last seven days’ pace

Keys, this month                         Models, this month
KEY                REQUESTS  COST (USD)  MODEL              REQUESTS  COST (USD)
web-app               12.3k       17.00  openai/gpt-4…mini     12.0k        0.00
batch-jobs              321        1.23  mock/echo                 3        0.00
laptop                    7       <0.01








 1-7 Tab views  ↑↓ Enter look into  + credit  R reload  q quit  ? help
`;

/** The texts above begin and end with an extra line break. */
function assertScreen(model: Model, expected: string): void {
  assert.equal(`\n${screenText(model)}\n`, expected);
}

describe('at 80 by 24', () => {
  const views: readonly (readonly [View, string])[] = [
    ['overview', OVERVIEW],
    ['keys', KEYS],
    ['live', LIVE],
    ['usage', USAGE],
    ['models', MODELS],
  ];
  for (const [view, expected] of views) {
    test(`the view ${view} looks like this`, () => assertScreen(serving(view), expected));
  }

  test('a confirmation is drawn over its view', () => {
    assertScreen(press(serving('keys'), 'D', 'b', 'a').model, DELETING);
  });

  test('without a gateway the stored figures are shown, and the screen says so', () => assertScreen(alone(), ALONE));
});

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
      /Nothing passes "zz"\.\nWords: name: state: rpm: /,
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
