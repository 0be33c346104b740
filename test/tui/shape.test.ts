/** Whatever it shows, the screen has exactly its rows, none too wide, and nothing moves the cursor. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import stringWidth from 'string-width';
import type { Snapshot } from '../../src/control/protocol.ts';
import { wrap } from '../../src/operator/text.ts';
import { MIN_COLUMNS, MIN_ROWS } from '../../src/tui/components/dashboard.ts';
import { type Model, type Stored, VIEWS } from '../../src/tui/model.ts';
import { anyText } from '../support/any-text.ts';
import { runs, testAtLength } from '../support/at-length.ts';
import { testModel } from '../support/models.ts';
import {
  after,
  alone,
  endedRow,
  keyId,
  letters,
  press,
  requestRow,
  SNAPSHOT,
  STORED,
  screenText,
  storedGroup,
  storedKey,
  USAGE,
  usageRow,
} from './samples.ts';

const SMALLEST = { columns: 60, rows: 16 };
const LARGEST = { columns: 160, rows: 50 };
const ENDS = [SMALLEST, LARGEST];
const SIZES = [SMALLEST, { columns: 80, rows: 24 }, { columns: 100, rows: 30 }, LARGEST];

const HOSTILE_NAMES: Readonly<Record<string, string>> = {
  'escape sequences': '\u001b[2J\u001b[31;5mred\u001b]0;title\u0007',
  'control characters': 'a\u0000b\rc\nd\te\u009b1m\u0085\u007f',
  'wide characters': '漢字かな交じり文'.repeat(8),
  'half a hundred combining marks': `e${'\u0301\u0489'.repeat(32)}`,
  'marks without a base character': '\u0301\u20dd\u0903',
  'right-to-left text': 'שלום עולם العربية',
  'overridden text directions': '\u202eabc\u202d\u2066def\u2069\u200f',
  'line separators': 'one\u2028two\u2029three',
  '64 emoji': '👩‍👩‍👧‍👦'.repeat(64),
  'flags and skins': '🇨🇭🇺🇳👍🏽🏿❤️1️⃣'.repeat(8),
  'parts of syllables': '각힣ᄀᆨก็ำनी'.repeat(5),
  'halves of characters': '\ud83d\udc00\ud800',
  'characters of no width': '\u200b\u200d\ufeff\u00ad\u2060',
};

function storedWith(name: string): Stored {
  const own = { allowlist: [`mock/${name}`], spendLimitNanos: 5n };
  return {
    ...STORED,
    tierName: name,
    keys: [storedKey(1, name, own, { requests: 9 }), ...STORED.keys.slice(1)],
    groups: [storedGroup(1, name)],
    models: [...STORED.models, testModel(`mock/${name}`, { upstream: name, provider: name })],
  };
}

function snapshotWith(name: string): Snapshot {
  const failure = { at_ms: 0, message: name };
  return {
    ...SNAPSHOT,
    upstreams: [
      {
        provider: name,
        upstream: name,
        state: 'closed',
        in_flight: 1,
        requests: 5,
        failures: 0,
        last_failure: null,
        causes: [],
      },
      {
        provider: `${name}2`,
        upstream: `${name}2`,
        state: 'open',
        in_flight: 1,
        requests: 5,
        failures: 1,
        last_failure: failure,
        causes: [],
      },
    ],
    live: [requestRow(1, { model: name, provider: name })],
    recent: [endedRow(1, name, { model: name, key_id: name })],
  };
}

function modelsWith(name: string, size: { columns: number; rows: number }): Model[] {
  const rows = [usageRow({ key: name, model: name, requests: 1 })];
  const gateway = { kind: 'snapshot', snapshot: snapshotWith(name) } as const;
  return VIEWS.flatMap((view) => {
    const model = after(alone(view, storedWith(name), size), gateway, { kind: 'usage', rows });
    return [model, after(press(model, 'home', 'enter').model, { kind: 'outcome', text: name, tone: 'bad' })];
  });
}

/** The dialogs, opened over a key of that name. */
function dialogsWith(name: string, size: { columns: number; rows: number }): Model[] {
  const keys = alone('keys', { ...storedWith(name), keys: [storedKey(1, name)] }, size);
  const live = after(alone('live', STORED, size), { kind: 'snapshot', snapshot: snapshotWith(name) });
  return [
    ...['?', '+', 'n', 'l', 'm', 'd', 'r', 'D'].map((key) => press(keys, key).model),
    press(keys, 'D', ...letters(name)).model,
    press(keys, 'n', ...letters(name), 'down', ...letters(name), 'enter').model,
    press(keys, '/', ...letters(name)).model,
    press(live, 'x').model,
    after(keys, { kind: 'key_created', name, secret: `sk-inf-${'x'.repeat(43)}` }),
  ];
}

