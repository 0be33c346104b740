/** Hosts of Google's Vertex AI: what they are sent with which token, what clients get, and what is charged. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, test } from 'node:test';
import { vertexAddress } from '../../src/core/vertex.ts';
import { authorizer } from '../../src/upstream/google.ts';
import { clientRequests } from '../support/client-requests.ts';
import { FakeUpstream, type UpstreamCall } from '../support/fake-upstream.ts';
import { refuse, vertex } from '../support/fake-vertex.ts';
import { startTestGateway, type TestGateway, UPSTREAM_KEY } from '../support/gateway.ts';
import { whileNotLoaded } from '../support/not-loaded.ts';
import { until } from '../support/wait.ts';

const folder = await mkdtemp(join(tmpdir(), 'inf-gw-vertex-'));
/** The metadata server of an instance, and a server that gives tokens for those of another identity. */
const google = await FakeUpstream.start();
const here = `127.0.0.1:${google.port}`;
// Nothing of the machine that the tests run on.
Object.assign(process.env, {
  CLOUDSDK_CONFIG: folder,
  GCE_METADATA_HOST: here,
  METADATA_SERVER_DETECTION: 'assume-present',
});
delete process.env.GOOGLE_APPLICATION_CREDENTIALS;

const PRICES = { input: 1, cached_input: 0.25, output: 2, max_output: 1_000, default_output: 100 };
const models = {
  claude: {
    ...PRICES,
    upstream: 'claude-sonnet-4-5@20250929',
    cache_write: 1.25,
    cache_write_1h: 2,
    tools: { web_search: 0.01 },
  },
  echo: { ...PRICES, upstream: 'gemini-3.6-flash' },
};
const provider = { kind: 'vertex', project: 'my-project', region: 'europe-west1', headers: {}, models };
const basePath = '/v1/projects/my-project/locations/europe-west1';
const options = { basePath, provider: { ...provider, api_key: undefined } };
const first = await startTestGateway(options);
const second = await startTestGateway(options);
const keyed = await startTestGateway({ basePath, provider });
const ALL = [first, second, keyed];
after(async () => {
  await Promise.all(ALL.map((gateway) => gateway.stop()));
  await google.close();
  await rm(folder, { recursive: true });
});
afterEach(() => Promise.all(ALL.map((gateway) => gateway.assertSettled())));

/** A gateway of its own, whose upstream no other test has made back off. */
async function fresh(): Promise<TestGateway & AsyncDisposable> {
  const gateway = await startTestGateway({ basePath, provider, config: { retry: { attempts: 1 } } });
  return Object.assign(gateway, { [Symbol.asyncDispose]: () => gateway.stop() });
}

async function post(gateway: TestGateway, path: string, body: object, headers: Record<string, string> = {}) {
  const key = gateway.key();
  const reply = await gateway.post(path, key, body, { headers });
  const { status, text } = reply;
  return { status, text, message: () => reply.error.message, row: gateway.rows(key)[0] };
}

const CALL = { name: 'look', args: { at: 'it' } };
const SIGNED = 'c2lnbmVkLWJ5LWdvb2dsZQ==';
const part = (fields: object, others: object = {}) => ({
  candidates: [{ content: { role: 'model', parts: [fields] }, index: 0 }],
  ...others,
});
const PARTS = [
  { text: 'Well.', thought: true },
  { text: 'Héllo.' },
  { functionCall: CALL, thoughtSignature: SIGNED },
] as const;
/** Twelve of 25 tokens from the cache, and five of output. */
const USAGE = {
  promptTokenCount: 25,
  cachedContentTokenCount: 12,
  candidatesTokenCount: 3,
  thoughtsTokenCount: 2,
  totalTokenCount: 30,
  trafficType: 'ON_DEMAND',
};
const GEMINI_COST = 13_000 + 12 * 250 + 5 * 2_000;
const WHOLE = {
  candidates: [{ content: { role: 'model', parts: PARTS }, finishReason: 'STOP', index: 0 }],
  usageMetadata: USAGE,
  modelVersion: 'gemini-3.6-flash',
};
const LAST = { candidates: [{ content: { role: 'model', parts: [{ text: '' }] }, finishReason: 'STOP', index: 0 }] };
const BEFORE_END = PARTS.map((each) => part(each, { usageMetadata: { promptTokenCount: 25, totalTokenCount: 25 } }));
const PIECES = [...BEFORE_END, { ...LAST, usageMetadata: USAGE }];

