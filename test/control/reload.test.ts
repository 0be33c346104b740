/** A reload applies every setting to the next request, on all threads; one that cannot be applied changes nothing, and says why. */
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { chunk, completion, DONE, usageChunk } from '../support/answers.ts';
import { CONCURRENCY, SERVE } from '../support/cli.ts';
import { FakeProxy } from '../support/fake-proxy.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { writeOldRows } from '../support/past.ts';
import { type Fields, MODEL, Place, rawChat, type TestKey } from '../support/place.ts';
import { RawConnection } from '../support/raw.ts';
import { bounded, until } from '../support/wait.ts';

const DURABLE = 'full';
/** A problem, the config fields that cause it, and the lines that report it. */
const PROBLEMS: readonly (readonly [what: string, fields: Fields, lines: readonly RegExp[]])[] = [
  ['an unknown key', { limit: 5 }, [/^config\.yaml:1:\d+: limit: unknown key/]],
  ['a wrong type', { threads: 'two' }, [/^config\.yaml:1:\d+: threads: expected a whole number/]],
  ['a value out of range', { max_body: '1gb' }, [/max_body: expected a size/]],
  ['an unknown tier', { tier: 'gold' }, [/tier: expected one of the tiers/]],
  ['several problems', { limit: 5, credit: 'maybe' }, [/credit: expected enforced or off/, /limit: unknown key/]],
  ['another address', { listen: '127.0.0.1:1' }, [/^listen: restart the gateway to change this/]],
  ['another state file', { state: './other.db' }, [/^state: restart the gateway to change this/]],
  ['another number of threads', { threads: 3 }, [/^threads: restart the gateway to change this/]],
  ['an address for metrics', { metrics: '127.0.0.1:1' }, [/^metrics: restart the gateway to change this/]],
  ['another durability', { durability: 'crash' }, [/^durability: restart the gateway to change this/]],
  [
    'several changes that take a restart',
    { threads: 1, durability: 'crash' },
    [/^threads: restart the gateway to change this/, /^durability: restart the gateway to change this/],
  ],
];

/** Changes that are valid by themselves, and must not be applied in part. */
function changes(place: Place): Fields {
  const provider = place.host({ models: { model: { ...MODEL, input: 9000 } } });
  return { tiers: { standard: { rpm: 5 } }, credit: 'off', cap_output: true, providers: { host: provider } };
}

describe('a reload fails', () => {
  const cleanUps: (() => void | Promise<void>)[] = [];
  let place: Place;

  before(async () => {
    const scope = { after: (cleanUp: () => void | Promise<void>) => void cleanUps.push(cleanUp) };
    place = await Place.open(scope, { threads: 2, durability: DURABLE });
  });
  after(async () => {
    try {
      await place.stop();
    } finally {
      for (const cleanUp of cleanUps) await cleanUp();
    }
  });

  /** Asserts that everything is as it was at the start. */
  async function assertAsBefore(): Promise<void> {
    const key = place.key();
    const response = await place.chat(key);
    assert.equal(response.headers.get('x-ratelimit-limit-requests'), '600');
    await response.text();
    const [row] = place.rows(key);
    assert.equal(row?.cost_nanos, 20_000_000);
    const { threads, credit_enforced, state_path } = await place.snapshot();
    assert.deepEqual([threads, credit_enforced, state_path], [2, true, place.statePath]);
  }

  /**
   * Makes the gateway reload its config, and returns the lines of its answer. Each of them must be
   * logged as well.
   */
  async function problemsOf(): Promise<readonly string[]> {
    const { length } = place.serving.log;
    const { status, text } = await place.ask('POST', '/reload');
    assert.equal(status, 409, text);
    const { lines } = JSON.parse(text) as { lines: string[] };
    const logged = () => place.serving.log.slice(length).filter(({ level }) => level === 'error');
    await until(() => logged().length >= lines.length);
    assert.deepEqual(
      logged().map(({ msg }) => msg),
      lines.map((line) => `config not reloaded: ${line}`),
    );
    return lines;
  }

  for (const [what, fields, expected] of PROBLEMS) {
    test(`for ${what}, and changes nothing`, async () => {
      place.configure({ threads: 2, durability: DURABLE, ...changes(place), ...fields });
      const lines = await problemsOf();
      assert.equal(lines.length, expected.length, lines.join('\n'));
      for (const [i, pattern] of expected.entries()) assert.match(lines[i] ?? '', pattern);
      await assertAsBefore();
    });
  }

  test('for a file that is not YAML', async () => {
    place.write('config.yaml', 'providers: { host: [\n');
    assert.match((await problemsOf()).join('\n'), /^config\.yaml:2:1: /);
    await assertAsBefore();
  });

  test('for a secret that is invalid, without showing it', async () => {
    place.write('secret', 'two\nlines-canary');
    const provider = place.host({ api_key: `\${file:./secret}`, headers: { 'X-A': `\${file:./missing}` } });
    place.configure({ threads: 2, providers: { host: provider } });
    const lines = await problemsOf();
    assert.equal(lines.length, 2, lines.join('\n'));
    assert.match(lines.join('\n'), /providers\.host\.api_key: expected a value without line breaks/);
    assert.match(lines.join('\n'), /missing/);
    assert.doesNotMatch(place.serving.text + lines.join(), /canary/);
    await assertAsBefore();
  });

  test('for a file that is gone: the defaults are only for a start without a file', async () => {
    const path = join(place.directory, 'config.yaml');
    renameSync(path, `${path}.away`);
    assert.deepEqual(await problemsOf(), [`the config file ${path} no longer exists; put it back`]);
    await assertAsBefore();
    renameSync(`${path}.away`, path);
  });

  test('and a later one with a valid config succeeds', async () => {
    await place.reload({ threads: 2, durability: DURABLE, ...changes(place) });
    const response = await place.chat(place.key());
    assert.equal(response.headers.get('x-ratelimit-limit-requests'), '5');
    await response.text();
  });
});

