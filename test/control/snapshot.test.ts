/**
 * Snapshots under real traffic: the figures of all threads match the journal, and contain no
 * secrets.
 */
import assert from 'node:assert/strict';
import { renameSync, statSync } from 'node:fs';
import { describe, test } from 'node:test';
import { followGateway } from '../../src/control/client.ts';
import type { Snapshot, TrafficRow } from '../../src/control/protocol.ts';
import { formatUsd } from '../../src/core/money.ts';
import { VERSION } from '../../src/core/program.ts';
import type { SnapshotQuery } from '../../src/observe/worker-snapshot.ts';
import { chunk, completion, DONE, usageChunk } from '../support/answers.ts';
import { CONCURRENCY } from '../support/cli.ts';
import {
  type ClientStream,
  CREDIT_NANOS,
  Place,
  type TestKey,
  UPSTREAM_HEADER,
  UPSTREAM_KEY,
} from '../support/place.ts';
import { bounded, until } from '../support/wait.ts';

/** Enough that the chance of one of three threads getting none is below one in a million. */
const ANSWERED = 40;
const STREAMS = 12;
const FAILED = 5;
const PROMPT = 'prompt-canary-1234';
const ANSWER = 'answer-canary-5678';
const asking = (text: string) => ({ messages: [{ role: 'user', content: text }] });

const sum = (seconds: readonly TrafficRow[], read: (second: TrafficRow) => number) =>
  seconds.reduce((total, second) => total + read(second), 0);

/** What seconds or minutes add up to. */
function totalsOf(rows: readonly TrafficRow[]) {
  const spent = sum(rows, ({ cost_usd }) => Math.round(Number(cost_usd) * 1e9));
  const requests = sum(rows, (row) => row.requests);
  const tokens = sum(rows, (row) => row.tokens);
  const firstBytes = sum(rows, ({ first_byte }) => first_byte.reduce((total, count) => total + count, 0));
  return { spent, requests, tokens, firstBytes, errors: errorsOf(rows) };
}

function errorsOf(seconds: readonly TrafficRow[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const { errors } of seconds) {
    for (const [code, count] of Object.entries(errors)) total[code] = (total[code] ?? 0) + count;
  }
  return total;
}

/** Scripts answers, streams that stay open, and an error for prompts with `/fail`. */
function script(place: Place): void {
  place.upstream.follow((call) => {
    if (call.body.includes('/fail')) return call.answer(500, { error: { message: ANSWER } });
    if (!JSON.parse(call.body).stream) return call.answer(200, completion(ANSWER));
    call.stream();
    call.send(chunk(`${ANSWER} `));
  });
}

/** Ends all open streams, with the usual usage. */
function endStreams(place: Place): void {
  for (const call of place.upstream.calls.filter(({ body }) => JSON.parse(body).stream)) {
    call.send(chunk('end', 'stop') + usageChunk() + DONE);
    call.end();
  }
}

interface Traffic {
  readonly busy: TestKey;
  readonly other: TestKey;
  readonly streams: readonly ClientStream[];
}

async function makeTraffic(place: Place): Promise<Traffic> {
  const [busy, other, third] = [place.key(), place.key(), place.key({ rpm: 1 })];
  const repeat = <T>(times: number, work: () => Promise<T>) => Promise.all(Array.from({ length: times }, work));
  const answered = await repeat(ANSWERED, () => place.outcome(busy, asking(PROMPT)));
  assert.deepEqual(new Set(answered), new Set(['200']));
  const failed = await repeat(FAILED, () => place.outcome(other, asking('/fail')));
  assert.deepEqual(new Set(failed), new Set(['502 upstream_error']));
  assert.equal(await place.outcome(other, { model: 'host/none' }), '404 model_not_found');
  assert.equal(await place.outcome(other, { messages: [] }), '400 invalid_request');
  assert.deepEqual([await place.outcome(third), await place.outcome(third)], ['200', '429 rate_limited']);
  const nobody = { id: 'nobody', secret: 'sk-inf-nobody' };
  assert.equal(await place.outcome(nobody, asking(PROMPT)), '401 invalid_api_key');
  const streams = await repeat(STREAMS, () => place.stream(other, asking(PROMPT)));
  return { busy, other, streams };
}

function assertProcessFigures(place: Place, snapshot: Snapshot, threads: number): void {
  const { version, pid, address, state_path, config_path, state_bytes, log_bytes, memory_bytes } = snapshot;
  assert.deepEqual([version, `http://${address}`, snapshot.threads], [VERSION, place.serving.url, threads]);
  assert.equal(pid, place.serving.pid);
  assert.deepEqual([state_path, config_path], [place.statePath, `${place.directory}/config.yaml`]);
  assert.equal(state_bytes, statSync(state_path).size);
  assert.ok(log_bytes > 0 && memory_bytes > 10_000_000);
  assert.ok(snapshot.started_at_ms <= snapshot.now_ms);
  assert.deepEqual([snapshot.draining, snapshot.storage_fault, snapshot.credit_enforced], [false, null, true]);
  const { p50, p99, max } = snapshot.loop_delay_ms;
  assert.ok(0 <= p50 && p50 <= p99 && p99 <= max);
}

