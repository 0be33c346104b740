/** `keys show` counts refused requests by code and reason, and no admitted ones. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import Database from 'better-sqlite3';
import { mintKey } from '../../src/core/api-key.ts';
import { CONCURRENCY, CONFIG, linesOf, type NewKeyJson, type Serving, Workplace } from '../support/cli.ts';

interface RefusalJson {
  readonly code: string;
  readonly reason: string;
  readonly requests: number;
  readonly last_at: string;
}

const say = (content: string) => [{ role: 'user', content }];
const PAID = 'mock/paid';
const CONFIG_WITH_SMALL_LIMITS = `${CONFIG}max_body: 1kb
tiers:
  standard: { models_rpm: 2 }
`;

/** A client with its own key; its open streams are closed at the end. */
class Client {
  readonly #serving: Serving;
  readonly #key: string;
  readonly #streams: ReadableStreamDefaultReader[] = [];

  constructor(serving: Serving, key: string) {
    this.#serving = serving;
    this.#key = key;
  }

  chat(fields: Record<string, unknown> = {}): Promise<string> {
    return this.#serving.chatOutcome(this.#key, fields);
  }

  /** A request that stays in flight. */
  async open(fields: Record<string, unknown> = {}): Promise<void> {
    const response = await this.#serving.chat(this.#key, { ...fields, stream: true, messages: say('/stall 1') });
    const reader = response.body?.getReader();
    assert.equal(response.status, 200);
    await reader?.read();
    if (reader !== undefined) this.#streams.push(reader);
  }

  async listModels(path = ''): Promise<string> {
    const headers = { authorization: `Bearer ${this.#key}` };
    const response = await fetch(`${this.#serving.url}/v1/models${path}`, { headers });
    const body = (await response.json()) as { error?: { code: string } };
    return body.error === undefined ? String(response.status) : `${response.status} ${body.error.code}`;
  }

