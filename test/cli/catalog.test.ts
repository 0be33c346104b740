/** `models` and `config check` show everything that would run, and no secret. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { CONCURRENCY, inParallel, CONFIG as MOCK_CONFIG, Workplace } from '../support/cli.ts';

const SECRET = 'very-secret-key-of-the-operator-0123456789';
const SHORT_SECRET = 'tiny-one';
const HEADER_SECRET = 'another-secret-in-a-header-9876543210';

const CONFIG = `listen: "[::1]:0"
state: ./sub/state.db
tier: big
tiers: { big: { rpm: 5, tpm: 6, concurrency: 7, models_rpm: 8 } }
credit: off
max_body: 1mb
providers:
  set:
    kind: openai
    base_url: https://one.example/v1
    api_key: \${SET_KEY}
    headers: { x-extra: "\${HEADER_KEY}" }
    models:
      small: { input: 0.15, cached_input: 0.075, output: 0.60 }
      a/b: { upstream: real-name, input: 1, output: 2.5 }
  short:
    kind: anthropic
    base_url: https://two.example/v1
    api_key: \${file:short.txt}
    models: { m: { input: 0.0028, output: 30, cache_write: 0.0035, cache_write_1h: 0.0056 } }
  missing:
    kind: openai
    base_url: https://three.example/v1
    api_key: \${UNSET_KEY}
    models: { m: { input: 0, output: 0 } }
`;

function placeWithSecrets(scope: ConstructorParameters<typeof Workplace>[0]): Workplace {
  const place = new Workplace(scope, CONFIG);
  place.write('short.txt', `${SHORT_SECRET}\n`);
  Object.assign(place.environment, { SET_KEY: SECRET, HEADER_KEY: HEADER_SECRET });
  return place;
}

describe('the catalog and the config', { concurrency: CONCURRENCY }, () => {
  test('`models` lists ids, prices per million tokens, upstream names and what is active', async (t) => {
    const place = placeWithSecrets(t);
    const [models, table] = await Promise.all([place.json('models'), place.run(['models'])]);
    assert.deepEqual(models, [
      {
        id: 'set/small',
        provider: 'set',
        upstream: 'small',
        input_usd: '0.15',
        cached_input_usd: '0.075000',
        output_usd: '0.60',
        active: true,
      },
      {
        id: 'set/a/b',
        provider: 'set',
        upstream: 'real-name',
        input_usd: '1.00',
        cached_input_usd: '1.00',
        output_usd: '2.50',
        active: true,
      },
      {
        id: 'short/m',
        provider: 'short',
        upstream: 'm',
        input_usd: '0.002800',
        cached_input_usd: '0.002800',
        output_usd: '30.00',
        active: true,
      },
      {
        id: 'missing/m',
        provider: 'missing',
        upstream: 'm',
        input_usd: '0.00',
        cached_input_usd: '0.00',
        output_usd: '0.00',
        active: false,
      },
    ]);
    assert.match(table.stdout, /per million tokens/);
    assert.match(table.stdout, /^missing\/m .* no$/m);
  });

  test('`config check` shows what would run, with secrets masked', async (t) => {
    const place = placeWithSecrets(t);
    const [json, text, list] = await inParallel(
      [['config', 'check', '--json'], ['config', 'check'], ['models']],
      (words) => place.run(words),
    );
    const checked = JSON.parse(json?.stdout ?? '');
    assert.equal(checked.listen, '[::1]:0');
    assert.equal(checked.state, `${place.directory}/sub/state.db`);
    assert.equal(checked.credit, 'off');
    assert.deepEqual(checked.limits, { rpm: 5, tpm: 6, concurrency: 7, models_rpm: 8 });
    assert.deepEqual(
      checked.providers.map((provider: Record<string, unknown>) => [provider.name, provider.active, provider.base_url]),
      [
        ['set', true, 'https://one.example/v1'],
        ['short', true, 'https://two.example/v1'],
        ['missing', false, 'https://three.example/v1'],
      ],
    );
    assert.match(text?.stdout ?? '', /UNSET_KEY is not set/);
    for (const { status, stdout, stderr } of [json, text, list].flatMap((result) => result ?? [])) {
      assert.equal(status, 0, stderr);
      for (const secret of [SECRET, SHORT_SECRET, HEADER_SECRET]) {
        assert.ok(!stdout.includes(secret) && !stderr.includes(secret));
        assert.ok(!stdout.includes(secret.slice(0, 8)), 'not even its beginning');
      }
    }
    assert.deepEqual(readdirSync(place.directory).sort(), ['config.yaml', 'short.txt'], 'a check creates nothing');
  });

  test('a check shows the proxies of providers without their credentials', async (t) => {
    const host = 'kind: openai, base_url: "https://one.example/v1", models: {}';
    const place = new Workplace(
      t,
      `proxy: http://ann:pass-canary@shared.example:3128\nproviders:\n  a: { ${host} }\n  b: { ${host}, proxy: "http://\${WHO}@own.example" }\n  c: { ${host}, proxy: off }\n`,
    );
    place.environment.WHO = 'zoe:canary-2';
    const [json, text] = await place.runAll([
      ['config', 'check', '--json'],
      ['config', 'check'],
    ]);
    const { providers } = JSON.parse(json?.stdout ?? '') as { providers: { proxy: string | null }[] };
    assert.deepEqual(
      providers.map(({ proxy }) => proxy),
      ['http://…@shared.example:3128', 'http://…@own.example', null],
    );
    assert.match(text?.stdout ?? '', /PROXY\n.*\n?a .*http:\/\/…@shared\.example:3128\n/);
    assert.doesNotMatch(`${json?.stdout}${json?.stderr}${text?.stdout}${text?.stderr}`, /canary|ann|zoe/);
  });

  test('a check names fallbacks that are not active, and long contexts that cost no more than others', async (t) => {
    const long = 'big: { input: 1, output: 2, cache_write: 1, cache_write_1h: 1, context_window: 1000000 }';
    const place = new Workplace(
      t,
      `providers:
  mock: { kind: mock, models: { echo: { input: 1, output: 2, fallback: [away/x] } } }
  claude: { kind: anthropic, base_url: "http://127.0.0.1:9/v1", api_key: k, models: { ${long} } }
  away: { kind: openai, base_url: "http://127.0.0.1:9/v1", api_key: "\${KEY_OF_NOBODY}", models: { x: { input: 1, output: 2 } } }
`,
    );
    const { stdout } = await place.run(['config', 'check']);
    assert.match(stdout, /^mock\/echo: its fallback away\/x is not active: KEY_OF_NOBODY is not set\.$/m);
    assert.match(stdout, /^claude\/big: a long context costs what any other does\./m);
    assert.equal(stdout.match(/^(?:mock|away|claude)\/.*\.$/gm)?.length, 2);
  });

  test('config check warns of a model that returns images without a price for them', async (t) => {
    const price = 'input: 1, output: 2';
    const models = [
      `unpriced: { upstream: gemini-3-pro-image, ${price} }`,
      `priced: { upstream: gemini-3-pro-image, ${price}, image_output: 120 }`,
      'pieces: { upstream: gemini-3-pro-image, per: { image: 0.04 } }',
      `text: { upstream: gemini-3-pro, ${price} }`,
    ];
    const place = new Workplace(
      t,
      `${MOCK_CONFIG}  g: { kind: gemini, base_url: 'http://127.0.0.1:9/v1beta', models: { ${models.join(', ')} } }\n`,
    );
    const { status, stderr } = await place.run(['config', 'check']);
    const warned = stderr.split('\n').filter((line) => line.includes('returns images'));
    assert.equal(status, 0, stderr);
    assert.deepEqual(warned, [
      'warning: g/unpriced returns images and has no price for them, so text requests to it get 400: set image_output',
    ]);
  });

  test('a model that has aliases is shown with them, wherever it stands', async (t) => {
    const place = new Workplace(t, `${MOCK_CONFIG}aliases: { fast: mock/echo, "e*": "mock/e*" }\n`);
    const { key } = await place.createKey('app');
    const serving = await place.serveHere();
    const answer = await serving.chat(key, { model: 'fast' });
    await answer.text();
    const id = answer.headers.get('x-request-id') ?? '';
    assert.match((await place.run(['models'])).stdout, /^mock\/echo .* fast, echo$/m);
    assert.match((await place.run(['config', 'check'])).stdout, /fast = mock\/echo, e\* = mock\/e\*/);
    const refused = await serving.chat(key, { model: 'fastt' });
    assert.match(await refused.text(), /Names like it: fast\./);
    assert.match((await place.run(['requests', 'show', id])).stdout, /^asked for as +fast$/m);
    const { model, alias } = await place.json<{ model: string; alias: string }>('requests', 'show', id);
    assert.deepEqual([model, alias], ['mock/echo', 'fast']);
  });

  test('a secret in an address is masked too, and an invalid value is not shown', async (t) => {
    const inAddress = CONFIG.replace('https://one.example/v1', `https://one.example/\${SET_KEY}/v1`);
    const place = new Workplace(t, inAddress);
    place.write('short.txt', `${SHORT_SECRET}\n`);
    place.write('broken.yaml', inAddress.replace('./sub/state.db', 'x').replace('x-extra', 'host'));
    Object.assign(place.environment, { SET_KEY: SECRET, HEADER_KEY: `${HEADER_SECRET}\nInjected: yes` });
    const results = await inParallel(
      [['config', 'check'], ['config', 'check', '--json'], ['config', 'check', '-c', 'broken.yaml'], ['serve']],
      (words) => place.run(words),
    );
    for (const { status, stdout, stderr } of results) {
      assert.equal(status, 1);
      assert.match(stderr, /^error: /);
      assert.ok(![stdout, stderr].some((text) => text.includes(SECRET) || text.includes(HEADER_SECRET)));
    }
    place.environment.HEADER_KEY = HEADER_SECRET;
    const checked = await inParallel(
      [
        ['config', 'check'],
        ['config', 'check', '--json'],
      ],
      (words) => place.run(words),
    );
    for (const { status, stdout, stderr } of checked) {
      assert.equal(status, 0, stderr);
      assert.ok(!stdout.includes(SECRET), 'the address is shown as it is spelled in the file');
    }
  });

  test('the password of a database is shown by no command, and no file is made for it', async (t) => {
    const place = new Workplace(
      t,
      `listen: 127.0.0.1:0\nstate: postgres://gw:\${SET_KEY}@127.0.0.1:1/gateway\nnode: blue\n`,
    );
    place.environment.SET_KEY = SECRET;
    const shown = 'postgres://gw:***@127.0.0.1:1/gateway';
    const [json, text, ...others] = await inParallel(
      [['config', 'check', '--json'], ['config', 'check'], ['status'], ['keys', 'list'], ['serve']],
      (words) => place.run(words),
    );
    const { state, node } = JSON.parse(json?.stdout ?? '') as Record<string, unknown>;
    assert.deepEqual({ state, node }, { state: shown, node: 'blue' });
    assert.match(text?.stdout ?? '', /^state database +postgres:\/\/gw:\*\*\*@127\.0\.0\.1:1\/gateway\nnode +blue$/m);
    for (const { status, stderr } of others) {
      assert.equal(status, 1);
      assert.match(stderr, /the database gateway at 127\.0\.0\.1:1, as user gw: nothing listens there/);
    }
    for (const { stdout, stderr } of [json, text, ...others].flatMap((result) => result ?? [])) {
      assert.ok(!(stdout + stderr).includes(SECRET), stdout + stderr);
    }
    assert.deepEqual(readdirSync(place.directory), ['config.yaml']);
  });
});