const CONTENT = [
  { type: 'thinking', thinking: 'Well.', signature: 'c2ln' },
  { type: 'text', text: 'Héllo.' },
  { type: 'tool_use', id: 'toolu_vrtx_1', name: 'look', input: { at: 'it' } },
];
const MESSAGE = {
  id: 'msg_vrtx_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5-20250929',
  content: CONTENT,
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: { input_tokens: 9, cache_read_input_tokens: 12, cache_creation_input_tokens: 4, output_tokens: 5 },
};
const CLAUDE_COST = 9_000 + 12 * 250 + 4 * 1_250 + 5 * 2_000;
const block = (index: number, begun: object, ...deltas: readonly object[]) => [
  { type: 'content_block_start', index, content_block: begun },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];
const EVENTS = [
  {
    type: 'message_start',
    message: { ...MESSAGE, content: [], stop_reason: null, usage: { ...MESSAGE.usage, output_tokens: 1 } },
  },
  { type: 'ping' },
  ...block(
    0,
    { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking: 'Well.' },
    { type: 'signature_delta', signature: 'c2ln' },
  ),
  ...block(1, { type: 'text', text: '' }, { type: 'text_delta', text: 'Héllo.' }),
  ...block(
    2,
    { type: 'tool_use', id: 'toolu_vrtx_1', name: 'look', input: {} },
    { type: 'input_json_delta', partial_json: '{"at":"it"}' },
  ),
  { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
];

const answering = (pieces: readonly object[] = PIECES, events: readonly { readonly type: string }[] = EVENTS) =>
  vertex({ google: { whole: WHOLE, events: pieces }, anthropic: { whole: MESSAGE, events } });

const MESSAGES = [{ role: 'user', content: 'Hello!' }];
const ASKED = { model: 'fake/claude', max_tokens: 50, messages: MESSAGES };
const ECHO = { model: 'fake/echo', messages: MESSAGES };

const HOSTS = [
  [
    'Gemini',
    'fake/echo',
    'google/models/gemini-3.6-flash',
    ['generateContent', 'streamGenerateContent?alt=sse'],
    GEMINI_COST,
  ],
  [
    'Claude',
    'fake/claude',
    'anthropic/models/claude-sonnet-4-5@20250929',
    ['rawPredict', 'streamRawPredict'],
    CLAUDE_COST,
  ],
] as const;

for (const [name, model, named, methods, cost] of HOSTS) {
  describe(`${name} at Vertex AI`, () => {
    const check = async ({ text, row, status }: Awaited<ReturnType<typeof post>>, method: string) => {
      assert.equal(status, 200, text);
      for (const said of ['Héllo.', 'look', 'at', 'it']) assert.ok(text.includes(said), text);
      assert.deepEqual([row?.source, row?.outcome, row?.cost_nanos], ['reported', 'ok', cost]);
      const call = await keyed.upstream.call();
      assert.equal(call.path, `${basePath}/publishers/${named}:${method}`);
      for (const told of ['Look!', 'iVBORw0KGgo=', 'look']) assert.ok(call.body.includes(told), call.body);
    };
    for (const { dialect, path, body, streaming } of clientRequests(model)) {
      test(`answers a client of ${dialect}, with tools, images and thinking, for what it bills`, async () => {
        keyed.upstream.follow(answering());
        await check(await post(keyed, path, body), methods[0]);
      });

      test(`streams to a client of ${dialect}, for what it bills`, async () => {
        keyed.upstream.follow(answering());
        await check(await post(keyed, streaming.path, streaming.body), methods[1]);
      });
    }
  });
}

describe('Claude at Vertex AI', () => {
  test('is asked in the bytes of its client, and answers in its own', async () => {
    keyed.upstream.follow(answering());
    const betas = 'claude-code-20250219,interleaved-thinking-2025-05-14';
    const { text } = await post(keyed, '/v1/messages', ASKED, { 'anthropic-beta': betas });
    assert.deepEqual(JSON.parse(text), MESSAGE);
    const call = await keyed.upstream.call();
    assert.equal(
      call.body,
      '{"anthropic_version":"vertex-2023-10-16","max_tokens":50,"messages":[{"role":"user","content":"Hello!"}]}',
    );
    assert.deepEqual(
      ['anthropic-beta', 'anthropic-version', 'x-goog-api-key'].map((name) => call.header(name)),
      ['interleaved-thinking-2025-05-14', undefined, UPSTREAM_KEY],
    );
  });

  test('is asked in the version of its client', async () => {
    for (const [sent, asked] of [
      ['2023-06-01', 'vertex-2023-10-16'],
      ['2026-10-21', '2026-10-21'],
    ] as const) {
      keyed.upstream.follow(answering());
      const { status } = await post(keyed, '/v1/messages', ASKED, { 'anthropic-version': sent });
      assert.deepEqual([status, JSON.parse((await keyed.upstream.call()).body).anthropic_version], [200, asked]);
    }
  });

  test('streams its own events', async () => {
    keyed.upstream.follow(answering());
    const { text } = await post(keyed, '/v1/messages', { ...ASKED, stream: true });
    assert.equal(text, EVENTS.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
  });

  test('is told to let it search, where a client declares that tool', async () => {
    keyed.upstream.follow(answering());
    const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 1 }];
    await post(keyed, '/v1/messages', { ...ASKED, tools });
    assert.equal((await keyed.upstream.call()).header('anthropic-beta'), 'web-search-2025-03-05');
  });

  test('gets the betas of the body in the header, as far as it knows them', async () => {
    keyed.upstream.follow(answering());
    const betas = 'fast-mode-2026-02-01, context-management-2025-06-27';
    assert.equal((await post(keyed, '/v1/messages', { ...ASKED, anthropic_beta: betas })).status, 200);
    const call = await keyed.upstream.call();
    assert.deepEqual(
      [call.header('anthropic-beta'), JSON.parse(call.body).anthropic_beta],
      ['context-management-2025-06-27', undefined],
    );
  });

  test('takes no version in a body, nor betas in another spelling', async () => {
    for (const field of ['anthropic_version', 'Anthropic_Beta']) {
      const { status, message } = await post(keyed, '/v1/messages', { ...ASKED, [field]: ['x'] });
      assert.deepEqual([status, message().startsWith(field)], [400, true]);
    }
  });
});

