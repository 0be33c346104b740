/** What is news: each crossing once, the highest level alone, and no storm while a value wavers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { AlertFacts } from '../../../src/alerts/event.ts';
import {
  endedRefusals,
  judgeMoney,
  judgeRefusals,
  judgeUpstreams,
  LEVELS,
  levelOf,
  QUIET_MS,
  REST_MS,
  RUNWAY_REST_MS,
  SLACK,
  type Verdict,
} from '../../../src/alerts/judge.ts';
import type { AccountMoney, ObservedUpstream, OwnerMoney, RefusedForMoney } from '../../../src/alerts/observation.ts';
import { type BudgetSpend, fixedSpend } from '../../../src/core/budgets.ts';
import type { StoredMark } from '../../../src/state/alerts.ts';

const NOON = Date.UTC(2026, 10, 21, 12);
const MONTH_END = Date.UTC(2026, 11, 1);
const NEXT_MONTH_END = Date.UTC(2027, 0, 1);
const MINUTE = 60_000;
const DAY = 86_400_000;

/** The marks as the state would have them, after what was judged. */
class Told {
  readonly marks = new Map<string, StoredMark>();

  /** Applies the verdicts, and returns what was told. */
  apply(verdicts: readonly Verdict[]): AlertFacts[] {
    for (const { change } of verdicts) {
      assert.equal(change.revision, this.marks.get(change.subject)?.revision ?? 0);
      if (change.mark === undefined) this.marks.delete(change.subject);
      else this.marks.set(change.subject, { ...change.mark, revision: change.revision + 1 });
    }
    return verdicts.flatMap(({ facts }) => facts ?? []);
  }

  money(owners: readonly OwnerMoney[], account?: AccountMoney, nowMs = NOON): AlertFacts[] {
    return this.apply(judgeMoney({ owners, account }, this.marks, nowMs));
  }

  /** The levels that are reported for a key with one budget of 100. */
  levels(spent: number, budget: Partial<BudgetSpend> = {}): (string | null | undefined)[] {
    const spend = { ...month(spent), ...budget };
    return this.money([{ kind: 'key', id: 'key_1', name: 'app', budgets: [spend] }]).map(
      ({ figures }) => figures.level_percent,
    );
  }
}

function month(spent: number, endsAtMs = MONTH_END): BudgetSpend {
  return fixedSpend({ period: 'month', limitNanos: 100n }, BigInt(spent), endsAtMs, NOON);
}

/** Shares of a budget in the order in which they are seen, and the levels that are told. */
const SHARES: readonly (readonly [what: string, spent: readonly number[], told: readonly string[]])[] = [
  ['nothing below the first level', [0, 50, 79], []],
  ['each level once as it is reached', [79, 80, 81, 94, 95, 96, 99, 100, 101], ['80', '95', '100']],
  ['the highest alone where several are reached at once', [10, 97], ['95']],
  ['all of it alone where all are reached at once', [10, 130], ['100']],
  ['nothing more while the share wavers around a level', [80, 79, 80, 78, 81, 76, 80], ['80']],
  ['a level again after the share was well below it', [80, 74, 80], ['80', '80']],
  ['the upper level alone again, while the lower one still counts', [100, 90, 95, 100], ['100', '100']],
  ['all again after the limit was raised and reached again', [100, 20, 100], ['100', '100']],
];