for (const threads of [1, 3]) {
  describe(`the snapshot of a gateway with ${threads} threads`, { concurrency: CONCURRENCY }, () => {
    test('adds up to what was sent, and agrees with the journal on each request', async (t) => {
      const place = await Place.open(t, { threads });
      script(place);
      const { busy, other, streams } = await makeTraffic(place);
      const snapshot = await place.snapshot([other.id, 'key_unknown']);
      assertProcessFigures(place, snapshot, threads);

      const { seconds, upstreams, live, recent } = snapshot;
      const ended = ANSWERED + FAILED + 1;
      assert.equal(
        sum(seconds, ({ requests }) => requests),
        ended,
      );
      assert.equal(
        sum(seconds, ({ tokens }) => tokens),
        15 * (ANSWERED + 1),
      );
      assert.equal(
        sum(seconds, ({ first_byte }) => first_byte.reduce((total, count) => total + count, 0)),
        ended,
      );
      const refused = { model_not_found: 1, invalid_request: 1, rate_limited: 1 };
      assert.deepEqual(errorsOf(seconds), { upstream_error: FAILED, ...refused });
      const spent = sum(seconds, ({ cost_usd }) => Math.round(Number(cost_usd) * 1e9));
      assert.equal(spent, (ANSWERED + 1) * 20_000_000);
      assert.equal(snapshot.balance_usd, formatUsd(CREDIT_NANOS - BigInt(spent)));
      const held = place.database.prepare('SELECT sum(hold_nanos) FROM holds').pluck().safeIntegers().get() as bigint;
      assert.equal(snapshot.held_usd, formatUsd(held));
      assert.equal(snapshot.in_flight, STREAMS);

      assert.deepEqual(snapshot.minutes, []);
      const asked = await place.ask('GET', `/snapshot?minutes_since_s=${seconds[0]?.at_s ?? 0}`);
      const { minutes } = JSON.parse(asked.text) as Snapshot;
      for (const rows of [minutes, await firstMinutes(place)]) {
        assert.deepEqual(totalsOf(rows), totalsOf(seconds));
        assert.ok(rows.every(({ at_s: atS }) => atS % 60 === 0) && rows.length <= 2);
      }

      const [health] = upstreams;
      assert.equal(upstreams.length, 1);
      assert.deepEqual(
        health?.causes.map(({ cause, count }) => [cause, count]),
        [['5xx', FAILED]],
      );
      assert.deepEqual(
        [health?.provider, health?.in_flight, health?.requests, health?.failures],
        ['host', STREAMS, ended, FAILED],
      );
      assert.match(health?.last_failure?.message ?? '', /answered 500/);
      assert.deepEqual(live.map(({ id }) => id).toSorted(), streams.map(({ id }) => id).toSorted());
      assert.ok(live.every(({ key_id, model, stream }) => key_id === other.id && model === 'host/model' && stream));
      assert.deepEqual(
        [snapshot.busiest[0]?.id, snapshot.busiest[0]?.requests, snapshot.busiest[0]?.open],
        [busy.id, ANSWERED, 0],
      );
      const [dearest, second, third, ...others] = snapshot.busiest;
      assert.deepEqual([dearest?.usd_per_min, dearest?.refused], [formatUsd(BigInt(ANSWERED) * 20_000_000n), 0]);
      assert.equal(
        dearest?.history.reduce((total, nanos) => total + nanos),
        ANSWERED * 20_000_000,
      );
      assert.deepEqual([second?.usd_per_min, second?.requests, second?.refused], ['0.02', 1, 1]);
      assert.deepEqual([third?.id, third?.usd_per_min, third?.refused, others], [other.id, '0.00', 2, []]);
      assert.deepEqual(snapshot.keys, [{ ...third, requests: FAILED + STREAMS, open: STREAMS, history: [] }]);
      assert.equal(recent.length, ended + 3);
      const causes = new Map(recent.map(({ outcome, refusal }) => [outcome, refusal]));
      assert.match(causes.get('rate_limited') ?? '', /^\d+ requests?(?:\/min, again in \d+ s| at once)$/);
      assert.equal(causes.get('model_not_found'), 'model not found');
      const times = recent.map(({ ended_at_ms }) => ended_at_ms ?? 0);
      assert.deepEqual(
        times,
        times.toSorted((a, b) => a - b),
      );

      endStreams(place);
      await Promise.all(streams.map((stream) => stream.rest()));
      await until(async () => (await place.snapshot()).in_flight === 0);
      const after = await place.snapshot();
      assert.deepEqual([after.live, after.held_usd, after.upstreams[0]?.in_flight], [[], '0.00', 0]);
      for (const row of after.recent.filter(({ provider }) => provider !== '')) {
        const stored = await place.row(row.id);
        assert.deepEqual(
          [row.key_id, row.model, row.outcome, row.source, row.prompt_tokens, row.completion_tokens, row.cost_usd],
          [
            stored.key_id,
            stored.model,
            stored.outcome,
            stored.source,
            stored.prompt_tokens,
            stored.completion_tokens,
            formatUsd(BigInt(stored.cost_nanos)),
          ],
        );
      }
      await place.stop();
    });

    test('is available while the gateway drains, and its feed ends with the gateway', async (t) => {
      const place = await Place.open(t, { threads });
      script(place);
      const key = place.key();
      await Promise.all(Array.from({ length: ANSWERED }, () => place.outcome(key)));
      const stream = await place.stream(key);
      const fed: Snapshot[] = [];
      const ended = new Promise<void>((resolve) => {
        followGateway(place.socketPath, {}, { onSnapshot: (each) => fed.push(each), onEnd: resolve });
      });
      await until(() => fed.length > 0);
      place.serving.signal('SIGTERM');
      await bounded(place.serving.logged(/shutting down, .* 1 request in flight/), 'the drain');
      await until(() => fed.at(-1)?.draining === true && fed.at(-1)?.in_flight === 1);
      const { draining, in_flight, live, seconds, recent } = await place.snapshot();
      assert.deepEqual([draining, in_flight, live.map(({ id }) => id)], [true, 1, [stream.id]]);
      // Workers that have stopped still report what they did.
      const requests = sum(seconds, (second) => second.requests);
      assert.deepEqual([requests, recent.length], [ANSWERED, ANSWERED]);
      endStreams(place);
      await stream.rest();
      await bounded(ended, 'the feed ends');
      assert.deepEqual(await bounded(place.serving.ended, 'the gateway exits'), { status: 0, signal: null });
    });
  });
}

