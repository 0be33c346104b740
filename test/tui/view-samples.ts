/** The views on a good day with 5 keys and on a bad one with 500, as pictures of text. */
import { fixedSpend } from '../../src/core/budgets.ts';
import { historySpan } from '../../src/operator/cost-history.ts';
import type { GroupRecord } from '../../src/state/levels.ts';
import { NO_USER_LIMITS } from '../../src/state/levels.ts';
import type { RequestRecord } from '../../src/state/requests.ts';
import {
  type ComparedUsage,
  type Model,
  type StoredGroup,
  type StoredKey,
  VIEWS,
  type View,
} from '../../src/tui/model.ts';
import { plotQuery } from '../../src/tui/plot-query.ts';
import { hasPane } from '../../src/tui/select.ts';
import { type Day, dayOf } from './overview-samples.ts';
import {
  after,
  alone,
  endedRow,
  groupId,
  keyId,
  NOW_MS,
  press,
  requestRow,
  SNAPSHOT,
  STORED,
  screenText,
  second,
  serving,
  storedGroup,
  storedKey,
  storedUser,
  traffic,
  usageRow,
} from './samples.ts';

const USD = 1_000_000_000n;
const MIDNIGHT_MS = Date.UTC(2026, 10, 2);
/** A gateway of which nothing is wrong. */
const QUIET = { ...SNAPSHOT, upstreams: [], seconds: [], minutes: [] };
/** Five rows fill no window, however high it is. */
const SIZES: Readonly<Record<Day, readonly string[]>> = {
  well: ['60x20', '80x24', '120x24', '200x24'],
  wrong: ['60x20', '80x24', '120x40', '200x60'],
};
const NAMES = ['web-shop', 'support-staging-eu', 'search', 'nightly-reports', 'laptop-anna'] as const;
const REASONS = [
  ['upstream_error', 'upstream 401: check the api_key of the provider'],
  ['rate_limited', '60 requests/min, again in 7 s'],
  ['insufficient_credit', 'money spoken for (held 2.18 of 2.32)'],
] as const;

function keys(day: Day): StoredKey[] {
  const count = day === 'well' ? NAMES.length : 500;
  return Array.from({ length: count }, (_, i) => {
    const name = `${NAMES[i % NAMES.length]}${day === 'well' ? '' : `-${i + 1}`}`;
    const isBad = day === 'wrong' && i % 3 === 0;
    const more = {
      spendLimitNanos: i % 2 === 0 ? 20n * USD : null,
      ...(isBad && i % 2 === 1 && { state: 'disabled' as const }),
    };
    const cost = isBad ? 20n * USD : BigInt(i + 1) * 123_456_789n;
    return storedKey(i, name, more, { requests: 40 * (i + 1), tokens: 51_000 * (i + 1), costNanos: cost });
  });
}

/** Why the request with this number failed, on a bad day; undefined if it did not. */
function reasonOf(day: Day, number: number) {
  return day === 'wrong' && number % 2 === 0 ? REASONS[(number / 2) % REASONS.length] : undefined;
}

function row(day: Day, number: number) {
  const reason = reasonOf(day, number);
  const [outcome = 'ok', why] = reason ?? [];
  return endedRow(number, outcome, {
    key_id: keyId(number % NAMES.length),
    upstream: 'openai',
    ...(why !== undefined && { refusal: why }),
  });
}

function record(day: Day, number: number): RequestRecord {
  const [, message] = reasonOf(day, number) ?? [];
  const admittedAtMs = NOW_MS - number * 7_000;
  return {
    id: `req_${String(number).padStart(26, '0')}`,
    keyId: keyId(number % NAMES.length),
    key: NAMES[number % NAMES.length] ?? '',
    model: 'openai/gpt-4o-mini',
    requestedModel: 'openai/gpt-4o-mini',
    admittedAtMs,
    holdNanos: 1_000_000n,
    end: {
      settledAtMs: admittedAtMs + 2_500,
      outcome: message === undefined ? 'ok' : 'upstream_error',
      source: 'reported',
      promptTokens: 1_234,
      cachedTokens: 1_024,
      cacheWriteTokens: 0,
      completionTokens: 56,
      costNanos: 219_000n,
      completionId: `chatcmpl-${number}`,
      firstByteMs: 130,
      upstream: 'openai',
      attempts: 1,
      failure: message === undefined ? undefined : { reason: 'http_status', status: 401, message },
      correctedAtMs: undefined,
    },
  };
}

