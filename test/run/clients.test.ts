/** The clients that `run` and `env` know: what each is told, and which model is chosen for it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { chooseModels, type ModelChoice, type Offer } from '../../src/cli/clients/choice.ts';
import { CLIENTS, type Client, clientOf } from '../../src/cli/clients/clients.ts';
import { configuredOffers } from '../../src/cli/clients/offers.ts';
import { SHELLS, shellLines } from '../../src/cli/clients/shells.ts';
import { writeFileOf } from '../../src/cli/run/launch.ts';
import { EXAMPLE } from '../../src/config/example.ts';
import { parseWithoutFile } from '../../src/config/load.ts';
import type { DialectName } from '../../src/core/dialects.ts';
import { modelRows } from '../../src/gateway/served.ts';
import { CONCURRENCY, CONFIG, linesOf, type Result, Workplace } from '../support/cli.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';

const offer = (id: string, contextWindow: number | undefined): Offer => ({
  id,
  provider: 'p',
  dialects: [],
  native: [],
  output: 0n,
  contextWindow,
  maxOutput: undefined,
  isAlias: false,
});
const MODELS: ModelChoice = { main: offer('p/main', 200_000), small: offer('p/small', undefined) };
const SETUP = { url: 'http://gw:1', key: 'KEY', models: MODELS };

/** What a client is told beside the variables that every command gets. */
const TOLD: Readonly<Record<string, object>> = {
  claude: {
    ANTHROPIC_BASE_URL: 'http://gw:1',
    ANTHROPIC_AUTH_TOKEN: 'KEY',
    CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: '1',
    ANTHROPIC_MODEL: 'p/main',
    ANTHROPIC_DEFAULT_OPUS_MODEL: 'p/main',
    ANTHROPIC_DEFAULT_SONNET_MODEL: 'p/main',
    ANTHROPIC_DEFAULT_HAIKU_MODEL: 'p/small',
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: '200000',
  },
  codex: {
    INF_GW_KEY: 'KEY',
    words: [
      'model_provider="inf-gw"',
      'model_providers.inf-gw.name="inf-gw"',
      'model_providers.inf-gw.base_url="http://gw:1/v1"',
      'model_providers.inf-gw.env_key="INF_GW_KEY"',
      'model_providers.inf-gw.wire_api="responses"',
      'model="p/main"',
      'model_providers.inf-gw.model_catalog_url="http://gw:1/v1/models"',
      'model_context_window=200000',
    ].flatMap((word) => ['-c', word]),
  },
  opencode: {
    INF_GW_KEY: 'KEY',
    OPENCODE_CONFIG_CONTENT: {
      model: 'inf-gw/p/main',
      small_model: 'inf-gw/p/small',
      provider: {
        'inf-gw': {
          npm: '@ai-sdk/openai-compatible',
          options: { baseURL: 'http://gw:1/v1', apiKey: '{env:INF_GW_KEY}' },
          models: {
            'p/main': { limit: { context: 200_000, output: 32_000 } },
            'p/small': { limit: { context: 128_000, output: 32_000 } },
          },
        },
      },
    },
  },
  aider: {
    OPENAI_API_BASE: 'http://gw:1/v1',
    OPENAI_API_KEY: 'KEY',
    AIDER_MODEL: 'openai/p/main',
    AIDER_WEAK_MODEL: 'openai/p/small',
    AIDER_SHOW_MODEL_WARNINGS: 'false',
  },
  goose: {
    OPENAI_HOST: 'http://gw:1',
    OPENAI_BASE_PATH: 'v1/chat/completions',
    OPENAI_API_KEY: 'KEY',
    GOOSE_PROVIDER: 'openai',
    GOOSE_MODEL: 'p/main',
  },
  qwen: {
    OPENAI_BASE_URL: 'http://gw:1/v1',
    OPENAI_API_KEY: 'KEY',
    OPENAI_MODEL: 'p/main',
    words: ['--auth-type', 'openai'],
  },
  copilot: {
    COPILOT_PROVIDER_BASE_URL: 'http://gw:1/v1',
    COPILOT_PROVIDER_TYPE: 'openai',
    COPILOT_PROVIDER_WIRE_API: 'completions',
    COPILOT_PROVIDER_API_KEY: 'KEY',
    COPILOT_MODEL: 'p/main',
    COPILOT_PROVIDER_MAX_PROMPT_TOKENS: '200000',
    COPILOT_PROVIDER_MAX_OUTPUT_TOKENS: '32000',
  },
  pi: {
    INF_GW_KEY: 'KEY',
    words: ['--provider', 'inf-gw', '--model', 'p/main'],
    PI_CODING_AGENT_DIR: {
      providers: {
        'inf-gw': {
          baseUrl: 'http://gw:1/v1',
          api: 'openai-completions',
          apiKey: 'INF_GW_KEY',
          models: [{ id: 'p/main', contextWindow: 200_000, maxTokens: 32_000 }],
        },
      },
    },
  },
  droid: {
    INF_GW_KEY: 'KEY',
    FACTORY_RUNTIME_SETTINGS_PATH: {
      customModels: [
        {
          model: 'p/main',
          displayName: 'inf-gw',
          baseUrl: 'http://gw:1/v1',
          // biome-ignore lint/suspicious/noTemplateCurlyInString: droid reads the variable.
          apiKey: '${INF_GW_KEY}',
          provider: 'generic-chat-completion-api',
          maxOutputTokens: 32_000,
          maxContextLimit: 200_000,
        },
      ],
      sessionDefaultSettings: { model: 'custom:inf-gw-0' },
    },
  },
  gemini: {
    GOOGLE_GEMINI_BASE_URL: 'http://gw:1',
    GEMINI_API_KEY: 'KEY',
    GEMINI_MODEL: 'p/main',
    GEMINI_CLI_HOME: { security: { auth: { selectedType: 'gemini-api-key' } } },
  },
  crush: {
    INF_GW_KEY: 'KEY',
    CRUSH_GLOBAL_CONFIG: {
      models: {
        large: { provider: 'inf-gw', model: 'p/main' },
        small: { provider: 'inf-gw', model: 'p/small' },
      },
      providers: {
        'inf-gw': {
          type: 'openai-compat',
          base_url: 'http://gw:1/v1',
          api_key: '$INF_GW_KEY',
          models: [
            { id: 'p/main', name: 'p/main', context_window: 200_000, default_max_tokens: 32_000 },
            { id: 'p/small', name: 'p/small', context_window: 128_000, default_max_tokens: 32_000 },
          ],
        },
      },
    },
  },
};

