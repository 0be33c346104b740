/** The parts of `run`: its words, its receipt, the environment of a command, and how its gateway is found. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clientOf } from '../../src/cli/clients/clients.ts';
import { configOfKeys, withoutGatewayKeys } from '../../src/cli/run/config-of-keys.ts';
import { urlOf } from '../../src/cli/run/gateway.ts';
import { type Facts, leashOf, receiptLines } from '../../src/cli/run/receipt.ts';
import { commandEnvironment } from '../../src/cli/run/variables.ts';
import { secretVariablesIn } from '../../src/config/secret-variables.ts';
import { mintKey } from '../../src/core/api-key.ts';
import { Workplace } from '../support/cli.ts';

describe('the words of run', () => {
  for (const [words, expected] of [
    [['--', 'claude', '--help'], /--max-usd is missing: a command that spends money needs a bound/],
    [['--max-usd', '2'], /which command\? Put it after --/],
    [['--max-usd', '2', 'claude', '--continue'], /unexpected claude: put -- before the command/],
    [['--max-dollars', '2', '--max-usd', '2', '--', 'claude'], /unexpected --max-dollars/],
    [['--max-usd', '0', '--', 'claude'], /'0' is invalid. Expected more than 0/],
    [['--max-usd', '2', '--for', '2', '--', 'claude'], /Expected how long, such as 30m/],
  ] as const) {
    test(`${words.join(' ')}: a usage error`, async (t) => {
      const { status, stderr } = await new Workplace(t).run(['run', ...words]);
      assert.equal(status, 2);
      assert.match(stderr, expected);
    });
  }
});

const ROW = {
  ...{ key: undefined, keyId: undefined, model: undefined, day: undefined, month: undefined, source: undefined },
  ...{ requests: 3, errors: 1, promptTokens: 12_000, cachedTokens: 9_000, cacheWriteTokens: 0, completionTokens: 450 },
  costNanos: 1_999_999_999n,
};
const FACTS: Facts = {
  key: { id: 'key_01', name: 'agent' },
  outer: undefined,
  inner: 0,
  command: 'claude',
  ending: { status: 143, signal: 'SIGTERM', problem: undefined },
  startedAtMs: 0,
  endedAtMs: 75_000,
  budgetNanos: 2_000_000_000n,
  expiresAtMs: 60_000,
  statePath: '/srv/inf-gw.db',
  total: ROW,
  models: [{ ...ROW, model: 'host/paid' }],
  failed: [],
  cutAnswers: 0,
  refusals: [{ code: 'rate_limited', reason: 'concurrency', requests: 4, lastAtMs: 0 }],
  inFlight: 1,
  errors: ['cannot write'],
};

test('a receipt says everything, to the nanodollar, and what held the command back', () => {
  assert.equal(
    receiptLines(FACTS, { room: undefined, paint: (text) => text }).join('\n'),
    `
claude ended by SIGTERM after 1m15s
leash      its time ended at 1970-01-01T00:01:00.000Z
cost       1.999999999 of 2.00 USD
requests   3, 1 of them failed
tokens     12,000 in (9,000 from caches), 450 out
refused    4: rate_limited, concurrency
in flight  1 request, not counted above
gateway    cannot write
key        agent (key_01), disabled
journal    /srv/inf-gw.db

MODEL      REQUESTS  ERRORS  TOKENS IN  CACHED  TOKENS OUT  TOKENS   COST (USD)
host/paid         3       1     12,000   9,000         450  12,450  1.999999999`,
  );
  const refusals = [{ code: 'spend_limit_reached', reason: 'spend_limit_reached', requests: 1, lastAtMs: 0 }];
  assert.equal(leashOf({ ...FACTS, refusals }), 'budget');
  assert.equal(leashOf({ ...FACTS, endedAtMs: 59_999 }), null);
});

describe('the environment of a command', () => {
  const access = { url: 'http://127.0.0.1:8787', key: 'sk-inf-new', models: undefined };
  const given = { OPENAI_BASE_URL: 'http://127.0.0.1:8787/v1', ANTHROPIC_BASE_URL: 'http://127.0.0.1:8787' };
  const before = {
    HOME: '/home/ann',
    OPENAI_API_KEY: 'sk-operator-1',
    ANTHROPIC_API_KEY: 'sk-operator-2',
    ANTHROPIC_AUTH_TOKEN: 'sk-operator-3',
    GEMINI_API_KEY: 'sk-operator-4',
    AZURE_OPENAI_API_KEY: 'sk-operator-5',
    CUSTOM: 'sk-operator-6',
    COPY_OF_KEY: 'sk-operator-1',
    OF_A_FILE: 'sk-operator-7',
    GITHUB_TOKEN: 'ghp-of-the-command',
  };
  const secrets = { names: ['CUSTOM'], values: ['sk-operator-7', 'dummy', 'pass/word "8"'] };

  test('has what clients read, all of its own variables, and none of the keys of the operator', () => {
    const environment = commandEnvironment(before, clientOf('/usr/bin/aider'), access, secrets);
    assert.deepEqual(environment, {
      ...given,
      HOME: '/home/ann',
      GITHUB_TOKEN: 'ghp-of-the-command',
      INF_GW_URL: 'http://127.0.0.1:8787',
      INF_GW_KEY: 'sk-inf-new',
      OPENAI_API_KEY: 'sk-inf-new',
      OPENAI_API_BASE: 'http://127.0.0.1:8787/v1',
      OPENAI_API_BASE_URL: 'http://127.0.0.1:8787/v1',
      ANTHROPIC_API_BASE: 'http://127.0.0.1:8787',
      ANTHROPIC_API_KEY: 'sk-inf-new',
      GOOGLE_GEMINI_BASE_URL: 'http://127.0.0.1:8787',
      GEMINI_API_KEY: 'sk-inf-new',
    });
  });

  for (const [form, value] of [
    ['in a header', 'Authorization: Bearer sk-operator-1'],
    ['of a file, in a header', 'x-api-key:sk-operator-7'],
    ['in JSON', '{"key":"sk-operator-2","url":"https://example.com"}'],
    ['escaped in JSON', '{"key":"pass/word \\"8\\""}'],
    ['in a URL', 'https://ann:sk-operator-4@example.com/v1'],
    ['encoded in a URL', 'https://example.com?key=pass%2Fword%20%228%22'],
    ['in base64', `Authorization: Basic ${Buffer.from('ann:sk-operator-5').toString('base64')}`],
    ['in base64 for a URL', Buffer.from('{"k?":"sk-operator-3~"}').toString('base64url')],
    ['of a variable of the config, between lines', 'first\nsk-operator-6\nlast'],
    ['too short to be found in others, as a whole', ' dummy '],
  ] as const) {
    test(`loses a variable that has a key of the operator ${form}`, () => {
      const environment = commandEnvironment({ ...before, ANY_NAME: value }, undefined, access, secrets);
      assert.equal(environment.ANY_NAME, undefined);
      assert.equal(environment.GITHUB_TOKEN, 'ghp-of-the-command');
    });
  }

  test('keeps a variable in which a short key occurs by chance', () => {
    assert.equal(commandEnvironment({ A: 'a dummy text' }, undefined, access, secrets).A, 'a dummy text');
  });

  test('has no other key of a gateway, such as that of a run around it', () => {
    const outer = { INF_GW_KEY: 'sk-inf-outer', ANTHROPIC_AUTH_TOKEN: 'sk-inf-outer', MINE: 'Bearer sk-inf-outer' };
    const values = Object.values(commandEnvironment(outer, undefined, access, secrets));
    assert.ok(!values.some((value) => value?.includes('sk-inf-outer')));
  });

  test('has one key of Anthropic: Claude Code asks no question about the token', () => {
    const environment = commandEnvironment(before, clientOf('/usr/bin/claude'), access, secrets);
    assert.deepEqual([environment.ANTHROPIC_AUTH_TOKEN, environment.ANTHROPIC_API_KEY], ['sk-inf-new', undefined]);
  });

  test('has none of the switches that send a client past the gateway, whatever the command is', () => {
    const switches = {
      CLAUDE_CODE_USE_BEDROCK: '1',
      CLAUDE_CODE_USE_MANTLE: '1',
      CLAUDE_CODE_USE_ANTHROPIC_AWS: '1',
      CLAUDE_CODE_USE_VERTEX: '1',
      CLAUDE_CODE_USE_FOUNDRY: '1',
      ANTHROPIC_BEDROCK_BASE_URL: 'https://bedrock.example',
      ANTHROPIC_VERTEX_BASE_URL: 'https://vertex.example',
      ANTHROPIC_FOUNDRY_BASE_URL: 'https://foundry.example',
      AIDER_OPENAI_API_BASE: 'https://api.example/v1',
      GOOSE_LEAD_PROVIDER: 'anthropic',
      ANTHROPIC_AWS_API_KEY: 'sk-of-aws',
    };
    for (const command of ['claude', 'aider', 'goose', 'make']) {
      const environment = commandEnvironment({ ...switches, AWS_PROFILE: '1' }, clientOf(command), access, secrets);
      const left = Object.keys(switches).filter((name) => environment[name] !== undefined);
      assert.deepEqual([left, environment.AWS_PROFILE], [[], '1'], command);
    }
  });

  for (const [value, kept] of [
    ['x-api-key: sk-of-ann', false],
    ['X-Inf-Gw-Tag: a\nAuthorization: Bearer sk-of-ann', false],
    ['X-Inf-Gw-Tag: a', true],
  ] as const) {
    test(`${kept ? 'keeps' : 'loses'} headers for the requests of a client: ${JSON.stringify(value)}`, () => {
      const { ANTHROPIC_CUSTOM_HEADERS: headers } = commandEnvironment(
        { ANTHROPIC_CUSTOM_HEADERS: value },
        clientOf('claude'),
        access,
        secrets,
      );
      assert.equal(headers, kept ? value : undefined);
    });
  }

  test('keeps proxies away from the gateway', () => {
    const environment = commandEnvironment(
      { https_proxy: 'p', HTTP_PROXY: 'p', no_proxy: 'a' },
      undefined,
      access,
      secrets,
    );
    assert.deepEqual([environment.no_proxy, environment.NO_PROXY], ['a,127.0.0.1', 'a,127.0.0.1']);
    assert.equal(commandEnvironment({ no_proxy: 'a' }, undefined, access, secrets).no_proxy, 'a');
  });

  test('loses the variables that the config takes secrets from, and keeps those of its addresses and paths', () => {
    const config = (state: string) => `
state: ${state}
node: \${NODE}
providers:
  one:
    kind: openai
    base_url: https://\${HOST}.example/v1?sig=\${SIGNATURE}
    api_key: \${FIRST}
    headers: { x-token: "t-\${SECOND}" }
  two: { kind: openai, upstreams: [{ base_url: "https://\${HOST}", api_key: "\${THIRD}" }] }
`;
    const named = (state: string) => secretVariablesIn(config(state), { URL: 'postgres://ann:pw@db/gw' }).toSorted();
    const keys = ['FIRST', 'SECOND', 'SIGNATURE', 'THIRD'];
    assert.deepEqual(named('$' + '{HOME}/gw.db'), keys);
    assert.deepEqual(named('postgres://ann:$' + '{DB}@db/gw'), ['DB', ...keys]);
    assert.deepEqual(named('$' + '{URL}'), [...keys, 'URL']);
  });

  test('keeps the address of a proxy, which it may need itself, and loses the password in one', () => {
    const named = (proxy: string) => secretVariablesIn(`proxy: ${proxy}`, {});
    assert.deepEqual(named(`"\${HTTPS_PROXY}"`), []);
    assert.deepEqual(named(`"http://ann:\${PASSWORD}@\${HOST}:3128"`), ['PASSWORD']);
  });

  test("loses Amazon's, Google's and Microsoft's credentials where a provider needs them", () => {
    const named = (kind: string, fields: string) =>
      secretVariablesIn(`providers: { a: { kind: ${kind}, ${fields} } }`, {});
    const amazon = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'];
    assert.deepEqual(named('bedrock', 'region: eu-west-1'), amazon);
    const google = ['GOOGLE_APPLICATION_CREDENTIALS', 'google_application_credentials'];
    assert.deepEqual(named('vertex', 'region: global'), google);
    const microsoft = ['AZURE_CLIENT_SECRET', 'AZURE_FEDERATED_TOKEN_FILE', 'IDENTITY_HEADER'];
    assert.deepEqual(named('openai', 'auth: entra'), microsoft);
    for (const kind of ['bedrock', 'vertex']) assert.deepEqual(named(kind, 'api_key: "$' + '{KEY}"'), ['KEY']);
  });
});

test('without a config the providers whose keys are set are active, and the budget stands in for credit', () => {
  const environment = { OPENAI_API_KEY: 'sk-1', GOOGLE_API_KEY: 'sk-2', GROQ_API_KEY: mintKey() };
  const config = configOfKeys(withoutGatewayKeys(environment), '/state');
  const names = config.providers.map(({ name }) => name).filter((name) => name !== 'mock');
  assert.deepEqual(names, ['openai', 'google']);
  assert.deepEqual([config.creditEnforced, config.statePath, config.path], [false, '/state/inf-gw.db', undefined]);
});

test('a gateway on all addresses is reached on the loopback address', () => {
  for (const [address, expected] of [
    ['0.0.0.0:80', 'http://127.0.0.1:80'],
    ['[::]:8787', 'http://[::1]:8787'],
    ['10.0.0.5:8787', 'http://10.0.0.5:8787'],
  ] as const) {
    assert.equal(urlOf(address), expected);
  }
});

test('a gateway with a certificate is reached by a name that this is for', () => {
  for (const [names, expected] of [
    [['127.0.0.1', 'localhost'], 'https://127.0.0.1:80'],
    [['10.0.0.5', 'gateway.example', 'localhost'], 'https://gateway.example:80'],
    [[], 'https://127.0.0.1:80'],
  ] as const) {
    assert.equal(urlOf('0.0.0.0:80', names), expected);
  }
});