test('a location of Vertex AI has its host', () => {
  const hosts = ['europe-west1', 'eu', 'global'].map((region) => new URL(vertexAddress('my-project', region)).host);
  assert.deepEqual(hosts, [
    'europe-west1-aiplatform.googleapis.com',
    'aiplatform.eu.rep.googleapis.com',
    'aiplatform.googleapis.com',
  ]);
  assert.ok(vertexAddress('my-project', 'eu').endsWith('/v1/projects/my-project/locations/eu'));
});

test('a host of Vertex AI is asked for no count of tokens: the gateway counts', async () => {
  keyed.upstream.follow(answering());
  const ofClaude = await post(keyed, '/v1/messages/count_tokens', ASKED);
  const contents = [{ parts: [{ text: 'Hello!' }] }];
  const ofGemini = await post(keyed, '/v1beta/models/fake/echo:countTokens', { contents });
  assert.ok(JSON.parse(ofClaude.text).input_tokens > 2, ofClaude.text);
  assert.ok(JSON.parse(ofGemini.text).totalTokens > 2, ofGemini.text);
  assert.equal(keyed.upstream.calls.length, 0);
});

describe('what Vertex AI refuses', () => {
  const REFUSALS: readonly (readonly [code: number, status: string, message: string, gets: number, words: RegExp])[] = [
    [400, 'INVALID_ARGUMENT', 'Unable to process.', 400, /Unable to process\./],
    [400, 'FAILED_PRECONDITION', 'Not in this location.', 400, /Not in this location\./],
    [
      401,
      'UNAUTHENTICATED',
      'Token canary.',
      502,
      /^The provider fake responded with status 401\. The operator of this gateway must check /,
    ],
    [
      403,
      'PERMISSION_DENIED',
      'Of project canary.',
      502,
      /^The provider fake responded with status 403\. The operator of this gateway must check /,
    ],
    [
      404,
      'NOT_FOUND',
      'Model canary.',
      502,
      /^The provider fake responded with status 404\. The operator of this gateway must check /,
    ],
    [429, 'RESOURCE_EXHAUSTED', 'Resource exhausted, wait.', 502, /Resource exhausted, wait\./],
    [499, 'CANCELLED', 'Cancelled.', 502, /status 499/],
    [500, 'INTERNAL', 'It broke.', 502, /It broke\./],
    [503, 'UNAVAILABLE', 'Busy.', 502, /Busy\./],
    [504, 'DEADLINE_EXCEEDED', 'Too slow.', 502, /Too slow\./],
  ];
  for (const [code, status, message, gets, words] of REFUSALS) {
    test(`with ${code} ${status} costs nothing, and is told`, async () => {
      await using gateway = await fresh();
      gateway.upstream.follow((call) => refuse(call, code, status, message));
      for (const model of ['fake/echo', 'fake/claude']) {
        const reply = await post(gateway, '/v1/chat/completions', { ...ECHO, model });
        assert.equal(reply.status, gets, reply.text);
        assert.match(reply.message(), words);
        assert.equal(reply.row?.cost_nanos, 0);
      }
    });
  }

  test('since Claude is overloaded costs nothing, and is told', async () => {
    await using gateway = await fresh();
    const error = { type: 'overloaded_error', message: 'Overloaded, wait.' };
    gateway.upstream.follow((call) => call.answer(529, { type: 'error', error }));
    const reply = await post(gateway, '/v1/messages', ASKED);
    assert.deepEqual([reply.status, reply.row?.cost_nanos], [502, 0]);
    assert.match(reply.message(), /Overloaded, wait\./);
  });

  test('in a stream that has begun ends it, and what was written is charged', async () => {
    const error = { error: { code: 503, message: 'It broke.', status: 'UNAVAILABLE' } };
    keyed.upstream.follow(answering([...BEFORE_END, error]));
    const { text, row } = await post(keyed, '/v1/chat/completions', { ...ECHO, stream: true });
    assert.match(text, /Héllo\..*It broke\..*data: \[DONE\]\n\n$/s);
    assert.deepEqual([row?.source, row?.outcome === 'ok'], ['counted', false]);
    assert.ok((row?.cost_nanos ?? 0) > 0);
  });
});