function told(client: Client, setup: typeof SETUP | (Omit<typeof SETUP, 'models'> & { models: undefined })): object {
  const parsed = Object.entries(client.variables(setup)).map(([name, value]) => [
    name,
    value.startsWith('{') ? JSON.parse(value) : value,
  ]);
  const file = client.file?.(setup);
  const words = client.words?.(setup);
  return {
    ...Object.fromEntries(parsed),
    ...(file && { [file.variable]: JSON.parse(file.text) }),
    ...(words && { words }),
  };
}

describe('a client is told address, key and models in its own way:', () => {
  for (const client of CLIENTS) {
    test(client.name, () => {
      assert.deepEqual(told(client, SETUP), TOLD[client.name]);
      const alone = JSON.stringify(told(client, { ...SETUP, models: undefined }));
      assert.doesNotMatch(alone, /p\/main|p\/small/, 'without a model it keeps its own');
    });
  }

  test('by the name of its command, wherever that is', () => {
    assert.equal(clientOf('/opt/bin/codex')?.title, 'Codex');
    assert.equal(clientOf('codex.sh'), undefined);
  });
});

/** The models of the example with these keys set, as a key with this allowlist can call them. */
function offersOf(variables: readonly string[], allowlist: readonly string[] | null = null): Offer[] {
  const config = parseWithoutFile(EXAMPLE, Object.fromEntries(variables.map((name) => [name, 'set'])), '/');
  return configuredOffers(modelRows(config), config, allowlist);
}