/** The plot of the row under the cursor: a burn that has stopped, above what a week earlier cost. */
function plotted(model: Model): Model {
  const of = plotQuery(model);
  if (of === undefined) return model;
  const steps = of.range === '24h' ? 24 : of.range === '7d' ? 7 : 30;
  const span = historySpan(
    NOW_MS - steps * (steps === 24 ? 3_600_000 : 86_400_000),
    NOW_MS,
    steps === 24 ? 'hour' : 'day',
  );
  const costs = Array.from({ length: span.steps }, (_, i) =>
    i > 2 && i < 5 ? 9n * USD : BigInt(i % 3) * 400_000_000n,
  );
  const earlier = costs.map((_, i) => 500_000_000n + BigInt(i % 4) * 300_000_000n);
  const history = { span, costs, earlier, droppedDays: [] };
  const burnBy = '92% by key nightly-reports, 92% by user anna, 80% by model openai/gpt-5';
  return after(model, { kind: 'plot', plot: { of, history, burnBy } });
}

/** Columns and rows of a size such as `80x24`. */
function sides(size: string): [columns: number, rows: number] {
  const [columns = 0, rows = 0] = size.split('x').map(Number);
  return [columns, rows];
}

function modelOf(day: Day, size: string): Model {
  const model = dayOf(day, ...sides(size));
  const all = keys(day);
  const { snapshot } = model;
  if (snapshot === undefined) throw new Error('no gateway');
  const number = day === 'well' ? 9 : 120;
  return after(
    model,
    { kind: 'stored', stored: { ...STORED, week: model.stored.week, keys: all } },
    {
      kind: 'snapshot',
      snapshot: {
        ...snapshot,
        live: [requestRow(75), requestRow(4, { key_id: keyId(2) })],
        recent: Array.from({ length: number }, (_, i) => row(day, number - i)),
      },
    },
    {
      kind: 'usage',
      rows: all
        .slice(0, 100)
        .map(({ record: { id, name }, month: { requests, tokens: promptTokens, costNanos } }, index) => ({
          ...usageRow({
            key: name,
            keyId: id,
            requests,
            errors: requests % 7,
            promptTokens,
            completionTokens: requests,
            costNanos,
          }),
          ...courseOf(index, costNanos),
        })),
    },
  );
}

const HOURS = Array.from({ length: 24 }, (_, hour) => hour);
/** Costs by hour, up to now at noon, since when they are much, and what it was a week earlier, in percent. */
const COURSES: readonly {
  readonly costs: readonly number[];
  readonly percent: bigint;
  readonly high?: NonNullable<ComparedUsage['high']>;
}[] = [
  { costs: HOURS.map((hour) => 3 + 2 * Math.sin(hour / 4)), percent: 96n },
  {
    costs: HOURS.map((hour) => (hour < 20 ? 0.2 : 6)),
    percent: 25n,
    high: { sinceMs: NOW_MS - 3 * 3_600_000, untilMs: undefined },
  },
  {
    costs: HOURS.map((hour) => (hour === 9 || hour === 10 ? 24 : 1)),
    percent: 140n,
    high: { sinceMs: NOW_MS - 15 * 3_600_000, untilMs: NOW_MS - 13 * 3_600_000 },
  },
  {
    costs: HOURS.map((hour) => (hour < 22 ? 0 : 5)),
    percent: 0n,
    high: { sinceMs: NOW_MS - 3_600_000, untilMs: undefined },
  },
  { costs: HOURS.map((hour) => hour % 3), percent: 90n },
];

function courseOf(index: number, costNanos: bigint) {
  const { percent = 0n, ...course } = COURSES[index % COURSES.length] ?? {};
  return { ...course, beforeNanos: (costNanos * percent) / 100n };
}

function viewOf(view: View, day: Day, size: string): Model {
  const model = press(modelOf(day, size), String(VIEWS.indexOf(view) + 1)).model;
  switch (view) {
    case 'keys':
    case 'live':
      // On a bad day somebody looks into it, if it is not beside the list anyway.
      if (day === 'well') return model;
      return press(model, 'down', 'down', ...(hasPane(model) ? [] : ['enter'])).model;
    case 'requests': {
      const rows = Array.from({ length: day === 'well' ? 8 : 80 }, (_, i) => record(day, i + 1));
      const next = { admittedAtMs: 0, row: 1n };
      const { search } = model.requests;
      const page = { rows, next: day === 'well' ? undefined : next };
      const read = after(model, { kind: 'requests', search, after: undefined, page });
      return day === 'well' ? read : press(read, 'down', 'enter').model;
    }
    case 'groups':
      return groupsOf(model, day);
    case 'overview':
    case 'usage':
    case 'models':
      return model;
  }
}