describe('of a budget is told', () => {
  for (const [what, spent, told] of SHARES) {
    test(what, () => {
      const seen = new Told();
      assert.deepEqual(
        spent.flatMap((share) => seen.levels(share)),
        told,
      );
    });
  }

  test('everything again in the next month, and nothing at its beginning', () => {
    const seen = new Told();
    assert.deepEqual(seen.levels(96), ['95']);
    const next = { resetsAtMs: NEXT_MONTH_END };
    assert.deepEqual(seen.levels(0, next), []);
    assert.deepEqual(seen.levels(85, next), ['80']);
    assert.deepEqual(seen.levels(96, next), ['95']);
  });

  test('what is new in a month whose beginning nobody saw', () => {
    const seen = new Told();
    assert.deepEqual(seen.levels(96), ['95']);
    assert.deepEqual(seen.levels(85, { resetsAtMs: NEXT_MONTH_END }), ['80']);
  });

  test('nothing again in a sliding window whose end moves', () => {
    const seen = new Told();
    assert.deepEqual(seen.levels(96, { period: '24h' }), ['95']);
    assert.deepEqual(seen.levels(96, { period: '24h', resetsAtMs: MONTH_END + MINUTE }), []);
  });

  test('each of the budgets of each key by itself', () => {
    const seen = new Told();
    const day = fixedSpend({ period: 'day', limitNanos: 10n }, 10n, NOON + DAY, NOON);
    const told = seen.money([
      { kind: 'key', id: 'key_1', name: 'app', budgets: [day, month(85)] },
      { kind: 'key', id: 'key_2', name: 'other', budgets: [month(10)] },
    ]);
    assert.deepEqual(
      told.map(({ key, severity, figures }) => [key?.name, severity, figures.period, figures.level_percent]),
      [
        ['app', 'critical', 'day', '100'],
        ['app', 'warning', 'month', '80'],
      ],
    );
  });

  test('nothing where the limit is 0, which is set to stop a key', () => {
    assert.deepEqual(new Told().levels(0, { limitNanos: 0n }), []);
  });

  test('it again if it was gone meanwhile', () => {
    const seen = new Told();
    assert.deepEqual(seen.levels(90), ['80']);
    assert.deepEqual(seen.money([]), []);
    assert.equal(seen.marks.size, 0);
    assert.deepEqual(seen.levels(90), ['80']);
  });

  test('the figures as decimal strings, and the end of the period', () => {
    const [facts] = new Told().money([{ kind: 'key', id: 'key_1', name: 'app', budgets: [month(95)] }]);
    assert.deepEqual(facts, {
      kind: 'budget',
      severity: 'warning',
      text: 'the key app has spent 95% of its 0.0000001 USD per month',
      key: { id: 'key_1', name: 'app' },
      figures: {
        period: 'month',
        level_percent: '95',
        spent_usd: '0.000000095',
        limit_usd: '0.0000001',
        resets_at: '2026-12-01T00:00:00.000Z',
      },
    });
  });

  test('of which group it is, each by itself', () => {
    const group = { kind: 'group', id: 'grp_1', name: 'research', budgets: [month(100)] } as const;
    const told = new Told().money([group, { ...group, id: 'grp_2', name: 'nlp', budgets: [month(80)] }]);
    assert.deepEqual(
      told.map(({ text, key, group }) => [text, key, group?.id]),
      [
        ['the group research has spent all of its 0.0000001 USD per month', undefined, 'grp_1'],
        ['the group nlp has spent 80% of its 0.0000001 USD per month', undefined, 'grp_2'],
      ],
    );
  });
});

test('whatever a share does, what is told is the level that it has, and no level twice without a fall well below it', () => {
  const steps = fc.array(fc.integer({ min: 0, max: 120 }), { maxLength: 60 });
  fc.assert(
    fc.property(steps, (shares) => {
      const seen = new Told();
      /** The lowest share since each level was told. */
      const lowest = new Map<number, number>();
      for (const share of shares) {
        for (const [level, low] of lowest) lowest.set(level, Math.min(low, share));
        const told = seen.levels(share).map(Number);
        assert.ok(told.length <= 1);
        const [level] = told;
        if (level === undefined) {
          // Nothing is kept back: the level that the share has is told already.
          const reached = levelOf(BigInt(share), 100n);
          assert.ok(reached === 0 || LEVELS.some((each) => each >= reached && lowest.has(each)));
          continue;
        }
        assert.equal(level, levelOf(BigInt(share), 100n));
        assert.ok((lowest.get(level) ?? -1) < level - SLACK);
        lowest.set(level, share);
      }
    }),
  );
});

const ACCOUNT: AccountMoney = { entry: '1', creditNanos: 100n, balanceNanos: 100n, forecast: undefined };
const ends = (inMs: number) => ({ kind: 'ends', inMs }) as const;

describe('of the account is told', () => {
  test('how much is spent of the credit that there was when some was last added', () => {
    const seen = new Told();
    const levels = (account: Partial<AccountMoney>) =>
      seen.money([], { ...ACCOUNT, ...account }).map(({ figures }) => figures.level_percent);
    assert.deepEqual(levels({ balanceNanos: 21n }), []);
    assert.deepEqual(levels({ balanceNanos: 20n }), ['80']);
    assert.deepEqual(levels({ balanceNanos: -1n }), ['100']);
    assert.deepEqual(levels({ entry: '2', balanceNanos: 99n }), []);
    assert.deepEqual(levels({ entry: '2', balanceNanos: 4n }), ['95']);
  });

  test('once that it ends within a day, and not while the pace wavers', () => {
    const seen = new Told();
    const told = (forecast: AccountMoney['forecast'], nowMs: number, entry = '1') =>
      seen.money([], { ...ACCOUNT, forecast, entry }, nowMs).map(({ kind }) => kind);
    assert.deepEqual(told(ends(DAY), NOON), []);
    assert.deepEqual(told(ends(DAY - 1), NOON), ['runway']);
    assert.deepEqual(told(ends(DAY + 1), NOON), []);
    assert.deepEqual(told(ends(DAY - 1), NOON), []);
    // A quiet night, and the next morning.
    assert.deepEqual(told(ends(10 * DAY), NOON + MINUTE), []);
    assert.deepEqual(told(ends(DAY / 2), NOON + 2 * MINUTE), []);
    assert.deepEqual(told(ends(DAY / 2), NOON + RUNWAY_REST_MS), ['runway']);
    assert.deepEqual(told(ends(DAY / 2), NOON + RUNWAY_REST_MS + MINUTE, '2'), ['runway']);
  });

  test('nothing of a pace that is not known, or where nothing is spent', () => {
    for (const forecast of [undefined, { kind: 'no_spending' }, { kind: 'far' }] as const) {
      assert.deepEqual(new Told().money([], { ...ACCOUNT, forecast }), []);
    }
  });
});