const CHOSEN: readonly (readonly [
  what: string,
  offers: readonly Offer[],
  dialect: DialectName,
  named: string | undefined,
  models: readonly string[] | undefined,
])[] = [
  ['only the mock', offersOf([]), 'chat', undefined, ['mock/echo', 'mock/echo']],
  [
    'a host of its own dialect, though others are dearer',
    offersOf(['OPENAI_API_KEY', 'ANTHROPIC_API_KEY']),
    'messages',
    undefined,
    ['anthropic/claude-sonnet-5', 'anthropic/claude-haiku-4-5'],
  ],
  [
    'the same for another dialect',
    offersOf(['OPENAI_API_KEY', 'ANTHROPIC_API_KEY']),
    'responses',
    undefined,
    ['openai/gpt-5.4', 'openai/gpt-4.1-mini'],
  ],
  [
    'a host that is translated for',
    offersOf(['ANTHROPIC_API_KEY']),
    'chat',
    undefined,
    ['anthropic/claude-sonnet-5', 'anthropic/claude-haiku-4-5'],
  ],
  [
    'the cheapest, where all are dear',
    offersOf(['ANTHROPIC_API_KEY'], ['anthropic/claude-opus-5']),
    'messages',
    undefined,
    ['anthropic/claude-opus-5', 'anthropic/claude-opus-5'],
  ],
  [
    'what is named, for all its tasks',
    offersOf(['ANTHROPIC_API_KEY']),
    'messages',
    'anthropic/claude-opus-5',
    ['anthropic/claude-opus-5', 'anthropic/claude-opus-5'],
  ],
  ['nothing that it cannot call', offersOf(['ANTHROPIC_API_KEY']), 'messages', 'openai/gpt-5.4', undefined],
  ['nothing of an empty allowlist', offersOf(['ANTHROPIC_API_KEY'], []), 'messages', undefined, undefined],
];

describe('the models that are chosen:', () => {
  for (const [what, offers, dialect, named, models] of CHOSEN) {
    test(what, () => {
      const choice = chooseModels(offers, { dialect }, named);
      assert.deepEqual(choice && [choice.main.id, choice.small.id], models);
    });
  }
});

test('Codex is told a model of its own table where there is one, and then no other table', () => {
  const codex = clientOf('codex') ?? assert.fail();
  const models = chooseModels(offersOf(['OPENAI_API_KEY']), codex) ?? assert.fail();
  assert.equal(models.main.id, 'openai/gpt-6-luna');
  assert.equal(JSON.stringify(codex.words?.({ ...SETUP, models })).includes('model_catalog_url'), false);
});

/** A client that sends one message to the model that it is told, and says what it was started with. */
const AGENT = `#!/usr/bin/env node
const { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: key, ANTHROPIC_MODEL: model } = process.env;
const headers = { authorization: 'Bearer ' + key };
const messages = [{ role: 'user', content: 'Hello!' }];
fetch(url + '/v1/messages', { method: 'POST', headers, body: JSON.stringify({ model, max_tokens: 9, messages }) })
  .then((answer) => console.log(answer.status, model, process.argv.slice(2).join(' ')));
`;

function agentAt(place: Workplace, name: string, text: string): string {
  const path = place.write(name, text);
  chmodSync(path, 0o755);
  return path;
}

function placeWith(t: TestContext, port = 0): Workplace {
  const config = CONFIG.replace('127.0.0.1:0', `127.0.0.1:${port}`);
  return new Workplace(t, `${config}aliases: { quick: mock/echo, "old-*": mock/echo }\ncredit: off\n`);
}