const DAY_OF = (limit: bigint, charged: bigint) =>
  fixedSpend({ period: 'day', limitNanos: limit }, charged, MIDNIGHT_MS, NOW_MS);

/** Departments that share a budget, and a free tier whose users have one each; on a bad day some of both are spent. */
function groupsOf(model: Model, day: Day): Model {
  const isBad = day === 'wrong';
  const budget = (limit: bigint) => ({ budgets: [{ period: 'day', limitNanos: limit }] });
  const userLimits = { ...NO_USER_LIMITS, rpm: 5, ...budget(USD / 10n), required: true };
  const research = [DAY_OF(100n * USD, isBad ? 100n * USD : 61n * USD)];
  const groups: readonly StoredGroup[] = [
    {
      ...storedGroup(1, 'research', budget(100n * USD), { requests: 9_120, costNanos: 871n * USD }, research),
      keys: 3,
    },
    storedGroup(2, 'nlp', { groupId: groupId(1), rpm: 600, ...budget(70n * USD) }, { costNanos: 300n * USD }, [
      DAY_OF(70n * USD, isBad ? 66n * USD : 20n * USD),
    ]),
    storedGroup(3, 'vision', { groupId: groupId(1), state: isBad ? 'disabled' : 'enabled' }),
    { ...storedGroup(4, 'free', { userLimits, spendLimitNanos: 500n * USD }, { costNanos: 120n * USD }), keys: 1 },
  ];
  const places = [groupId(2), groupId(3), groupId(1), groupId(4)];
  const keys = model.stored.keys.map((key, index) => {
    const within = { ...key.record, groupId: places[index] ?? null };
    return { ...key, record: within };
  });
  const free = groups[3]?.record as GroupRecord;
  const users = ['acme', 'mallory', 'zoe'].map((name, index) =>
    storedUser(
      free,
      name,
      isBad && index === 1 ? { state: 'disabled' } : index === 2 ? { rpm: 60 } : undefined,
      { requests: 12 * (index + 1), tokens: 4_000, costNanos: BigInt(index + 1) * 30_000_000n },
      [DAY_OF(USD / 10n, BigInt(isBad ? index + 1 : 1) * 33_333_334n)],
    ),
  );
  const stored = after(model, { kind: 'stored', stored: { ...model.stored, keys, groups } });
  // To the free tier, which is the first by name, and then to research and what is in it.
  const free1 = press(stored, 'right').model;
  const read = after(free1, { kind: 'users', ownerId: free.id, after: '', users, hasMore: isBad });
  const down = Array<string>(isBad ? 6 : 5).fill('down');
  const unfolded = press(read, ...down, 'right', 'down', 'right', 'left', 'right').model;
  if (day === 'well') return unfolded;
  return press(unfolded, 'up', ...(hasPane(unfolded) ? [] : ['enter'])).model;
}

/** A day budget that is spent, one that nearly is, and two more bounds that are open. */
const BUDGETED: readonly StoredKey[] = [
  storedKey(1, 'batch-summarizer', { budgets: [{ period: 'day', limitNanos: 2n * USD }] }, { costNanos: 31n * USD }, [
    fixedSpend({ period: 'day', limitNanos: 2n * USD }, 2n * USD, MIDNIGHT_MS, NOW_MS),
  ]),
  storedKey(2, 'web-shop', { spendLimitNanos: 400n * USD }, { costNanos: 310n * USD }),
  storedKey(3, 'trial', {}, { costNanos: 5n * USD }, [
    fixedSpend({ period: 'total', limitNanos: 5n * USD }, 5n * USD, null, NOW_MS),
  ]),
  storedKey(4, 'laptop-anna', {}, { costNanos: 4_000_000n }),
];

/** The cursor is at the group that has spent its daily budget. */
function atSpentGroup(): Model {
  const model = alone('groups', { ...STORED, keys: keys('well') });
  return press(groupsOf(model, 'wrong'), 'escape').model;
}

/** A state that was made a moment ago. */
const FRESH = { ...STORED, balanceNanos: 0n, heldNanos: 0n, keys: [], modelUsage: new Map() };