const FINE: ObservedUpstream = {
  upstream: 'openai#2',
  provider: 'openai',
  isOpen: false,
  requests: 10,
  failures: 0,
  recentRequests: 3,
  recentFailures: 0,
  cause: undefined,
};
const OPEN = { ...FINE, isOpen: true, failures: 5, recentFailures: 3, cause: 'status 503' };
const IDLE = { ...FINE, requests: 0, recentRequests: 0 };

/** What is seen of an upstream, minute by minute, and what is told. */
const UPSTREAMS: readonly (readonly [what: string, upstreams: readonly ObservedUpstream[], told: readonly string[]])[] =
  [
    ['nothing while it is fine', [FINE, FINE], []],
    ['once that it is down', [FINE, OPEN, OPEN], ['upstream_down']],
    ['that all of its requests fail, at a closed breaker', [{ ...FINE, requests: 3, failures: 3 }], ['upstream_down']],
    [
      'nothing of a few failures',
      [
        { ...FINE, requests: 2, failures: 2 },
        { ...FINE, failures: 9 },
      ],
      [],
    ],
    ['that it is up once requests succeed again', [OPEN, IDLE, FINE], ['upstream_down', 'upstream_up']],
    ['nothing while nobody asks it', [OPEN, IDLE, IDLE], ['upstream_down']],
    ['nothing while some still fail', [OPEN, { ...FINE, failures: 5, recentFailures: 1 }], ['upstream_down']],
    [
      'one outage in five minutes, however often it comes and goes',
      [OPEN, FINE, OPEN, FINE, OPEN, OPEN],
      ['upstream_down', 'upstream_up', 'upstream_down'],
    ],
  ];

describe('of an upstream is told', () => {
  for (const [what, upstreams, told] of UPSTREAMS) {
    test(what, () => {
      const seen = new Told();
      const verdicts = upstreams.flatMap((upstream, minute) =>
        seen.apply(judgeUpstreams([upstream], seen.marks, NOON + minute * MINUTE)),
      );
      assert.deepEqual(
        verdicts.map(({ kind }) => kind),
        told,
      );
    });
  }

  test('which one it is, and why', () => {
    const [facts] = new Told().apply(judgeUpstreams([OPEN], new Map(), NOON));
    assert.equal(facts?.text, 'the upstream openai#2 is down: status 503');
    assert.equal(facts?.upstream, 'openai#2');
    assert.deepEqual(facts?.figures, { provider: 'openai', requests: '10', failures: '5' });
    assert.ok(REST_MS === 5 * MINUTE);
  });
});

describe('of refusals for money is told', () => {
  const OF_CREDIT: RefusedForMoney = { code: 'insufficient_credit', keyId: 'key_1', requests: 2 };
  const OF_LIMIT: RefusedForMoney = { code: 'spend_limit_reached', keyId: 'key_1', requests: 1 };
  const names = (id: string) => (id === 'key_1' ? 'app' : undefined);
  const see = (seen: Told, refused: readonly RefusedForMoney[], nowMs: number) => [
    ...seen.apply(endedRefusals(seen.marks, nowMs)),
    ...seen.apply(judgeRefusals(refused, seen.marks, nowMs, names)),
  ];

  test('that they begin, and again only after a pause without any', () => {
    const seen = new Told();
    assert.equal(see(seen, [OF_CREDIT], NOON).length, 1);
    let nowMs = NOON;
    for (let i = 0; i < 40; i++) {
      nowMs += QUIET_MS - 1;
      assert.equal(see(seen, [OF_CREDIT], nowMs).length, 0);
    }
    assert.equal(see(seen, [], nowMs + QUIET_MS).length, 0);
    assert.equal(see(seen, [OF_CREDIT], nowMs + QUIET_MS).length, 1);
  });

  test('those for credit once for all keys, those for a limit once for each', () => {
    const seen = new Told();
    const told = see(seen, [OF_CREDIT, OF_LIMIT, { ...OF_LIMIT, keyId: 'key_2' }], NOON);
    assert.deepEqual(
      told.map(({ text, key }) => [text, key?.name]),
      [
        ['2 requests of the key app refused: the credit does not suffice', 'app'],
        ['1 request of the key app refused: a limit on its spending is reached', 'app'],
        ['1 request of the key key_2 refused: a limit on its spending is reached', 'key_2'],
      ],
    );
    assert.deepEqual(see(seen, [{ ...OF_CREDIT, keyId: 'key_2' }], NOON + 1), []);
  });

  test('each only with few writes while they last', () => {
    const seen = new Told();
    see(seen, [OF_CREDIT], NOON);
    const before = seen.marks.get('refused/credit')?.revision ?? 0;
    for (let s = 1; s <= 600; s++) see(seen, [OF_CREDIT], NOON + s * 1_000);
    assert.ok((seen.marks.get('refused/credit')?.revision ?? 0) <= before + 2);
  });
});
