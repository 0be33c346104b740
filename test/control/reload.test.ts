/** A reload applies every setting to the next request, on all threads. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { chunk, completion, DONE, usageChunk } from '../support/answers.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { writeOldRows } from '../support/past.ts';
import { RawConnection } from '../support/raw.ts';
import { until } from '../support/wait.ts';
import { type Fields, MODEL, rawChat, Site, type SiteKey } from './site.ts';

/**
 * Enough that the chance of all going to the same one of two threads is below one in a hundred
 * million.
 */
const CONNECTIONS = 28;
/** The cost of ten input and five output tokens at these prices. */
const USUAL_COST = 20_000_000;

describe('after a reload with two threads', () => {
  const cleanUps: (() => void | Promise<void>)[] = [];
  let site: Site;

  before(async () => {
    site = await Site.open({ after: (cleanUp) => void cleanUps.push(cleanUp) }, { threads: 2 });
  });
  after(async () => {
    try {
      await site.stop();
    } finally {
      for (const cleanUp of cleanUps) await cleanUp();
    }
  });

  const reload = (fields: Fields = {}) => site.reload({ threads: 2, ...fields });

  /** The answers on many new connections, which together reach every thread. */
  async function onAllThreads<T>(ask: () => Promise<T>): Promise<T[]> {
    return Promise.all(Array.from({ length: CONNECTIONS }, ask));
  }

  async function outcomes(key: SiteKey, fields: Fields = {}): Promise<string[]> {
    const all = await onAllThreads(async () => {
      const connection = await RawConnection.open(site.port);
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
        fetch(`http://127.0.0.1:${site.port}/v1/models`, { headers: { origin, connection: 'close' } }),
      );
      return new Set(answers.map(({ headers }) => headers.get('access-control-allow-origin')));
    };
    assert.deepEqual(await allowed(), new Set([null]));
    await reload({ cors: { origins: [origin] } });
    assert.deepEqual(await allowed(), new Set([origin]));
  });

  test('the new prices apply', async () => {
    await reload();
    const key = site.key();
    assert.deepEqual(await outcomes(key), ['200']);
    assert.ok(site.rows(key).every(({ cost_nanos }) => cost_nanos === USUAL_COST));
    await reload({ providers: { host: site.host({ models: { model: { ...MODEL, input: 3000, output: 6000 } } }) } });
    const other = site.key();
    assert.deepEqual(await outcomes(other), ['200']);
    assert.ok(site.rows(other).every(({ cost_nanos }) => cost_nanos === 3 * USUAL_COST));
  });

  test('new models can be called, and removed models cannot', async () => {
    await reload();
    const key = site.key();
    await reload({ providers: { host: site.host({ models: { other: MODEL } }) } });
    assert.deepEqual([await outcomes(key), await outcomes(key, { model: 'host/other' })], [['404'], ['200']]);
    const response = await fetch(`${site.serving.url}/v1/models`, {
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
    await reload({ providers: { host: site.host({ base_url, api_key: 'another-credential' }) } });
    assert.deepEqual(await outcomes(site.key()), ['200']);
    assert.equal(other.calls.length, CONNECTIONS);
    assert.ok(other.calls.every((call) => call.header('authorization') === 'Bearer another-credential'));
    await reload();
    await other.close();
  });

  test('new limits of the tier apply to keys without their own, and earlier requests still count', async () => {
    await reload({ tiers: { standard: { rpm: 100, tpm: 1_000_000, concurrency: CONNECTIONS } } });
    const [key, own] = [site.key(), site.key({ rpm: 77 })];
    assert.deepEqual(await outcomes(key), ['200']);
    const tier = { rpm: CONNECTIONS + 1, tpm: 2_000_000, concurrency: 5, models_rpm: 9 };
    await reload({ tier: 'small', tiers: { small: tier } });
    const heads = async (secret: string) => {
      const sending = { headers: { authorization: `Bearer ${secret}` } };
      const answers = await onAllThreads(() => fetch(`${site.serving.url}/v1/nothing`, sending));
      return [...new Set(answers.map(({ headers }) => figuresOf(headers)))];
    };
    assert.deepEqual(await heads(key.secret), [`${tier.rpm} 1 ${tier.tpm}`]);
    assert.deepEqual(await heads(own.secret), [`77 77 ${tier.tpm}`]);
    assert.deepEqual(await heads('nobody'), [`${tier.rpm} ${tier.rpm} ${tier.tpm}`]);
    assert.deepEqual([await site.outcome(key), await site.outcome(key)], ['200', '429 rate_limited']);
    const listing = await fetch(`${site.serving.url}/v1/models`, {
      headers: { authorization: `Bearer ${key.secret}` },
    });
    assert.equal(listing.headers.get('x-ratelimit-limit-requests'), '9');
  });

  test('credit enforcement is switched on and off', async () => {
    await reload();
    const key = site.key();
    // More than the balance.
    const dear = { host: site.host({ models: { model: { ...MODEL, output: 900_000_000 } } }) };
    await reload({ providers: dear });
    assert.deepEqual(await outcomes(key, { max_tokens: 1000 }), ['402']);
    await reload({ credit: 'off' });
    assert.equal((await site.snapshot()).credit_enforced, false);
    await reload({
      credit: 'off',
      providers: { host: site.host({ models: { model: { input: 0, output: 900_000_000 } } }) },
    });
    site.upstream.follow((call) =>
      call.answer(200, completion('hi', { usage: { prompt_tokens: 1, completion_tokens: 0 } })),
    );
    assert.deepEqual(await outcomes(key, { max_tokens: 1000 }), ['200']);
    await reload({ providers: dear });
    assert.deepEqual(await outcomes(key, { max_tokens: 1000 }), ['402']);
    assert.equal((await site.snapshot()).credit_enforced, true);
    site.upstream.follow((call) => call.answer(200, completion('hi')));
  });

  test('the maximum body size applies', async () => {
    await reload({ max_body: '1kb' });
    const key = site.key();
    const long = { user: 'x'.repeat(2_000) };
    assert.deepEqual(await outcomes(key, long), ['413']);
    await reload({ max_body: '4kb' });
    assert.deepEqual(await outcomes(key, long), ['200']);
  });

  test('capping of output is switched on and off', async () => {
    const capped = { max_output: 77, default_output: 77, input: 1, output: 1 };
    for (const cap_output of [true, false]) {
      await reload({ cap_output, providers: { host: site.host({ models: { model: capped } }) } });
      site.upstream.follow((call) => call.answer(200, completion('hi')));
      await outcomes(site.key());
      const declared = site.upstream.calls.map(({ body }) => JSON.parse(body).max_tokens);
      assert.deepEqual(new Set(declared), new Set([cap_output ? 77 : undefined]));
    }
  });

  test('new timeouts of upstreams and clients apply', async () => {
    await reload({ timeouts: { first_byte: '30ms', request: '50ms' } });
    site.upstream.follow(() => {});
    assert.deepEqual(await outcomes(site.key()), ['502']);
    const slow = await onAllThreads(async () => {
      const connection = await RawConnection.open(site.port);
      connection.send('GET /healthz HTTP/1.1\r\nHost: a\r\n');
      const { status } = await connection.answer();
      await connection.rest();
      return status;
    });
    assert.deepEqual(new Set(slow), new Set([408]));
    site.upstream.follow((call) => call.answer(200, completion('hi')));
  });

  test('the log level applies', async () => {
    const probes = () => site.serving.log.filter(({ path }) => path === '/healthz').length;
    const probe = () => onAllThreads(() => fetch(`${site.serving.url}/healthz`, { headers: { connection: 'close' } }));
    await reload();
    const [before] = [probes()];
    await probe();
    await reload({ log: { level: 'debug' } });
    await probe();
    await until(() => probes() === before + CONNECTIONS);
    await reload({ log: { level: 'silent' } });
    const key = site.key();
    assert.deepEqual(await outcomes(key), ['200']);
    await reload();
    await until(() => site.serving.log.at(-1)?.msg.startsWith('active providers') === true);
    assert.ok(!site.serving.log.some(({ key: id }) => id === key.id));
  });

  test('a shorter retention drops old rows of the journal', async () => {
    await reload();
    writeOldRows(site.database, 50);
    const old = () => site.database.prepare("SELECT count(*) FROM journal WHERE request_id LIKE 'req_past_%'").pluck();
    assert.equal(old().get(), 50);
    await reload({ journal_retention: '1d' });
    await until(() => old().get() === 0);
    await reload();
  });

  test('a stream in flight keeps its config, and is charged at its old prices', async () => {
    await reload();
    const [key, release] = [site.key(), Promise.withResolvers<void>()];
    site.upstream.follow(async (call) => {
      call.stream();
      call.send(chunk('Hello'));
      await release.promise;
      call.send(chunk(' you', 'stop') + usageChunk() + DONE);
      call.end();
    });
    const streams = await onAllThreads(() => site.stream(key));
    const timeouts = { first_byte: '30ms', idle: '30ms' };
    const dear = { providers: { host: site.host({ models: { model: { ...MODEL, output: 900_000 } } }) } };
    await reload({ timeouts, ...dear });
    await reload({ timeouts, providers: { host: site.host({ models: { other: MODEL } }) } });
    // By now a stream under the new config would have timed out.
    assert.match(await (await site.stream(site.key(), { model: 'host/other' })).rest(), /"upstream_error"/);
    release.resolve();
    for (const stream of streams) assert.ok((await stream.rest()).endsWith(chunk(' you', 'stop') + DONE));
    const rows = await Promise.all(streams.map(({ id }) => site.row(id)));
    assert.deepEqual(
      new Set(rows.map(({ outcome, cost_nanos }) => `${outcome} ${cost_nanos}`)),
      new Set([`ok ${USUAL_COST}`]),
    );
    site.upstream.follow((call) => call.answer(200, completion('hi')));
  });
});

function figuresOf(headers: Headers): string {
  const names = ['limit-requests', 'remaining-requests', 'limit-tokens'];
  return names.map((name) => headers.get(`x-ratelimit-${name}`)).join(' ');
}
