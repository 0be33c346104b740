/**
 * The monitor of a worker: requests that open, end, are dropped, refused and stopped, and the
 * health of upstreams.
 */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import type { Outcome } from '../../../src/core/settlement.ts';
import { type LiveRequest, Monitor, type RequestEnd, type UpstreamFacts } from '../../../src/observe/monitor.ts';
import { EVERYTHING } from '../../../src/observe/worker-snapshot.ts';

const NOW_MS = Date.UTC(2026, 10, 1);
const USED = { promptTokens: 30, cachedTokens: 0, completionTokens: 12 };

interface Request extends LiveRequest {
  readonly stopped: number;
}

function request(id: string, more: Partial<LiveRequest> = {}): Request {
  const state = { stopped: 0 };
  return {
    id,
    keyId: 'key_1',
    model: 'mock/echo',
    stream: true,
    admittedAtMs: NOW_MS - 1_000,
    figures: () => ({ usage: USED, source: 'counted', costNanos: 150_000n, firstByteMs: 40 }),
    served: () => undefined,
    stop: () => {
      state.stopped++;
    },
    get stopped() {
      return state.stopped;
    },
    ...more,
  };
}

function end(outcome: Outcome, more: Partial<RequestEnd> = {}): RequestEnd {
  return {
    outcome,
    usage: USED,
    source: 'reported',
    costNanos: 1_000_000n,
    firstByteMs: 50,
    served: undefined,
    ...more,
  };
}

/** A request comes, and ends at once. */
function endNow(monitor: Monitor, id: string, outcome: Outcome): void {
  const live = request(id);
  const place = monitor.open(live);
  monitor.countEnded(live, end(outcome));
  monitor.close(place);
}

const REFUSAL = {
  keyId: 'key_1',
  model: 'mock/echo',
  code: 'rate_limited',
  reason: 'concurrency',
  cause: 'a cause',
} as const;

const IDLE_LOOP = { p50: 0, p99: 0, max: 0 };

/** A monitor of a worker with these upstreams, no requests in flight and an idle event loop. */
function monitorOf(upstreams: readonly UpstreamFacts[] = []): Monitor {
  return new Monitor({ upstreams: () => upstreams, inFlight: () => 0, loopDelay: () => IDLE_LOOP });
}

const REFUSED = { cause: 'not_connected', message: 'refused' };

const ids = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

beforeEach(() => mock.timers.enable({ apis: ['Date'], now: NOW_MS }));
afterEach(() => mock.timers.reset());