describe('a reload', { concurrency: CONCURRENCY }, () => {
  for (const threads of [1, 2]) {
    test(`by SIGHUP applies a valid config, and logs what is wrong with an invalid one: ${threads} threads`, async (t) => {
      const place = await Place.open(t, { threads }, SERVE);
      const key = place.key();
      place.configure({ threads, limit: 5 });
      place.serving.signal('SIGHUP');
      await bounded(place.serving.logged(/^config not reloaded: .*limit: unknown key/), 'the problem');
      assert.equal(await place.outcome(key), '200');
      place.configure({ threads, tiers: { standard: { rpm: 1 } } });
      place.serving.signal('SIGHUP');
      await bounded(place.serving.logged(/^config reloaded$/), 'the reload');
      assert.equal(await place.outcome(key), '429 rate_limited');
      await place.stop();
    });

    test(`fails while the gateway drains, and leaves requests in flight alone: ${threads} threads`, async (t) => {
      const place = await Place.open(t, { threads }, SERVE);
      const release = Promise.withResolvers<void>();
      place.upstream.follow(async (call) => {
        call.stream();
        call.send(chunk('Hello'));
        await release.promise;
        call.send(chunk(' you', 'stop') + DONE);
        call.end();
      });
      const stream = await place.stream(place.key());
      place.serving.signal('SIGTERM');
      await bounded(place.serving.logged(/SIGTERM: shutting down, .* 1 request in flight/), 'the drain');
      const { status, text } = await place.ask('POST', '/reload');
      assert.deepEqual([status, JSON.parse(text)], [409, { lines: ['the gateway is shutting down'] }]);
      release.resolve();
      assert.ok((await stream.rest()).endsWith(DONE));
      assert.deepEqual(await bounded(place.serving.ended, 'the gateway exits'), { status: 0, signal: null });
      place.assertSettled();
    });
  }
});

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
      const connection = await RawConnection.sending(place.port, rawChat(key, fields));
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

  test('a new proxy is used, and one that is gone no longer', async () => {
    const proxy = await FakeProxy.start();
    place.upstream.follow((call) => call.answer(200, completion('hi')));
    await reload({ proxy: proxy.url });
    assert.deepEqual(await outcomes(place.key()), ['200']);
    const { length } = proxy.asked;
    assert.ok(length > 0);
    await reload();
    assert.deepEqual([await outcomes(place.key()), proxy.asked.length], [['200'], length]);
    await proxy.close();
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
      const connection = await RawConnection.sending(place.port, 'GET /healthz HTTP/1.1\r\nHost: a\r\n');
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