/** In processes of their own, since the exit of `run` is that of the command. */
async function inTurn(place: Workplace, rows: readonly (readonly string[])[]): Promise<Result[]> {
  const results: Result[] = [];
  for (const words of rows) results.push(await place.runAlone(words));
  return results;
}

describe('run', { concurrency: CONCURRENCY }, () => {
  test('tells a client that it knows a model that the key can call, and says which', async (t) => {
    const place = placeWith(t);
    const agent = agentAt(place, 'claude', AGENT);
    const [chosen, named, said, allowed] = await inTurn(place, [
      ['run', '--max-usd', '2', '--', agent, '-p', 'x'],
      ['run', '--max-usd', '2', '--model', 'quick', '--', agent],
      ['run', '--max-usd', '2', '--client', 'codex', '--', '/bin/echo', 'exec'],
      ['run', '--max-usd', '2', '--allow', 'mock/echo', '--', agent],
    ]);
    assert.equal(chosen?.stdout, '200 mock/paid -p x\n');
    assert.match(chosen?.stderr ?? '', /Claude Code is told to use mock\/paid; --model chooses another/);
    assert.equal(named?.stdout, '200 quick \n');
    assert.match(named?.stderr ?? '', /Claude Code is told to use quick\n/);
    assert.match(said?.stdout ?? '', /^-c model_provider="inf-gw" .* exec$/m);
    assert.match(said?.stderr ?? '', /requests +none: the command called no model through the gateway/);
    assert.equal(allowed?.stdout, '200 mock/echo \n');
    assert.doesNotMatch(allowed?.stderr ?? '', /sent nothing/);
  });

  test('takes every name that the gateway takes, and says where that of a variable is not taken', async (t) => {
    const place = placeWith(t);
    const agent = agentAt(place, 'claude', AGENT);
    const run = ['run', '--max-usd', '2'];
    const [marked, ofPattern] = await inTurn(place, [
      [...run, '--model', 'mock/echo[1m]', '--', agent],
      [...run, '--model', 'old-thing[1m]', '--', agent],
    ]);
    assert.equal(marked?.stdout, '200 mock/echo[1m] \n', marked?.stderr ?? '');
    assert.equal(ofPattern?.stdout, '200 old-thing[1m] \n', ofPattern?.stderr ?? '');
    place.environment.ANTHROPIC_MODEL = 'mock/echo[1m]';
    const own = await place.runAlone([...run, '--', agent]);
    assert.equal(own.stdout, '200 mock/echo[1m] \n', own.stderr);
    place.environment.ANTHROPIC_MODEL = 'claude-unknown';
    const other = await place.runAlone([...run, '--', agent]);
    assert.equal(other.stdout, '200 mock/paid \n', other.stderr);
    assert.match(other.stderr, /ANTHROPIC_MODEL=claude-unknown is not taken: Claude Code cannot call it/);
  });

  test('starts nothing that could not use the gateway as it is told to', async (t) => {
    const place = placeWith(t);
    const agent = agentAt(place, 'claude', AGENT);
    const [unknown, none] = await inTurn(place, [
      ['run', '--max-usd', '2', '--model', 'mock/payd', '--', agent],
      ['run', '--max-usd', '2', '--model', 'mock/echo', '--', '/bin/echo'],
    ]);
    assert.deepEqual([unknown?.status, unknown?.stdout], [1, '']);
    assert.match(unknown?.stderr ?? '', /--model mock\/payd: .*; names like it: mock\/paid\n$/);
    assert.deepEqual([none?.status, none?.stdout], [2, '']);
    const keys = await place.json<{ state: string }[]>('keys', 'list');
    assert.deepEqual(new Set(keys.map(({ state }) => state)), new Set(['disabled']));
  });

  test('stops before the command if the provider of its model refuses the key, and names the remedy', async (t) => {
    const host = await FakeUpstream.start();
    t.after(() => host.close());
    host.follow((call) => call.answer(401, { error: { message: 'Incorrect API key provided.' } }));
    const provider = `  host: { kind: openai, base_url: 'http://127.0.0.1:${host.port}/v1', api_key: wrong-4711, models: { paid: { input: 1, output: 2 } } }\n`;
    const place = new Workplace(t, `${CONFIG}${provider}credit: off\n`);
    const agent = agentAt(place, 'opencode', '#!/bin/sh\necho started\n');
    const { status, stdout, stderr } = await place.runAlone([
      'run',
      '--max-usd',
      '2',
      '--model',
      'host/paid',
      '--',
      agent,
    ]);
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(
      stderr,
      /^error: provider host of host\/paid refuses its key \(401\): correct its api_key, or the variable that it names/m,
    );
    assert.doesNotMatch(stderr, /4711/);
  });

  test('asks the running gateway whether its key is refused, whatever the keys of this shell are', async (t) => {
    const host = await FakeUpstream.start();
    t.after(() => host.close());
    host.follow((call) => {
      const isGood = call.header('authorization') === 'Bearer good-4711';
      call.answer(isGood ? 200 : 401, isGood ? { data: [] } : { error: { message: 'Incorrect API key provided.' } });
    });
    const provider = `  host: { kind: openai, base_url: 'http://127.0.0.1:${host.port}/v1', api_key: "\${HOST_KEY}", models: { paid: { input: 1, output: 2 } } }\n`;
    const outcomes: unknown[] = [];
    for (const [ofGateway, ofShell] of [
      ['good-4711', 'wrong-4711'],
      ['wrong-4711', 'good-4711'],
    ] as const) {
      const place = new Workplace(t, `${CONFIG}${provider}credit: off\n`);
      const agent = agentAt(place, 'opencode', '#!/bin/sh\necho started\n');
      place.environment.HOST_KEY = ofGateway;
      await place.serve();
      place.environment.HOST_KEY = ofShell;
      const run = await place.runAlone(['run', '--max-usd', '2', '--model', 'host/paid', '--', agent]);
      outcomes.push([run.status, run.stdout, /refuses its key/.test(run.stderr)]);
    }
    assert.deepEqual(outcomes, [
      [0, 'started\n', false],
      [1, '', true],
    ]);
  });

  test('warns of a model whose context Claude Code would guess', async (t) => {
    const provider =
      "  host: { kind: openai, base_url: 'http://127.0.0.1:9/v1', models: { paid: { input: 1, output: 2 } } }\n";
    const place = new Workplace(t, `${CONFIG.replace('127.0.0.1:0', '127.0.0.1:8787')}${provider}credit: off\n`);
    const note = /note: host\/paid has no context_window in the config, so Claude Code assumes 1,000,000 tokens/;
    const run = ['run', '--max-usd', '2', '--model', 'host/paid', '--client'];
    const [claude, codex] = await inTurn(place, [
      [...run, 'claude', '--', '/bin/true'],
      [...run, 'codex', '--', '/bin/true'],
    ]);
    assert.match(claude?.stderr ?? '', note);
    assert.doesNotMatch(codex?.stderr ?? '', /no context_window/);
    assert.match((await place.run(['env', '--client', 'claude', '--model', 'host/paid'])).stderr, note);
    assert.doesNotMatch((await place.run(['env', '--client', 'claude', '--model', 'mock/paid'])).stderr, /no context/);
  });

  test('gives a client its file, and removes it afterwards', async (t) => {
    const place = placeWith(t);
    const agent = agentAt(
      place,
      'crush',
      '#!/bin/sh\necho "$CRUSH_GLOBAL_CONFIG"; cat "$CRUSH_GLOBAL_CONFIG/crush.json"\n',
    );
    const { stdout } = await place.runAlone(['run', '--max-usd', '2', '--', agent]);
    const [folder = '', text = ''] = linesOf(stdout);
    assert.equal(JSON.parse(text).models.large.model, 'mock/paid');
    assert.throws(() => execFileSync('ls', [folder], { stdio: 'ignore' }));
  });

  test('keeps Gemini CLI from the account of its user', async (t) => {
    const place = placeWith(t);
    place.environment.GOOGLE_GENAI_USE_VERTEXAI = 'true';
    const show = 'echo "$GOOGLE_GEMINI_BASE_URL $GEMINI_MODEL$GOOGLE_GENAI_USE_VERTEXAI"';
    const agent = agentAt(place, 'gemini', `#!/bin/sh\n${show}; cat "$GEMINI_CLI_HOME/.gemini/settings.json"\n`);
    const { stdout } = await place.runAlone(['run', '--max-usd', '2', '--', agent]);
    const [told = '', settings = ''] = linesOf(stdout);
    assert.match(told, /^http:\/\/127\.0\.0\.1:\d+ mock\/paid$/);
    assert.equal(JSON.parse(settings).security.auth.selectedType, 'gemini-api-key');
  });

  test('leaves the list of folders that the user of Gemini CLI trusts where it is', () => {
    const trusted = (environment: Record<string, string>) => {
      const file = writeFileOf(clientOf('gemini') as Client, SETUP, environment);
      file.remove();
      return file.variables.GEMINI_CLI_TRUSTED_FOLDERS_PATH;
    };
    assert.equal(trusted({}), join(homedir(), '.gemini/trustedFolders.json'));
    assert.equal(trusted({ GEMINI_CLI_HOME: '/srv/cli' }), '/srv/cli/.gemini/trustedFolders.json');
    // What is set to nothing is not set: so the client has it, too.
    assert.equal(
      trusted({ GEMINI_CLI_HOME: '', GEMINI_CLI_TRUSTED_FOLDERS_PATH: '' }),
      join(homedir(), '.gemini/trustedFolders.json'),
    );
    // Also in a run inside of a run.
    const named = { GEMINI_CLI_HOME: '/tmp/outer', GEMINI_CLI_TRUSTED_FOLDERS_PATH: '/home/anna/trusted.json' };
    assert.equal(trusted(named), '/home/anna/trusted.json');
  });
});

