/** The page of metrics: sums of what threads have counted, complete, and exactly in Prometheus' format. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DISK_BOUNDS, noDurations, recordDuration } from '../../src/core/durations.ts';
import { NO_PARTS } from '../../src/core/usage.ts';
import { METRICS } from '../../src/metrics/metrics.ts';
import { type GatewayFigures, labelsUpTo, printPage, usd } from '../../src/metrics/page.ts';
import { type CountedEnd, TallyCounter } from '../../src/observe/tally.ts';
import { type ReadMetric, readExposition } from '../support/exposition.ts';

const batch = noDurations(DISK_BOUNDS);
for (const milliseconds of [0.1, 0.11, 4_999, 60_000]) recordDuration(batch, DISK_BOUNDS, milliseconds);

const FIGURES: GatewayFigures = {
  version: '1.2.3',
  threads: 2,
  models: ['mock/echo', 'mock/idle'],
  slotsPerKey: 60,
  inFlight: 3,
  loopDelayMs: { p50: 1, p99: 20, max: 300 },
  upstreams: [
    {
      provider: 'p',
      upstream: 'p#1',
      state: 'open',
      in_flight: 2,
      requests: 0,
      failures: 0,
      last_failure: null,
      causes: [],
    },
  ],
  isFaulty: true,
  isDraining: false,
  stateBytes: { state: 4096, log: 0 },
  account: { balanceNanos: -1_500_000_000n, heldNanos: 1n, keys: [{ keyId: 'key_1', open: 4 }] },
  ledger: { batch, sync: noDurations(DISK_BOUNDS) },
  differences: 2,
};

const END: CountedEnd = {
  model: 'mock/echo',
  keyId: 'key_1',
  outcome: 'ok',
  usage: { promptTokens: 100, cachedTokens: 30, completionTokens: 7 },
  costNanos: 1_000_000n,
  firstByteMs: 25,
  durationMs: 26,
};

function counterOf(...ends: readonly Partial<CountedEnd>[]): TallyCounter {
  const counter = new TallyCounter();
  for (const end of ends) counter.countEnd({ ...END, ...end });
  return counter;
}

async function pageOf(
  counters: readonly TallyCounter[],
  {
    figures = {},
    labels = labelsUpTo(100),
  }: { figures?: Partial<GatewayFigures>; labels?: ReturnType<typeof labelsUpTo> } = {},
): Promise<ReadonlyMap<string, ReadMetric>> {
  // As it comes from another thread.
  const tallies = counters.map(({ tally }) => structuredClone(tally));
  return readExposition(printPage({ ...FIGURES, ...figures }, tallies, labels));
}

/** `a=1,b=2 value` of each sample of a metric. */
function samplesOf(page: ReadonlyMap<string, ReadMetric>, name: string): string[] {
  const lines = page.get(name)?.samples.map(({ labels, value }) => {
    const shown = Object.entries(labels).map(([label, text]) => `${label}=${text}`);
    return `${shown.join()} ${value}`.trim();
  });
  return (lines ?? []).toSorted();
}