function assertShape(model: Model): void {
  const lines = screenText(model).split('\n');
  assert.equal(lines.length, model.rows);
  for (const line of lines) {
    assert.ok(stringWidth(line) <= model.columns, JSON.stringify(line));
    assert.doesNotMatch(line, /[\p{C}\p{Zl}\p{Zp}]/u);
  }
}

const CONDITIONS: Readonly<Record<string, readonly [stored: Stored, snapshot: Snapshot | undefined]>> = {
  'no gateway': [STORED, undefined],
  'a gateway': [STORED, SNAPSHOT],
  'a gateway that has just begun': [STORED, { ...SNAPSHOT, seconds: [], busiest: [], keys: [], live: [], recent: [] }],
  'a gateway that shuts down': [STORED, { ...SNAPSHOT, draining: true }],
  'a gateway that cannot write': [STORED, { ...SNAPSHOT, storage_fault: 'database or disk is full\n'.repeat(9) }],
  'no keys and no models': [{ ...STORED, keys: [], models: [] }, SNAPSHOT],
  '10,000 keys': [
    { ...STORED, keys: Array.from({ length: 10_000 }, (_, i) => storedKey(i, `key-${i}`)) },
    { ...SNAPSHOT, live: Array.from({ length: 500 }, (_, i) => requestRow(i, { key_id: keyId(i) })) },
  ],
  'figures as large as they can be': [
    {
      ...STORED,
      balanceNanos: -(10n ** 18n),
      heldNanos: 10n ** 18n,
      keys: [
        storedKey(
          1,
          'large',
          { rpm: 1e9, tpm: 1e12, concurrency: 1e9, spendLimitNanos: 10n ** 18n },
          { requests: 1e15, tokens: 1e15, costNanos: 10n ** 18n },
        ),
      ],
    },
    {
      ...SNAPSHOT,
      busiest: [{ id: keyId(1), requests: 1e9, tokens: 1e12, open: 1e9, usd_per_min: '0.00', refused: 0, history: [] }],
      in_flight: 1e9,
    },
  ],
};

describe('the screen keeps its shape', () => {
  for (const size of SIZES) {
    for (const [what, [stored, snapshot]] of Object.entries(CONDITIONS)) {
      const testIt = size === SMALLEST ? test : testAtLength;
      testIt(`with ${what}, at ${size.columns} by ${size.rows}`, () => {
        for (const view of VIEWS) {
          const first = after(alone(view, stored, size), { kind: 'usage', rows: USAGE });
          const model = snapshot === undefined ? first : after(first, { kind: 'snapshot', snapshot });
          for (const keys of [[], ['enter'], ['end', 'enter'], ['?']]) assertShape(press(model, ...keys).model);
        }
      });
    }
  }
  // Those in between are among the sizes of any names, below.
  for (const size of ENDS) {
    for (const [what, name] of Object.entries(HOSTILE_NAMES)) {
      const testIt = size === SMALLEST ? test : testAtLength;
      testIt(`with ${what} for names, at ${size.columns} by ${size.rows}`, () => {
        for (const model of [...modelsWith(name, size), ...dialogsWith(name, size)]) assertShape(model);
      });
    }
  }

  test('with any names, at any size', () => {
    const sizes = fc.record({ columns: fc.integer({ min: 1, max: 170 }), rows: fc.integer({ min: 1, max: 60 }) });
    fc.assert(
      fc.property(sizes, anyText(70), (size, name) => {
        for (const model of [...modelsWith(name, size), ...dialogsWith(name, size)]) assertShape(model);
      }),
      { numRuns: runs(8) },
    );
  });
});

describe('a window that is too small', () => {
  for (const [columns, rows] of [
    [MIN_COLUMNS - 1, 24],
    [80, MIN_ROWS - 1],
    [20, 5],
    [12, 3],
    [1, 1],
  ] as const) {
    test(`of ${columns} by ${rows} says so in its lines, as far as there is room`, () => {
      const model = alone('keys', STORED, { columns, rows });
      const text = `The window is ${columns} by ${rows}; inf-gw needs 60 by 16.`;
      assert.equal(screenText(model).trimEnd(), wrap(text, columns).slice(0, rows).join('\n'));
      assertShape(model);
    });
  }

  test('shows everything again once it is large enough', () => {
    const model = after(alone('keys', STORED, { columns: 10, rows: 3 }), { kind: 'resize', columns: 60, rows: 16 });
    assert.match(screenText(model), /batch-jobs/);
  });
});