describe('the snapshot', { concurrency: CONCURRENCY }, () => {
  test('contains no key, prompt, answer or upstream credential, and neither does the feed', async (t) => {
    const place = await Place.open(t, { threads: 3 });
    script(place);
    const { busy, other, streams } = await makeTraffic(place);
    const secrets = [PROMPT, ANSWER, UPSTREAM_KEY, UPSTREAM_HEADER, 'sk-inf-', busy.secret, other.secret];
    const fed = await bounded(firstEvents(place, 2), 'two events of the feed');
    const texts = [(await place.ask('GET', `/snapshot?keys=${busy.id},${other.id}`)).text, ...fed];
    for (const text of texts) {
      assert.ok(text.includes(streams[0]?.id as string), 'the requests themselves are shown');
      for (const secret of secrets) assert.ok(!text.includes(secret), `${secret} is shown`);
    }
    endStreams(place);
    await Promise.all(streams.map((stream) => stream.rest()));
    await place.stop();
  });

  test('shows the figures of a stream growing up to those of its journal row', async (t) => {
    const place = await Place.open(t, { threads: 3 });
    script(place);
    const stream = await place.stream(place.key());
    const liveTokens = async () => (await place.snapshot()).live[0]?.completion_tokens ?? 0;
    let tokens = await liveTokens();
    assert.ok(tokens > 0);
    for (let i = 0; i < 3; i++) {
      const [call] = place.upstream.calls;
      call?.send(chunk('some more words of the answer'));
      await stream.read();
      const more = await liveTokens();
      assert.ok(more > tokens, `${more} tokens after ${tokens}`);
      tokens = more;
    }
    const { live } = await place.snapshot();
    assert.ok(Number(live[0]?.cost_usd) >= 0.002 * tokens);
    endStreams(place);
    await stream.rest();
    await until(async () => (await place.snapshot()).recent.length === 1);
    const [row] = (await place.snapshot()).recent;
    assert.deepEqual([row?.source, row?.completion_tokens, row?.cost_usd], ['reported', 5, '0.02']);
    await place.stop();
  });

  test('reports a state file that is gone, and its return', async (t) => {
    const place = await Place.open(t, { threads: 3 });
    const { statePath } = place;
    const key = place.key();
    renameSync(statePath, `${statePath}.away`);
    assert.equal(await place.outcome(key), '500 internal_error');
    const { storage_fault, state_bytes } = await place.snapshot();
    assert.match(storage_fault ?? '', /state\.db is gone/);
    assert.equal(state_bytes, 0);
    renameSync(`${statePath}.away`, statePath);
    await until(async () => (await place.snapshot()).storage_fault === null);
    assert.equal(await place.outcome(key), '200');
    await place.stop();
  });
});

/** The minutes in the first event of a feed; the second has none but the last of them. */
async function firstMinutes(place: Place): Promise<readonly TrafficRow[]> {
  const fed = await bounded(firstEvents(place, 2, { minutesSinceS: 0 }), 'two events of the feed');
  const [first, second] = fed.map((text) => (JSON.parse(text) as Snapshot).minutes);
  assert.deepEqual(second, first?.slice(-1));
  return first ?? [];
}

/** The first events of a feed, as text. */
async function firstEvents(place: Place, count: number, query: Partial<SnapshotQuery> = {}): Promise<string[]> {
  const texts: string[] = [];
  return new Promise((resolve) => {
    const feed = followGateway(place.socketPath, query, {
      onSnapshot: (snapshot) => {
        if (texts.push(JSON.stringify(snapshot)) < count) return;
        feed.close();
        resolve(texts);
      },
      onEnd: () => {},
    });
  });
}
