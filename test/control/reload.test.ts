/** A reload applies every setting to the next request, on all threads. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { chunk, completion, DONE, usageChunk } from '../support/answers.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { writeOldRows } from '../support/past.ts';
import { type Fields, MODEL, Place, rawChat, type TestKey } from '../support/place.ts';
import { RawConnection } from '../support/raw.ts';
import { until } from '../support/wait.ts';

/**
 * Enough that the chance of all going to the same one of two threads is below one in a hundred
 * million.
 */
const CONNECTIONS = 28;
/** The cost of ten input and five output tokens at these prices. */
const USUAL_COST = 20_000_000;

describe('after a reload with two threads', () => {
  const cleanUps: (() => void | Promise<void>)[] = [];
  let place: Place;

  before(async () => {
    place = await Place.open({ after: (cleanUp) => void cleanUps.push(cleanUp) }, { threads: 2 });
  });
  after(async () => {
    try {
      await place.stop();
    } finally {
      for (const cleanUp of cleanUps) await cleanUp();
    }
  });

  const reload = (fields: Fields = {}) => place.reload({ threads: 2, ...fields });

  /** The answers on many new connections, which together reach every thread. */
  async function onAllThreads<T>(ask: () => Promise<T>): Promise<T[]> {
    return Promise.all(Array.from({ length: CONNECTIONS }, ask));
  }

  async function outcomes(key: TestKey, fields: Fields = {}): Promise<string[]> {
    const all = await onAllThreads(async () => {
      const connection = await RawConnection.open(place.port);
      connection.send(rawChat(key, fields));
      const { status } = await connection.answer();
      connection.leave();
      return String(status);
    });
    return [...new Set(all)];
  }

  test('the new origins apply', async () => {
    const origin = 'https://app.example';
    const allowed = async () => {
      const answers = await onAllThreads(() =>
        fetch(`http://127.0.0.1:${place.port}/v1/models`, { headers: { origin, connection: 'close' } }),
      );
      return new Set(answers.map(({ headers }) => headers.get('access-control-allow-origin')));
    };
    assert.deepEqual(await allowed(), new Set([null]));
    await reload({ cors: { origins: [origin] } });
    assert.deepEqual(await allowed(), new Set([origin]));
  });

  test('the new prices apply', async () => {
    await reload();
    const key = place.key();
    assert.deepEqual(await outcomes(key), ['200']);
    assert.ok(place.rows(key).every(({ cost_nanos }) => cost_nanos === USUAL_COST));
    await reload({ providers: { host: place.host({ models: { model: { ...MODEL, input: 3000, output: 6000 } } }) } });
    const other = place.key();
    assert.deepEqual(await outcomes(other), ['200']);
    assert.ok(place.rows(other).every(({ cost_nanos }) => cost_nanos === 3 * USUAL_COST));
  });

  test('new models can be called, and removed models cannot', async () => {
    await reload();
    const key = place.key();
    await reload({ providers: { host: place.host({ models: { other: MODEL } }) } });
    assert.deepEqual([await outcomes(key), await outcomes(key, { model: 'host/other' })], [['404'], ['200']]);
    const response = await fetch(`${place.serving.url}/v1/models`, {
      headers: { authorization: `Bearer ${key.secret}` },
    });
    const { data } = (await response.json()) as { data: { id: string }[] };
    assert.deepEqual(
      data.map(({ id }) => id),
      ['host/other'],
    );
  });

  test('a new address and credential of a provider are used', async () => {
    const other = await FakeUpstream.start();
    other.follow((call) => call.answer(200, completion('other')));
    const base_url = `http://127.0.0.1:${other.port}/v1`;
    await reload({ providers: { host: place.host({ base_url, api_key: 'another-credential' }) } });
    assert.deepEqual(await outcomes(place.key()), ['200']);
    assert.equal(other.calls.length, CONNECTIONS);
    assert.ok(other.calls.every((call) => call.header('authorization') === 'Bearer another-credential'));
    await reload();
    await other.close();
  });

  test('new limits of the tier apply to keys without their own, and earlier requests still count', async () => {
    await reload({ tiers: { standard: { rpm: 100, tpm: 1_000_000, concurrency: CONNECTIONS } } });
    const [key, own] = [place.key(), place.key({ rpm: 77 })];
    assert.deepEqual(await outcomes(key), ['200']);
    const tier = { rpm: CONNECTIONS + 1, tpm: 2_000_000, concurrency: 5, models_rpm: 9 };
    await reload({ tier: 'small', tiers: { small: tier } });
    const heads = async (secret: string) => {
      const sending = { headers: { authorization: `Bearer ${secret}` } };
      const answers = await onAllThreads(() => fetch(`${place.serving.url}/v1/nothing`, sending));
      return [...new Set(answers.map(({ headers }) => figuresOf(headers)))];
    };
    assert.deepEqual(await heads(key.secret), [`${tier.rpm} 1 ${tier.tpm}`]);
    assert.deepEqual(await heads(own.secret), [`77 77 ${tier.tpm}`]);
    assert.deepEqual(await heads('nobody'), [`${tier.rpm} ${tier.rpm} ${tier.tpm}`]);
    assert.deepEqual([await place.outcome(key), await place.outcome(key)], ['200', '429 rate_limited']);
    const listing = await fetch(`${place.serving.url}/v1/models`, {
      headers: { authorization: `Bearer ${key.secret}` },
    });
    assert.equal(listing.headers.get('x-ratelimit-limit-requests'), '9');
  });

  test('credit enforcement is switched on and off', async () => {
    await reload();
    const key = place.key();
    // More than the balance.
    const dear = { host: place.host({ models: { model: { ...MODEL, output: 900_000_000 } } }) };
    await reload({ providers: dear });
    assert.deepEqual(await outcomes(key, { max_tokens: 1000 }), ['402']);
    await reload({ credit: 'off' });
    assert.equal((await place.snapshot()).credit_enforced, false);
    await reload({
      credit: 'off',
      providers: { host: place.host({ models: { model: { input: 0, output: 900_000_000 } } }) },
    });
    place.upstream.follow((call) =>
      call.answer(200, completion('hi', { usage: { prompt_tokens: 1, completion_tokens: 0 } })),
    );
    assert.deepEqual(await outcomes(key, { max_tokens: 1000 }), ['200']);
    await reload({ providers: dear });
    assert.deepEqual(await outcomes(key, { max_tokens: 1000 }), ['402']);
    assert.equal((await place.snapshot()).credit_enforced, true);
    place.upstream.follow((call) => call.answer(200, completion('hi')));
  });

  test('the maximum body size applies', async () => {
    await reload({ max_body: '1kb' });
    const key = place.key();
    const long = { padding: 'x'.repeat(2_000) };
    assert.deepEqual(await outcomes(key, long), ['413']);
    await reload({ max_body: '4kb' });
    assert.deepEqual(await outcomes(key, long), ['200']);
  });

  test('capping of output is switched on and off', async () => {
    const capped = { max_output: 77, default_output: 77, input: 1, output: 1 };
    for (const cap_output of [true, false]) {
      await reload({ cap_output, providers: { host: place.host({ models: { model: capped } }) } });
      place.upstream.follow((call) => call.answer(200, completion('hi')));
      await outcomes(place.key());
      const declared = place.upstream.calls.map(({ body }) => JSON.parse(body).max_tokens);
      assert.deepEqual(new Set(declared), new Set([cap_output ? 77 : undefined]));
    }
  });

  test('new timeouts of upstreams and clients apply', async () => {
    await reload({ timeouts: { first_byte: '30ms', request: '50ms' } });
    place.upstream.follow(() => {});
    assert.deepEqual(await outcomes(place.key()), ['502']);
    const slow = await onAllThreads(async () => {
      const connection = await RawConnection.open(place.port);
      connection.send('GET /healthz HTTP/1.1\r\nHost: a\r\n');
      const { status } = await connection.answer();
      await connection.rest();
      return status;
    });
    assert.deepEqual(new Set(slow), new Set([408]));
    place.upstream.follow((call) => call.answer(200, completion('hi')));
  });

  test('the log level applies', async () => {
    const probes = () => place.serving.log.filter(({ path }) => path === '/healthz').length;
    const probe = () => onAllThreads(() => fetch(`${place.serving.url}/healthz`, { headers: { connection: 'close' } }));
    await reload();
    const [before] = [probes()];
    await probe();
    await reload({ log: { level: 'debug' } });
    await probe();
    await until(() => probes() === before + CONNECTIONS);
    await reload({ log: { level: 'silent' } });
    const key = place.key();
    assert.deepEqual(await outcomes(key), ['200']);
    await reload();
    await until(() => place.serving.log.at(-1)?.msg.startsWith('active providers') === true);
    assert.ok(!place.serving.log.some(({ key: id }) => id === key.id));
  });

  test('a shorter retention drops old rows of the journal', async () => {
    await reload();
    writeOldRows(place.database, 50);
    const old = () => place.database.prepare("SELECT count(*) FROM journal WHERE request_id LIKE 'req_past_%'").pluck();
    assert.equal(old().get(), 50);
    await reload({ journal_retention: '1d' });
    await until(() => old().get() === 0);
    await reload();
  });

  test('a stream in flight keeps its config, and is charged at its old prices', async () => {
    await reload();
    const [key, release] = [place.key(), Promise.withResolvers<void>()];
    place.upstream.follow(async (call) => {
      call.stream();
      call.send(chunk('Hello'));
      await release.promise;
      call.send(chunk(' you', 'stop') + usageChunk() + DONE);
      call.end();
    });
    const streams = await onAllThreads(() => place.stream(key));
    const timeouts = { first_byte: '30ms', idle: '30ms' };
    const dear = { providers: { host: place.host({ models: { model: { ...MODEL, output: 900_000 } } }) } };
    await reload({ timeouts, ...dear });
    await reload({ timeouts, providers: { host: place.host({ models: { other: MODEL } }) } });
    // By now a stream under the new config would have timed out.
    assert.match(await (await place.stream(place.key(), { model: 'host/other' })).rest(), /"upstream_error"/);
    release.resolve();
    for (const stream of streams) assert.ok((await stream.rest()).endsWith(chunk(' you', 'stop') + DONE));
    const rows = await Promise.all(streams.map(({ id }) => place.row(id)));
    assert.deepEqual(
      new Set(rows.map(({ outcome, cost_nanos }) => `${outcome} ${cost_nanos}`)),
      new Set([`ok ${USUAL_COST}`]),
    );
    place.upstream.follow((call) => call.answer(200, completion('hi')));
  });
});

function figuresOf(headers: Headers): string {
  const names = ['limit-requests', 'remaining-requests', 'limit-tokens'];
  return names.map((name) => headers.get(`x-ratelimit-${name}`)).join(' ');
}