describe('the page', () => {
  test('has each metric of the table with its type and labels, and no other', async () => {
    const counter = counterOf({ groups: ['research'] });
    counter.countRefusal('rate_limited', 'concurrency', 'key_1', { kind: 'group', name: 'research' });
    counter.countOverload('memory', 2);
    counter.countResponse(200);
    counter.countAttempt('p#1', 'failed');
    const page = await pageOf([counter]);
    assert.deepEqual(
      [...page.keys()],
      Object.values(METRICS).map(({ name }) => name),
    );
    for (const { name, type, labels, help } of Object.values(METRICS)) {
      const metric = page.get(name);
      assert.deepEqual([metric?.type, metric?.help], [type, help]);
      if (process.platform !== 'linux' && metric?.samples.length === 0) continue;
      const [sample] = metric?.samples ?? [];
      const own = Object.keys(sample?.labels ?? {}).filter((label) => label !== 'le');
      assert.deepEqual(own, labels, name);
    }
  });

  test('has the sums of all threads', async () => {
    const [one, two] = [
      counterOf({}, { outcome: 'upstream_error', costNanos: 0n }),
      counterOf({}, { model: 'a/"b\\c' }),
    ];
    one.countAttempt('p#1', 'ok');
    two.countAttempt('p#1', 'ok');
    two.countAttempt('p#1', 'failed');
    const page = await pageOf([one, two]);
    assert.deepEqual(samplesOf(page, 'inf_gw_requests_total'), [
      'model=a/"b\\c,outcome=ok 1',
      'model=mock/echo,outcome=ok 2',
      'model=mock/echo,outcome=upstream_error 1',
      'model=mock/idle,outcome=ok 0',
    ]);
    assert.deepEqual(samplesOf(page, 'inf_gw_upstream_attempts_total'), [
      'upstream=p#1,result=failed 1',
      'upstream=p#1,result=ok 2',
    ]);
    assert.deepEqual(samplesOf(page, 'inf_gw_cost_usd_total').slice(0, 2), [
      'model=a/"b\\c,outcome=ok 0.001',
      'model=mock/echo,outcome=ok 0.002',
    ]);
  });

  test('has every token under one kind, also where the figures of a host do not add up', async () => {
    const parts = { ...NO_PARTS, cacheWriteTokens: 5, cacheWrite1hTokens: 6 };
    const odd = { promptTokens: 1, cachedTokens: 2, completionTokens: 3 };
    const page = await pageOf([counterOf({ usage: { ...END.usage, parts } }, { model: 'mock/idle', usage: odd })]);
    assert.deepEqual(samplesOf(page, 'inf_gw_tokens_total'), [
      'model=mock/echo,kind=cache_write 11',
      'model=mock/echo,kind=cached_input 30',
      'model=mock/echo,kind=input 59',
      'model=mock/echo,kind=output 7',
      'model=mock/idle,kind=cache_write 0',
      'model=mock/idle,kind=cached_input 2',
      'model=mock/idle,kind=input 0',
      'model=mock/idle,kind=output 3',
    ]);
  });

  test('has durations in seconds; one that equals a bound is below it', async () => {
    const page = await pageOf([counterOf({})]);
    const { samples = [] } = page.get('inf_gw_ledger_batch_seconds') ?? {};
    const counts = samples.map(({ labels, name, value }) => `${labels.le ?? name} ${value}`);
    assert.deepEqual(
      counts.filter((line) => /^(?:0\.0001|0\.00025|2\.5|5|\+Inf|inf_gw.*) /.test(line)),
      [
        '0.0001 1',
        '0.00025 2',
        '2.5 2',
        '5 3',
        '+Inf 4',
        'inf_gw_ledger_batch_seconds_sum 64.99921',
        'inf_gw_ledger_batch_seconds_count 4',
      ],
    );
    const first = page.get('inf_gw_first_byte_seconds')?.samples.filter(({ value }) => value === 1)[0];
    assert.deepEqual(first?.labels, { model: 'mock/echo', le: '0.025' });
  });

  test('has how often the ledger has come to another state than those of other gateways', async () => {
    assert.deepEqual(samplesOf(await pageOf([]), 'inf_gw_ledger_differences_total'), ['2']);
  });

  test('leaves out what it does not know', async () => {
    const page = await pageOf([], { figures: { account: undefined, stateBytes: undefined, differences: undefined } });
    const names = ['balance_usd', 'held_usd', 'state_size_bytes', 'ledger_differences_total'];
    for (const name of names.map((each) => `inf_gw_${each}`)) {
      assert.deepEqual(samplesOf(page, name), []);
    }
  });

  test('has amounts in USD, debts included', async () => {
    const page = await pageOf([]);
    assert.deepEqual(samplesOf(page, 'inf_gw_balance_usd'), ['-1.5']);
    assert.deepEqual(samplesOf(page, 'inf_gw_held_usd'), ['1e-9']);
    // The largest amount of which every nanodollar has a number of its own.
    assert.equal(usd(9_007_199_254_740_993n).toFixed(9), '9007199.254740993');
  });
});