  async close(): Promise<void> {
    await Promise.all(this.#streams.map((stream) => stream.cancel()));
  }
}

/** A way to be refused: the answer to the last request, and all refusals that the file then has. */
interface Case {
  readonly reason: string;
  readonly options?: string;
  readonly run: (client: Client) => Promise<string>;
  readonly got: string;
  readonly counted?: number;
}

const CASES: readonly Case[] = [
  { reason: 'invalid_request', run: (client) => client.chat({ temperature: 9 }), got: '400 invalid_request' },
  {
    // A body that is too large has no code of its own.
    reason: 'invalid_request',
    run: (client) => client.chat({ messages: say('x'.repeat(1_024)) }),
    got: '413 invalid_request',
  },
  { reason: 'model_not_found', run: (client) => client.chat({ model: 'mock/none' }), got: '404 model_not_found' },
  {
    reason: 'model_not_allowed',
    options: '--allow mock/paid',
    run: (client) => client.chat(),
    got: '403 model_not_allowed',
  },
  {
    reason: 'spend_limit_reached',
    options: '--spend-limit 0',
    run: (client) => client.chat(),
    got: '402 spend_limit_reached',
  },
  {
    reason: 'insufficient_credit',
    run: (client) => client.chat({ model: PAID, max_tokens: 1_000 }),
    got: '402 insufficient_credit',
  },
  {
    reason: 'requests_per_minute',
    options: '--rpm 1',
    run: async (client) => {
      await client.chat();
      await client.chat();
      return client.chat();
    },
    got: '429 rate_limited',
    counted: 2,
  },
  {
    reason: 'tokens_per_minute',
    options: '--tpm 150',
    run: async (client) => {
      await client.open({ max_tokens: 100 });
      return client.chat({ max_tokens: 100 });
    },
    got: '429 rate_limited',
  },
  {
    reason: 'larger_than_token_limit',
    options: '--tpm 150',
    run: (client) => client.chat({ max_tokens: 200 }),
    got: '429 rate_limited',
  },
  {
    reason: 'concurrency',
    options: '--concurrency 1',
    run: async (client) => {
      await client.open();
      return client.chat();
    },
    got: '429 rate_limited',
  },
  {
    reason: 'money_spoken_for',
    run: async (client) => {
      await client.open({ model: PAID, max_tokens: 300 });
      return client.chat({ model: PAID, max_tokens: 300 });
    },
    got: '429 rate_limited',
  },
  {
    reason: 'model_listings_per_minute',
    run: async (client) => {
      assert.equal(await client.listModels(), '200');
      assert.equal(await client.listModels('/mock%2Fecho'), '200');
      await client.listModels('/mock%2Fecho');
      return client.listModels();
    },
    got: '429 rate_limited',
    counted: 2,
  },
];

/** All refusals in the file, as `key code reason requests`. */
function rowsOf(place: Workplace): string[] {
  const database = new Database(place.statePath, { readonly: true });
  try {
    const rows = database.prepare('SELECT key_id, code, reason, requests FROM refusals').raw().all();
    return (rows as unknown[][]).map((row) => row.join(' '));
  } finally {
    database.close();
  }
}

/** Creates keys, and adds a dollar of credit. */
async function createKeys(place: Workplace, options: readonly string[]): Promise<NewKeyJson[]> {
  const words = options.map((own, i) => `keys create ${`app${i} ${own}`.trim()} --json`.split(' '));
  const answers = await place.runAll([...words, ['credit', 'add', '1', '--json']]);
  return answers.slice(0, -1).map(({ stdout }) => JSON.parse(stdout) as NewKeyJson);
}

describe('refused requests', { concurrency: CONCURRENCY }, () => {
  test('are counted by key, code and reason, and all are in the file once the gateway has stopped', async (t) => {
    const place = new Workplace(t, CONFIG_WITH_SMALL_LIMITS);
    const keys = await createKeys(
      place,
      CASES.map(({ options = '' }) => options),
    );
    const serving = await place.serveHere();
    for (const [i, { reason, run, got }] of CASES.entries()) {
      const client = new Client(serving, keys[i]?.key ?? '');
      assert.equal(await run(client), got, reason);
      await client.close();
    }
    // The last refusals are more recent than the gateway's last write.
    assert.equal(await serving.stop(), 0);
    const expected = CASES.map(({ reason, got, counted = 1 }, i) => {
      const code = got.split(' ')[1];
      return `${keys[i]?.id} ${code} ${reason} ${counted}`;
    });
    assert.deepEqual(rowsOf(place).toSorted(), expected.toSorted());
  });

  test('are in `keys show`, most frequent first, and with `--refusals` nothing else is', async (t) => {
    const place = new Workplace(t);
    const serving = await place.serveHere();
    const before = Date.now();
    const { id, key } = await place.createKey('app');
    for (let i = 0; i < 3; i++) assert.equal(await serving.chatOutcome(key, { n: 0 }), '400 invalid_request');
    await place.json('keys', 'disable', 'app');
    for (let i = 0; i < 2; i++) assert.equal(await serving.chatOutcome(key), '403 api_key_disabled');
    const listing = await fetch(`${serving.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    assert.equal(listing.status, 403);
    assert.equal(await serving.chatOutcome(key), '403 api_key_disabled');
    assert.equal(await serving.stop(), 0);

    const refusals = await place.json<RefusalJson[]>('keys', 'show', id, '--refusals');
    assert.deepEqual(
      refusals.map(({ last_at, ...row }) => row),
      [
        { code: 'api_key_disabled', reason: 'api_key_disabled', requests: 4 },
        { code: 'invalid_request', reason: 'invalid_request', requests: 3 },
      ],
    );
    for (const { last_at } of refusals) {
      assert.match(last_at, /^\d{4}-.*\.\d{3}Z$/);
      assert.ok(Date.parse(last_at) >= before && Date.parse(last_at) <= Date.now());
    }
    const [whole, only, json] = await place.runAll([
      ['keys', 'show', 'app'],
      ['keys', 'show', 'app', '--refusals'],
      ['keys', 'show', 'app', '--json'],
    ]);
    assert.match(
      whole?.stdout ?? '',
      /^name +app\n[\s\S]*\nREFUSED THIS MONTH +REASON +REQUESTS +LAST \(UTC\)\napi_key_disabled +4 /,
    );
    assert.match(only?.stdout ?? '', /^REFUSED THIS MONTH /);
    assert.equal(linesOf(only?.stdout ?? '').length, 3);
    assert.ok(!('refusals' in (JSON.parse(json?.stdout ?? '') as object)), 'the JSON of a key is the same everywhere');
  });

  test('with unknown keys are not counted, nor are admitted requests, whatever their outcome', async (t) => {
    const place = new Workplace(t, CONFIG_WITH_SMALL_LIMITS);
    const serving = await place.serveHere();
    const [app, gone] = await Promise.all([place.createKey('app'), place.createKey('gone')]);
    await place.json('keys', 'delete', 'gone', '--yes');
    for (const key of [gone.key, mintKey(), 'sk-inf-x', '']) {
      const outcome = await serving.chatOutcome(key);
      assert.match(outcome, /^401 /, outcome);
      assert.match(await new Client(serving, key).listModels(), /^401 /);
    }
    const client = new Client(serving, app.key);
    assert.equal(await client.chat(), '200');
    assert.equal(await client.chat({ messages: say('/error 400') }), '400 invalid_request');
    assert.equal(await client.chat({ messages: say('/error 503') }), '502 upstream_error');
    assert.equal(await client.chat({ messages: say('/error 429') }), '502 upstream_error');
    assert.equal(await client.listModels(), '200');
    assert.equal(await serving.stop(), 0);
    assert.deepEqual(rowsOf(place), []);
    assert.deepEqual(await place.json('keys', 'show', 'app', '--refusals'), []);
    const shown = await place.run(['keys', 'show', 'app']);
    assert.match(shown.stdout, /No requests refused this month\.\n$/);
  });

  test('are shown for this month only', async (t) => {
    const place = new Workplace(t);
    const { id } = await place.createKey('app');
    const database = new Database(place.statePath);
    const insert = database.prepare('INSERT INTO refusals VALUES (?, ?, ?, ?, ?, ?)');
    const now = new Date().toISOString().slice(0, 7);
    insert.run('2020-01', id, 'rate_limited', 'concurrency', 9, 5);
    insert.run(now, id, 'rate_limited', 'requests_per_minute', 1, Date.now());
    insert.run(now, 'key_other', 'rate_limited', 'concurrency', 3, Date.now());
    database.close();
    const shown = await place.json<RefusalJson[]>('keys', 'show', 'app', '--refusals');
    assert.deepEqual(
      shown.map(({ reason, requests }) => `${reason} ${requests}`),
      ['requests_per_minute 1'],
    );
    const { stdout } = await place.run(['keys', 'show', 'app']);
    assert.match(stdout, /\nrate_limited +requests per minute +1 /);
  });
});