/** What matters most here, at 80x24 and at 120x40: what is in the way, and until when. */
const MATTERS: Readonly<Record<string, (columns: number, rows: number) => Model>> = {
  'a first run': (columns, rows) => alone('overview', FRESH, { columns, rows }),
  'a first run, served, with a key': (columns, rows) => {
    const keys = [{ ...storedKey(1, 'my-app'), lastUsedMs: undefined }];
    const snapshot = { ...QUIET, in_flight: 0, balance_usd: '0.00', held_usd: '0.00', recent: [], live: [] };
    return after(alone('overview', { ...FRESH, keys }, { columns, rows }), { kind: 'snapshot', snapshot });
  },
  'spent budgets': (columns, rows) => {
    const model = after(serving('keys', QUIET, { columns, rows }), {
      kind: 'stored',
      stored: { ...STORED, keys: BUDGETED },
    });
    return press(model, 'enter').model;
  },
  'a key that its group stops': (columns, rows) => {
    const nlp = storedGroup(2, 'nlp', { groupId: groupId(1) }, {}, [DAY_OF(5n * USD, 5n * USD)]);
    const keys = [
      storedKey(1, 'agent', { groupId: groupId(2) }, { costNanos: 5n * USD }),
      storedKey(2, 'web-shop', {}, { costNanos: 31n * USD }),
    ];
    const stored = { ...STORED, keys, groups: [storedGroup(1, 'research'), nlp] };
    const model = after(serving('keys', QUIET, { columns, rows }), { kind: 'stored', stored });
    return plotted(press(model, 'enter').model);
  },
  'the limits that are reached next': (columns, rows) => {
    const groups = [storedGroup(1, 'nlp', {}, {}, [DAY_OF(27n * USD, 25n * USD)])];
    const keys = [
      storedKey(1, 'web-shop', {}, { costNanos: 9n * USD }, [DAY_OF(20n * USD, 12n * USD)]),
      storedKey(2, 'trial', { spendLimitNanos: 40n * USD }, { costNanos: 11n * USD }),
    ];
    const stored = { ...STORED, keys, groups };
    return after(serving('overview', SNAPSHOT, { columns, rows }), { kind: 'stored', stored });
  },
  'credit about to end': (columns, rows) =>
    serving(
      'overview',
      {
        ...QUIET,
        balance_usd: '0.30',
        held_usd: '0.03',
        ...traffic([second(NOW_MS / 1_000 - 5, { cost_usd: '0.39' })]),
      },
      { columns, rows },
    ),
  'a dead gateway': (columns, rows) =>
    after(
      serving('overview', { ...SNAPSHOT, upstreams: [] }, { columns, rows }),
      { kind: 'disconnected' },
      { kind: 'tick', nowMs: NOW_MS + 30_000 },
    ),
};

/** What looks alike in larger windows. */
const AT_80X24: Readonly<Record<string, () => Model>> = {
  'no gateway': () => alone(),
  'a key that is deleted': () => press(serving('keys'), 'D', 'b', 'a').model,
  'what the end users of a group may do': () => press(atSpentGroup(), 'home', 'U').model,
  'a group that is moved': () => press(atSpentGroup(), 'M').model,
  'a group that is deleted': () => press(atSpentGroup(), 'D').model,
  'the models of a group': () => press(atSpentGroup(), 'm').model,
};

/** All pictures, as `pictures.txt` has them. To draw them again: `node test/tui/draw-pictures.ts`. */
export function drawPictures(): string {
  const pictures: string[] = [];
  const draw = (what: string, size: string, model: Model) =>
    pictures.push(`=== ${what}, ${size}\n${screenText(model)}\n`);
  for (const day of ['well', 'wrong'] as const) {
    for (const size of SIZES.wrong) draw(`overview, all ${day}`, size, dayOf(day, ...sides(size)));
    for (const view of ['keys', 'live', 'requests', 'usage', 'models', 'groups'] as const) {
      const isNarrow = view === 'usage' || view === 'models';
      for (const size of SIZES[day].filter((_, index) => !isNarrow || index % 2 === 0)) {
        draw(`${view}, all ${day}`, size, plotted(viewOf(view, day, size)));
      }
    }
  }
  for (const [what, modelAt] of Object.entries(MATTERS)) {
    for (const size of ['80x24', '120x40']) draw(what, size, modelAt(...sides(size)));
  }
  for (const [what, model] of Object.entries(AT_80X24)) draw(what, '80x24', model());
  return pictures.join('');
}