describe('env', { concurrency: CONCURRENCY }, () => {
  test('prints what a shell reads: the whole key once, and otherwise the variable with it', async (t) => {
    const place = placeWith(t, 8787);
    const { key } = await place.createKey('app');
    await place.run(['allowlist', 'set', 'app', 'mock/echo']);
    const whole = await place.run(['env', '--key', key, '--client', 'claude']);
    assert.equal(whole.status, 0, whole.stderr);
    assert.equal(whole.stdout.split(key).length, 2);
    const show =
      'echo "$ANTHROPIC_AUTH_TOKEN $ANTHROPIC_MODEL$ANTHROPIC_API_KEY$CLAUDE_CODE_USE_BEDROCK"; alias codex 2>/dev/null; true';
    const inShell = (lines: string) =>
      execFileSync('bash', ['--norc', '-c', `${lines}\n${show}`], {
        env: { INF_GW_KEY: 'mine', ANTHROPIC_API_KEY: 'own', CLAUDE_CODE_USE_BEDROCK: '1' },
        encoding: 'utf8',
      });
    assert.equal(inShell(whole.stdout), `${key} mock/echo\n`);
    const named = await place.run(['env', '--key', 'app', '--client', 'claude', '--model', 'mock/paid']);
    assert.deepEqual([named.status, named.stdout], [1, ''], 'not on its allowlist');
    assert.match(named.stderr, /--model mock\/paid: Claude Code cannot call it here/);
    const marked = await place.run(['env', '--key', 'app', '--client', 'claude', '--model', 'old-thing[1m]']);
    assert.match(marked.stdout, /ANTHROPIC_MODEL='?old-thing\[1m\]/, marked.stderr);
    const codex = await place.run(['env', '--client', 'codex', '--shell', 'bash']);
    assert.match(inShell(codex.stdout), /^alias codex='codex .*model="mock\/paid"/m);
    assert.match(codex.stderr, /set INF_GW_KEY to the key first/);
  });

  test('without a client prints what any client may read', async (t) => {
    const place = placeWith(t);
    const serving = await place.serveHere();
    const { stdout } = await place.run(['env', '--shell', 'fish']);
    assert.ok(stdout.includes(`set -gx OPENAI_BASE_URL '${serving.url}/v1'\n`), stdout);
    assert.ok(stdout.includes('set -gx ANTHROPIC_API_KEY "$INF_GW_KEY"\n'));
    const bash = await place.run(['env', '--shell', 'bash']);
    assert.match(bash.stdout, /^unset ANTHROPIC_AUTH_TOKEN$/m, 'clients of Anthropic would send both');
    assert.match(bash.stdout, /^unset GOOGLE_API_KEY$/m, 'clients of Google would take it first');
    assert.match(bash.stdout, /^export GOOGLE_GEMINI_BASE_URL='?http:/m);
    const { variables } = await place.json<{ variables: Record<string, string> }>('env', '--client', 'qwen');
    assert.deepEqual(Object.keys(variables), ['OPENAI_BASE_URL', 'OPENAI_API_KEY', 'OPENAI_MODEL']);
  });

  test('says what it cannot print', async (t) => {
    const place = placeWith(t);
    const { status, stderr } = await new Workplace(t, null).run(['env']);
    assert.equal(status, 1);
    assert.match(stderr, /no config and no state file/);
    const model = await place.run(['env', '--model', 'x/y']);
    assert.equal(model.status, 2);
    const anyPort = await place.run(['env']);
    assert.deepEqual([anyPort.status, anyPort.stdout], [1, '']);
    assert.match(anyPort.stderr, /start it first with `inf-gw serve`/);
  });

  for (const [client, own, variable] of [
    ['crush', '~/.config/crush/crush.json', 'INF_GW_KEY'],
    ['gemini', '~/.gemini/settings.json', 'GEMINI_MODEL'],
  ] as const)
    test(`says what ${client} has to find in a file`, async (t) => {
      const place = placeWith(t, 8787);
      const { stdout, stderr } = await place.run([
        'env',
        '--client',
        client,
        '--key',
        (await place.createKey('app')).key,
      ]);
      assert.match(stdout, new RegExp(`^export ${variable}=`, 'm'));
      const { variables, file } = await place.json<{ variables: object; file: { path: string; text: string } }>(
        ...['env', '--client', client],
      );
      assert.equal(file.path, own);
      assert.ok(stderr.includes(`reads the rest from ${own}; write there: ${file.text}\n`), stderr);
      assert.ok(variable in variables);
      assert.doesNotThrow(() => JSON.parse(file.text));
    });

  const QUOTED: Readonly<Record<(typeof SHELLS)[number], readonly string[]>> = {
    bash: ['unset D', "export A='it'\\''s \\ $x'", 'export B="$INF_GW_KEY"', "alias c='c '\\''a b'\\'''"],
    fish: [
      "set -eg D; set -q D; and set -gx D ''",
      "set -gx A 'it\\'s \\\\ $x'",
      'set -gx B "$INF_GW_KEY"',
      "alias c 'c \\'a b\\''",
    ],
    powershell: [
      'Remove-Item Env:D -ErrorAction Ignore',
      "$env:A = 'it''s \\ $x'",
      '$env:B = $env:INF_GW_KEY',
      "function c { & (Get-Command -CommandType Application c)[0] 'a b' @args }",
    ],
  };
  for (const shell of SHELLS) {
    test(`quotes as ${shell} reads it`, () =>
      assert.deepEqual(
        shellLines(shell, {
          variables: { A: "it's \\ $x", B: '$INF_GW_KEY' },
          without: ['D'],
          name: 'c',
          words: ['a b'],
        }),
        QUOTED[shell],
      ));
  }
});