describe('labels of keys', () => {
  const THREE = ['key_1', 'key_2', 'key_3'].map((keyId) => ({ keyId }));

  test('go to the first keys up to the bound; the others are one series', async () => {
    const labels = labelsUpTo(2);
    const page = await pageOf([counterOf(...THREE), counterOf({ keyId: 'key_3' }, { keyId: 'key_4' })], { labels });
    assert.deepEqual(samplesOf(page, 'inf_gw_key_requests_total'), [
      'key_id=key_1 1',
      'key_id=key_2 1',
      'key_id=other 3',
    ]);
    assert.deepEqual(labels.keys.all, ['key_1', 'key_2']);
  });

  test('never change sides, so that no counter falls', async () => {
    const labels = labelsUpTo(1);
    await pageOf([counterOf({ keyId: 'key_2' })], { labels });
    const page = await pageOf([counterOf(...THREE)], { labels });
    assert.deepEqual(samplesOf(page, 'inf_gw_key_requests_total'), ['key_id=key_2 1', 'key_id=other 2']);
  });

  test('are on no page unless they are configured', async () => {
    const page = await pageOf([counterOf(...THREE)], { labels: labelsUpTo(0) });
    assert.deepEqual(samplesOf(page, 'inf_gw_key_requests_total'), []);
  });
});

describe('levels', () => {
  const ZOE = { kind: 'user', name: 'app' } as const;

  test('a request counts for each group around its key, and a refusal for the group that refuses it', async () => {
    const counter = counterOf({ groups: ['nlp', 'research'] }, { groups: ['research'] }, {});
    counter.countRefusal('rate_limited', 'requests_per_minute', 'key_1', { kind: 'group', name: 'research' });
    counter.countRefusal('rate_limited', 'requests_per_minute', 'key_1', ZOE);
    counter.countRefusal('rate_limited', 'requests_per_minute', 'key_1');
    const page = await pageOf([counter]);
    assert.deepEqual(samplesOf(page, 'inf_gw_group_requests_total'), ['group=@nlp 1', 'group=@research 2']);
    assert.deepEqual(samplesOf(page, 'inf_gw_group_tokens_total'), ['group=@nlp 107', 'group=@research 214']);
    assert.deepEqual(samplesOf(page, 'inf_gw_group_cost_usd_total'), ['group=@nlp 0.001', 'group=@research 0.002']);
    assert.deepEqual(samplesOf(page, 'inf_gw_group_refusals_total'), ['group=@nlp 0', 'group=@research 1']);
    assert.deepEqual(
      samplesOf(page, 'inf_gw_refusals_total'),
      ['', 'group', 'user'].map((level) => `code=rate_limited,reason=requests_per_minute,level=${level} 1`),
    );
  });

  test('groups have labels up to the bound, one that is called other among them', async () => {
    const counter = counterOf({ groups: ['other'] }, { groups: ['a'] }, { groups: ['b'] });
    const page = await pageOf([counter], { labels: labelsUpTo(1) });
    assert.deepEqual(samplesOf(page, 'inf_gw_group_requests_total'), ['group=@other 1', 'group=other 2']);
    const none = await pageOf([counter], { labels: labelsUpTo(0) });
    assert.deepEqual(samplesOf(none, 'inf_gw_group_requests_total'), []);
  });
});

test('models and keys beyond the bounds are counted together', () => {
  const counter = new TallyCounter();
  for (let n = 0; n < 10_002; n++) counter.countEnd({ ...END, model: `m/${n}`, keyId: `key_${n}` });
  const { models, keys } = counter.tally;
  assert.deepEqual([models.size, models.get('other')?.outcomes.get('ok')?.requests], [1_001, 9_002]);
  assert.deepEqual([keys.size, keys.get('other')?.requests], [10_001, 2]);
});