describe('a stream of Vertex AI', () => {
  const cut = (call: UpstreamCall, text: string) => {
    call.stream();
    call.send(text);
    call.hangUp();
  };
  const sse = (events: readonly object[]) => events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join('');
  const CUTS: readonly (readonly [what: string, model: string, script: (call: UpstreamCall) => void])[] = [
    ['of Gemini that ends without a reason', 'fake/echo', answering(BEFORE_END)],
    ['of Gemini that is cut within an event', 'fake/echo', (call) => cut(call, sse(PIECES).slice(0, -40))],
    ['of Claude that ends without a reason', 'fake/claude', answering(PIECES, EVENTS.slice(0, -2))],
    ['of Claude that is no JSON in the end', 'fake/claude', (call) => cut(call, `${sse(EVENTS.slice(0, -2))}data: {`)],
  ];
  for (const [what, model, script] of CUTS) {
    // The Gemini model reasons by itself, and the stream may have been lost while it did.
    const source = model === 'fake/echo' ? 'held' : 'counted';
    test(`${what} is a failure, charged for what it wrote and for the reasoning that is held for it`, async () => {
      keyed.upstream.follow(script);
      const { text, row } = await post(keyed, '/v1/chat/completions', { ...ECHO, model, stream: true });
      assert.match(text, /Héllo\..*"error".*data: \[DONE\]\n\n$/s);
      assert.equal(row?.source, source);
      assert.ok((row?.cost_nanos ?? 0) >= 2_000);
    });
  }

  const ending = (usageMetadata?: object) => ({ ...LAST, ...(usageMetadata && { usageMetadata }) });
  const BILLS: readonly (readonly [what: string, ends: readonly object[], cost: number | undefined])[] = [
    ['reports twice', [ending(USAGE), ending({ promptTokenCount: 1, candidatesTokenCount: 1 })], 3_000],
    ['reports less than nothing', [ending({ ...USAGE, candidatesTokenCount: -5 })], undefined],
    ['reports nothing', [ending()], undefined],
  ];
  for (const [what, ends, cost] of BILLS) {
    test(`that ${what} has succeeded, and costs ${cost === undefined ? 'what was counted' : 'its last report'}`, async () => {
      keyed.upstream.follow(answering([...PARTS.map((each) => part(each)), ...ends]));
      const { text, row } = await post(keyed, '/v1/chat/completions', { ...ECHO, stream: true });
      assert.ok(text.endsWith('data: [DONE]\n\n') && !text.includes('"error"'), text);
      assert.equal(row?.source, cost === undefined ? 'counted' : 'reported');
      if (cost === undefined) assert.ok((row?.cost_nanos ?? 0) > 2_000);
      else assert.equal(row?.cost_nanos, cost);
    });
  }
});

