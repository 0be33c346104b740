/**
 * Reloads of configs that cannot be applied: the current config stays as a whole, and the operator
 * learns what is wrong.
 */
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { chunk, DONE } from '../support/answers.ts';
import { CONCURRENCY, SERVE } from '../support/cli.ts';
import { type Fields, MODEL, Place } from '../support/place.ts';
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
