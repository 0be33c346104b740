/** `models`, `status` and the log say what the running gateway serves, whatever this shell's variables would give. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { testAtLength } from '../support/at-length.ts';
import { CONCURRENCY, CONFIG, Workplace } from '../support/cli.ts';

const HOST = `  host:
    kind: openai
    base_url: https://host.example/v1
    api_key: \${HOST_KEY}
    models: { small: { input: 1, output: 2 } }
`;

const MESSAGES_HOST = HOST.replace('kind: openai', 'kind: anthropic').replace(
  'output: 2 }',
  'output: 2, cache_write: 1.25, cache_write_1h: 2 }',
);

interface ModelJson {
  readonly id: string;
  readonly active: boolean;
}

async function activeOf(place: Workplace): Promise<readonly string[]> {
  return (await place.json<ModelJson[]>('models')).filter(({ active }) => active).map(({ id }) => id);
}

describe('what the running gateway serves', { concurrency: CONCURRENCY }, () => {
  for (const threads of [1, 2]) {
    const testIt = threads > 1 ? testAtLength : test;
    testIt(
      `is what \`models\` and \`status\` say, with ${threads} threads: the provider that it left out is not active`,
      async (t) => {
        // The upstreams of each kind of provider have variables.
        const host = threads === 1 ? HOST : MESSAGES_HOST;
        const place = new Workplace(t, `threads: ${threads}\n${CONFIG}${host}`);
        const serving = await place.serveHere();
        place.environment.HOST_KEY = 'only-in-this-shell';
        assert.deepEqual(await activeOf(place), ['mock/echo', 'mock/paid']);
        const [table, human] = await place.runAll([['models'], ['status']]);
        assert.match(table?.stdout ?? '', /^host\/small .* no$/m);
        assert.match(table?.stderr ?? '', /gateway was started without a variable/);
        assert.match(human?.stdout ?? '', /^left out +host: HOST_KEY is not set$/m);
        const { skipped } = await place.json<{ skipped: unknown }>('status');
        assert.deepEqual(skipped, [{ name: 'host', missing_variable: 'HOST_KEY' }]);

        // The gateway keeps what it was started with, until it reloads the file.
        place.write('config.yaml', `threads: ${threads}\n${CONFIG.replace('paid:', 'costly:')}${host}`);
        assert.deepEqual(await activeOf(place), ['mock/echo', 'mock/paid']);
        assert.equal((await place.run(['reload'])).status, 0);
        assert.deepEqual(await activeOf(place), ['mock/echo', 'mock/costly']);
        assert.equal(await serving.stop(), 0);
        assert.deepEqual(await activeOf(place), ['mock/echo', 'mock/costly', 'host/small'], 'nobody to ask');
      },
    );
  }

  test('explains a 404 in the log, with the request id, and not to the client', async (t) => {
    const place = new Workplace(t, `${CONFIG}${HOST}`);
    const serving = await place.serveHere();
    const { key } = await place.createKey('app');
    const headers = { authorization: `Bearer ${key}` };
    const [chat, listing] = [
      await serving.chat(key, { model: 'host/small' }),
      await fetch(`${serving.url}/v1/models/host/small`, { headers }),
    ];
    for (const response of [chat, listing]) {
      assert.equal(response.status, 404);
      assert.doesNotMatch(await response.text(), /HOST_KEY|left out/);
      const id = response.headers.get('x-request-id') ?? '';
      const line = await serving.logged(new RegExp(`^${id} host/small: left out: HOST_KEY is not set$`));
      assert.deepEqual([line.level, line.request_id, line.model], ['warn', id, 'host/small']);
    }
    assert.equal((await serving.chat(key, { model: 'host/other' })).status, 404);
    assert.equal((await fetch(`${serving.url}/v1/models/host/small`)).status, 401);
    await serving.stop();
    assert.equal(serving.log.filter(({ msg }) => msg.includes('left out')).length, 2);
  });

  test('has no blanks around its keys, which a warning names at the start and in `config check`', async (t) => {
    const keys = { literal: '" sk-literal "', variable: `\${PADDED}`, file: `\${file:key.txt}`, clean: 'sk-clean' };
    const providers = Object.entries(keys).map(
      ([name, key]) => `${HOST.replace('host:', `${name}:`).replace(`\${HOST_KEY}`, key)}`,
    );
    const place = new Workplace(t, CONFIG + providers.join(''));
    place.write('key.txt', 'sk-file\n');
    place.environment.PADDED = ' sk-variable\t';
    const expected = ['literal', 'variable'].map(
      (name) => `providers.${name}.api_key: removed the blanks around the key`,
    );
    const check = await place.run(['config', 'check', '--json']);
    assert.deepEqual(
      check.stderr.trim().split('\n'),
      expected.map((line) => `warning: ${line}`),
    );
    const serving = await place.serveHere();
    const warnings = serving.log.filter(({ level }) => level === 'warn').map(({ msg }) => msg);
    assert.deepEqual(warnings, expected);
    assert.doesNotMatch(serving.text, /sk-(literal|variable)/);
  });

  for (const [host, isWarned] of [
    ['127.0.0.1', false],
    ['0.0.0.0', true],
    ['localhost', false],
  ] as const) {
    test(`on ${host} is ${isWarned ? '' : 'not '}announced as plain HTTP`, async (t) => {
      const place = new Workplace(t, CONFIG.replace('127.0.0.1:0', `${host}:0`));
      const serving = await place.serveHere();
      await serving.stop();
      const warnings = serving.log.filter(({ level, msg }) => level === 'warn' && /plain HTTP/.test(msg));
      assert.equal(warnings.length, isWarned ? 1 : 0, serving.text);
    });
  }
});