const TOKEN = '/computeMetadata/v1/instance/service-accounts/default/token';

/** Gives this token, which is valid for so many seconds, to whoever asks the metadata server for one. */
function give(token: string, seconds: number): void {
  google.follow((call) => {
    const flavor = { 'metadata-flavor': 'Google' };
    if (!call.path.startsWith(TOKEN)) return call.answer(404, 'no such metadata', flavor);
    call.answer(200, { access_token: token, expires_in: seconds, token_type: 'Bearer' }, flavor);
  });
}

const tokensGiven = () => google.calls.filter(({ path }) => path.startsWith(TOKEN)).length;

describe('a request to Vertex AI carries a token', () => {
  const ask = async (gateway: TestGateway) => {
    gateway.upstream.follow(answering());
    const { status, row } = await post(gateway, '/v1/messages', ASKED);
    return [status, gateway.upstream.calls[0]?.header('authorization'), row?.cost_nanos];
  };

  test('of the instance that it is sent from, kept until five minutes before it expires', async () => {
    give('one', 200);
    assert.deepEqual(await ask(first), [200, 'Bearer one', CLAUDE_COST]);
    google.follow((call) => call.answer(404, 'not now'));
    assert.equal((await ask(first))[1], 'Bearer one', 'the next one is not there, and this one has not expired');
    give('two', 3_600);
    await until(async () => (await ask(first))[1] === 'Bearer two');
    assert.deepEqual([(await ask(first))[1], tokensGiven()], ['Bearer two', 1]);
  });

  test('that can be asked for with the next request, if what asks could not be loaded with the first', async () => {
    const gateway = await startTestGateway(options);
    give('one', 3_600);
    const shortage = whileNotLoaded('./google.ts');
    assert.deepEqual(await ask(gateway), [502, undefined, 0]);
    shortage.deregister();
    assert.deepEqual(await ask(gateway), [200, 'Bearer one', CLAUDE_COST]);
    await gateway.stop();
  });

  test('and where a proxy answers for who gives it, that is said, and nothing is printed past the log', async () => {
    const warnings: string[] = [];
    const note = ({ name }: Error) => warnings.push(name);
    process.on('warning', note);
    delete process.env.METADATA_SERVER_DETECTION;
    google.follow((call) => call.answer(403, 'Forbidden by the proxy'));
    await assert.rejects(authorizer({ project: 'my-project' }).headers(), ({ message }: Error) => {
      assert.match(message, /Could not load the default credentials\..* something else answered: .*403/s);
      return true;
    });
    process.env.METADATA_SERVER_DETECTION = 'assume-present';
    process.emitWarning('of somebody else', 'SomeWarning');
    await until(() => warnings.length > 0);
    process.off('warning', note);
    assert.deepEqual(warnings, ['SomeWarning']);
  });

  test('that serves to its end, though nobody answers who is asked for the next one', async () => {
    const gateway = await startTestGateway({ ...options, config: { timeouts: { connect: '3s' } } });
    give('one', 200);
    assert.equal((await ask(gateway))[0], 200);
    google.follow(() => {});
    assert.deepEqual(await ask(gateway), [200, 'Bearer one', CLAUDE_COST]);
    await gateway.stop();
  });

  test('that is followed by another once the host has refused it', async () => {
    const gateway = await startTestGateway(options);
    give('revoked', 3_600);
    assert.equal((await ask(gateway))[1], 'Bearer revoked');
    gateway.upstream.follow((call) => refuse(call, 401, 'UNAUTHENTICATED', 'Token revoked.'));
    assert.equal((await post(gateway, '/v1/messages', ASKED)).status, 424);
    give('next', 3_600);
    await until(async () => (await ask(gateway))[1] === 'Bearer next');
    await gateway.stop();
  });

  test('that a host which repeats it tells no client', async () => {
    const third = await startTestGateway({ ...options, config: { retry: { attempts: 1 } } });
    const token = 'ya29.canary-of-a-token-0123456789';
    give(token, 3_600);
    for (const stream of [false, true]) {
      third.upstream.follow((call) => refuse(call, 400, 'INVALID_ARGUMENT', `No: ${call.header('authorization')}.`));
      const { status, text } = await post(third, '/v1/messages', { ...ASKED, stream });
      assert.equal(status, 400);
      assert.ok(!text.includes('canary'), text);
      third.upstream.follow((call) => call.answer(200, { ...MESSAGE, id: call.header('authorization') }));
      assert.ok(!(await post(third, '/v1/messages', ASKED)).text.includes('canary'));
    }
    await third.stop();
  });

  test('that a host which repeats it tells no client, though the next token has come meanwhile', async () => {
    const fourth = await startTestGateway({ ...options, config: { retry: { attempts: 1 } } });
    give('ya29.canary-of-a-token-0123456789', 200);
    fourth.upstream.follow(() => {});
    const early = post(fourth, '/v1/messages', ASKED);
    const call = await fourth.upstream.call();
    give('ya29.another-token-9876543210', 3_600);
    await until(async () => (await ask(fourth))[1] === 'Bearer ya29.another-token-9876543210');
    refuse(call, 400, 'INVALID_ARGUMENT', `No: ${call.header('authorization')}.`);
    const { status, text } = await early;
    assert.equal(status, 400);
    assert.ok(!text.includes('canary'), text);
    await fourth.stop();
  });

  test('for the credentials that a file names; without one it has cost nothing', async () => {
    const file = join(folder, 'credentials.json');
    const subject = join(folder, 'subject');
    await writeFile(subject, 'subject-token');
    await writeFile(
      file,
      JSON.stringify({
        type: 'external_account',
        audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        token_url: `http://${here}/token`,
        credential_source: { file: subject },
      }),
    );
    process.env.GOOGLE_APPLICATION_CREDENTIALS = file;
    google.follow((call) => call.answer(400, { error: 'invalid_grant', error_description: 'expired' }));
    assert.deepEqual(await ask(second), [502, undefined, 0]);
    google.follow((call) =>
      call.answer(200, {
        access_token: 'exchanged',
        expires_in: 3_600,
        token_type: 'Bearer',
        issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      }),
    );
    assert.deepEqual(await ask(second), [200, 'Bearer exchanged', CLAUDE_COST]);
    assert.match(google.calls[0]?.body ?? '', /subject_token=subject-token/);
    // Neither the project nor the instance is asked for.
    assert.deepEqual(
      google.calls.map(({ path }) => path),
      ['/token'],
    );
  });
});