describe('a request', () => {
  test('in flight is shown with what it has used so far', () => {
    const monitor = monitorOf();
    let completionTokens = 0;
    const figures = () => ({
      usage: { ...USED, completionTokens },
      source: 'counted' as const,
      costNanos: BigInt(completionTokens),
      firstByteMs: undefined,
    });
    monitor.open(request('req_1', { figures }));
    completionTokens = 7;
    assert.deepEqual(monitor.snapshot(EVERYTHING).live, [
      {
        id: 'req_1',
        key_id: 'key_1',
        model: 'mock/echo',
        provider: 'mock',
        stream: true,
        admitted_at_ms: NOW_MS - 1_000,
        source: 'counted',
        prompt_tokens: 30,
        completion_tokens: 7,
        cost_usd: '0.000000007',
      },
    ]);
    assert.equal(monitor.snapshot(EVERYTHING).live.length, 1);
  });

  test('that has ended is shown with its outcome, and counted once', () => {
    const monitor = monitorOf();
    endNow(monitor, 'req_1', 'ok');
    const { live, recent, seconds } = monitor.snapshot(EVERYTHING);
    assert.deepEqual(live, []);
    assert.equal(recent.length, 1);
    const [row] = recent;
    assert.deepEqual(
      [row?.outcome, row?.ended_at_ms, row?.source, row?.first_byte_ms, row?.cost_usd],
      ['ok', NOW_MS, 'reported', 50, '0.001000'],
    );
    assert.deepEqual([seconds[0]?.requests, seconds[0]?.tokens, seconds[0]?.costNanos], [1, 42, 1_000_000n]);
  });

  test('that could not be settled is forgotten, and not counted', () => {
    const monitor = monitorOf();
    monitor.close(monitor.open(request('req_1')));
    const nothing = { seconds: [], minutes: [], keys: [], live: [], recent: [], upstreams: [] };
    assert.deepEqual(monitor.snapshot(EVERYTHING), { inFlight: 0, loopDelay: IDLE_LOOP, ...nothing });
  });

  test('that was refused is shown with its error, and not counted as a request of an upstream', () => {
    const monitor = monitorOf();
    monitor.refuse({ ...REFUSAL, id: 'req_1' });
    const { recent, seconds, upstreams } = monitor.snapshot(EVERYTHING);
    const [row] = recent;
    assert.deepEqual(
      [row?.outcome, row?.refusal, row?.provider, row?.cost_usd, row?.ended_at_ms],
      ['rate_limited', 'a cause', '', '0.00', NOW_MS],
    );
    assert.deepEqual([seconds[0]?.requests, seconds[0]?.errors], [0, new Map([['rate_limited', 1]])]);
    assert.deepEqual(upstreams, []);
  });

  test('that is stopped is shown until it has ended', () => {
    const monitor = monitorOf();
    const [one, other] = [request('req_1'), request('req_2')];
    monitor.open(one);
    monitor.open(other);
    assert.equal(monitor.stop('req_1'), true);
    assert.deepEqual([one.stopped, other.stopped, monitor.snapshot(EVERYTHING).live.length], [1, 0, 2]);
  });

  test('that is not in flight cannot be stopped', () => {
    const monitor = monitorOf();
    const one = request('req_1');
    monitor.close(monitor.open(one));
    assert.deepEqual([monitor.stop('req_1'), monitor.stop('req_9'), one.stopped], [false, false, 0]);
  });

  for (const [outcome, errors] of [
    ['ok', 0],
    ['cancelled', 0],
    ['upstream_error', 1],
    ['internal_error', 1],
  ] as const) {
    test(`that ended with ${outcome} counts as ${errors} errors`, () => {
      const monitor = monitorOf();
      endNow(monitor, 'req_1', outcome);
      assert.deepEqual(
        [...(monitor.snapshot(EVERYTHING).seconds[0]?.errors ?? [])],
        errors === 0 ? [] : [[outcome, 1]],
      );
    });
  }
});

describe('a snapshot', () => {
  test('has the last two hundred ended requests, the latest last', () => {
    const monitor = monitorOf();
    for (let number = 0; number < 250; number++) {
      const id = `req_${number}`;
      if (number % 2 === 0) endNow(monitor, id, 'ok');
      else monitor.refuse({ ...REFUSAL, id });
    }
    const { recent } = monitor.snapshot(EVERYTHING);
    assert.deepEqual([recent.length, recent[0]?.id, recent.at(-1)?.id], [200, 'req_50', 'req_249']);
  });

  test('has what keys were charged and refused in the last minute, those that it asks for included', () => {
    const monitor = monitorOf();
    endNow(monitor, 'req_1', 'ok');
    mock.timers.setTime(NOW_MS + 5_000);
    endNow(monitor, 'req_2', 'upstream_error');
    monitor.refuse({ ...REFUSAL, id: 'req_3', keyId: 'key_2' });
    const older = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert.deepEqual(monitor.snapshot(EVERYTHING).keys, [
      { keyId: 'key_1', spentNanos: [...older, 1_000_000, 1_000_000], refused: 0 },
      { keyId: 'key_2', spentNanos: [...older, 0, 0], refused: 1 },
    ]);
    mock.timers.setTime(NOW_MS + 60_000);
    const { keys } = monitor.snapshot({ ...EVERYTHING, keyIds: ['key_2'] });
    assert.deepEqual(
      keys.map(({ keyId, spentNanos, refused }) => [keyId, spentNanos[0], refused]),
      [
        ['key_2', 0, 1],
        ['key_1', 1_000_000, 0],
      ],
    );
    mock.timers.setTime(NOW_MS + 70_000);
    assert.deepEqual(monitor.snapshot(EVERYTHING).keys, []);
  });

  test('has the five hundred oldest requests in flight, the oldest first', () => {
    const monitor = monitorOf();
    const places = Array.from({ length: 600 }, (_, number) => {
      return monitor.open(request(`req_${number}`, { admittedAtMs: NOW_MS + number }));
    });
    monitor.close(places[0] as number);
    monitor.open(request('req_600', { admittedAtMs: NOW_MS + 600 }));
    const { live } = monitor.snapshot(EVERYTHING);
    assert.deepEqual([live.length, live[0]?.id, live.at(-1)?.id], [500, 'req_1', 'req_500']);
  });

  test('begins where the query says', () => {
    const monitor = monitorOf();
    monitor.refuse({ ...REFUSAL, id: 'req_1' });
    mock.timers.setTime(NOW_MS + 5_000);
    monitor.refuse({ ...REFUSAL, id: 'req_2' });
    const { seconds, recent } = monitor.snapshot({ ...EVERYTHING, sinceS: NOW_MS / 1_000 + 1 });
    assert.equal(seconds.length, 1);
    assert.deepEqual(ids(recent), ['req_1', 'req_2']);
    const minutes = (minutesSinceS: number) => monitor.snapshot({ ...EVERYTHING, minutesSinceS }).minutes;
    assert.deepEqual([seconds.length, minutes(0).length, minutes(NOW_MS / 1_000 + 60).length], [1, 1, 0]);
    assert.deepEqual(minutes(Number.POSITIVE_INFINITY), []);
    const later = monitor.snapshot({ ...EVERYTHING, endedSinceMs: NOW_MS + 5_000 });
    assert.deepEqual([later.seconds.length, ids(later.recent)], [2, ['req_2']]);
  });

  test('makes no more rows than the query asks for: the oldest in flight, the latest ended', () => {
    const monitor = monitorOf();
    const made: string[] = [];
    for (let number = 0; number < 20; number++) {
      const id = `req_${number}`;
      const { figures } = request(id);
      const place = monitor.open(
        request(id, {
          figures: () => {
            made.push(id);
            return figures();
          },
        }),
      );
      if (number >= 10) continue;
      monitor.countEnded(request(id), end('ok'));
      monitor.close(place);
    }
    const some = monitor.snapshot({ ...EVERYTHING, maxLive: 3, maxEnded: 2 });
    assert.deepEqual([ids(some.live), ids(some.recent)], [made, ['req_8', 'req_9']]);
    assert.deepEqual(made, ['req_10', 'req_11', 'req_12']);
    const none = monitor.snapshot({ ...EVERYTHING, maxLive: 0, maxEnded: 0 });
    assert.deepEqual([none.live, none.recent, made.length], [[], [], 3]);
  });
});

describe('an upstream', () => {
  const FACTS = [
    { provider: 'mock', name: 'mock', state: 'closed' },
    { provider: 'openai', name: 'openai#1', state: 'open' },
  ] as const;
  const at = (upstream: string) => () => ({ model: 'mock/echo', upstream, attempts: 1 });

  test('is shown with its requests in flight, its attempts, and its failures', () => {
    const monitor = monitorOf(FACTS);
    monitor.open(request('req_1', { served: at('mock') }));
    monitor.open(request('req_2', { served: at('openai#1') }));
    monitor.open(request('req_3'));
    monitor.countAttempt('mock', undefined);
    monitor.countAttempt('mock', REFUSED);
    const last = { at_ms: NOW_MS, message: 'refused' };
    const none = { requests: 0, failures: 0, last_failure: null, causes: [] };
    const causes = [{ ...last, cause: 'not_connected', count: 1 }];
    const counts = { requests: 2, failures: 1, last_failure: last, causes };
    assert.deepEqual(monitor.snapshot(EVERYTHING).upstreams, [
      { provider: 'mock', upstream: 'mock', state: 'closed', in_flight: 1, ...counts },
      { provider: 'openai', upstream: 'openai#1', state: 'open', in_flight: 1, unasked: true, ...none },
    ]);
  });

  test('has counts of the last minute, causes of the last hour, and keeps its last failure', () => {
    const monitor = monitorOf(FACTS);
    monitor.countAttempt('mock', REFUSED);
    mock.timers.setTime(NOW_MS + 60_000);
    assert.equal(monitor.snapshot(EVERYTHING).upstreams[0]?.failures, 1);
    mock.timers.setTime(NOW_MS + 61_000);
    const [health] = monitor.snapshot(EVERYTHING).upstreams;
    assert.deepEqual([health?.requests, health?.failures, health?.causes[0]?.count], [0, 0, 1]);
    mock.timers.setTime(NOW_MS + 3_600_000);
    assert.deepEqual(monitor.snapshot(EVERYTHING).upstreams[0]?.causes, []);
    assert.deepEqual(health?.last_failure, { at_ms: NOW_MS, message: 'refused' });
  });
});
