/** Hosts of Amazon Bedrock: what they are sent, signed; what clients of every dialect get; what is charged; how streams end. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { clientRequests } from '../support/client-requests.ts';
import {
  askedConverse,
  chunkFrame,
  converseFrame,
  exceptionFrame,
  expectedSignature,
  FRAMED,
  frame,
  refuse,
  signatureOf,
  streamFrames,
} from '../support/fake-bedrock.ts';
import type { UpstreamCall } from '../support/fake-upstream.ts';
import { startTestGateway, type TestGateway, UPSTREAM_KEY } from '../support/gateway.ts';
import { whileNotLoaded } from '../support/not-loaded.ts';

const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const SESSION = 'session-token-canary-2342';
Object.assign(process.env, {
  AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
  AWS_SECRET_ACCESS_KEY: SECRET,
  AWS_SESSION_TOKEN: SESSION,
});

const PRICES = { input: 1, cached_input: 0.25, cache_write: 1.25, cache_write_1h: 2, output: 2 };
const MODEL = { ...PRICES, max_output: 1_000, default_output: 100 };
const CLAUDE = 'eu.anthropic.claude-sonnet-5-v1:0';
const PROFILE = 'arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2';
const models = {
  claude: {
    ...MODEL,
    upstream: CLAUDE,
    service_tiers: { priority: { input: 2, output: 4, cache_write: 2, cache_write_1h: 4 } },
  },
  echo: { ...MODEL, upstream: 'us.amazon.nova-2-lite-v1:0' },
  profile: { ...MODEL, upstream: PROFILE },
};
const bedrock = { kind: 'bedrock', region: 'eu-west-1', headers: {}, models };
const signed = await startTestGateway({ basePath: '', provider: { ...bedrock, api_key: undefined } });
const keyed = await startTestGateway({ basePath: '', provider: bedrock });
const BOTH = [signed, keyed];
after(() => Promise.all(BOTH.map((gateway) => gateway.stop())));
afterEach(() => Promise.all(BOTH.map((gateway) => gateway.assertSettled())));

async function post(gateway: TestGateway, path: string, body: object, headers: Record<string, string> = {}) {
  const key = gateway.key();
  const reply = await gateway.post(path, key, body, { headers });
  const { status, text } = reply;
  return { status, text, message: () => reply.error.message, row: gateway.rows(key)[0] };
}

const MESSAGES = [{ role: 'user', content: 'Hello!' }];
const USAGE = { inputTokens: 9, outputTokens: 5, totalTokens: 30, cacheReadInputTokens: 12, cacheWriteInputTokens: 4 };
/** Nine tokens of input, twelve from the cache, four written to it, and five of output. */
const COST = 9_000 + 12 * 250 + 4 * 1_250 + 5 * 2_000;

const at = (contentBlockIndex: number, fields: object) => ({ contentBlockIndex, ...fields });
const EVENTS = [
  { messageStart: { role: 'assistant' } },
  { contentBlockDelta: at(0, { delta: { reasoningContent: { text: 'Well.' } } }) },
  { contentBlockDelta: at(0, { delta: { reasoningContent: { signature: 'c2ln' } } }) },
  { contentBlockStop: at(0, {}) },
  { contentBlockDelta: at(1, { delta: { text: 'Héllo.' } }) },
  { contentBlockStop: at(1, {}) },
  { contentBlockStart: at(2, { start: { toolUse: { toolUseId: 'call_1', name: 'look' } } }) },
  { contentBlockDelta: at(2, { delta: { toolUse: { input: '{"at":"it"}' } } }) },
  { contentBlockStop: at(2, {}) },
  { messageStop: { stopReason: 'tool_use' } },
  { metadata: { usage: USAGE, metrics: { latencyMs: 7 } } },
] as const;
const WHOLE = {
  output: {
    message: {
      role: 'assistant',
      content: [
        { reasoningContent: { reasoningText: { text: 'Well.', signature: 'c2ln' } } },
        { text: 'Héllo.' },
        { toolUse: { toolUseId: 'call_1', name: 'look', input: { at: 'it' } } },
      ],
    },
  },
  stopReason: 'tool_use',
  usage: USAGE,
  metrics: { latencyMs: 7 },
};

const converse = (call: UpstreamCall) => askedConverse(call, WHOLE, EVENTS);

describe('a host of Converse', () => {
  for (const { dialect, path, body, streaming } of clientRequests('fake/echo')) {
    const check = ({ text, row, status }: Awaited<ReturnType<typeof post>>) => {
      assert.equal(status, 200, text);
      for (const part of ['Héllo.', 'look', 'at', 'it']) assert.ok(text.includes(part), text);
      assert.deepEqual([row?.source, row?.outcome, row?.cost_nanos], ['reported', 'ok', COST]);
    };
    const sentTo = async (operation: string) => {
      const call = await signed.upstream.call();
      assert.equal(call.path, `/model/us.amazon.nova-2-lite-v1%3A0/${operation}`);
      const { messages, toolConfig, model, stream } = JSON.parse(call.body);
      assert.deepEqual(messages[0].content, [
        { text: 'Look!' },
        { image: { format: 'png', source: { bytes: 'iVBORw0KGgo=' } } },
      ]);
      assert.deepEqual([toolConfig.tools[0].toolSpec.name, model, stream], ['look', undefined, undefined]);
    };

    test(`answers a client of ${dialect}, with tools, images and thinking, for what it bills`, async () => {
      signed.upstream.follow(converse);
      check(await post(signed, path, body));
      await sentTo('converse');
    });

    test(`streams to a client of ${dialect}, for what it bills`, async () => {
      signed.upstream.follow(converse);
      check(await post(signed, streaming.path, streaming.body));
      await sentTo('converse-stream');
    });
  }

  test('is told the ARN of a profile in one piece of its path', async () => {
    signed.upstream.follow(converse);
    await post(signed, '/v1/chat/completions', { model: 'fake/profile', messages: MESSAGES });
    const call = await signed.upstream.call();
    assert.equal(call.path, `/model/${encodeURIComponent(PROFILE)}/converse`);
    assert.equal(signatureOf(call), expectedSignature(call, SECRET));
  });
});

const START = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [],
    model: 'claude',
    usage: { input_tokens: 9, output_tokens: 1 },
  },
};
const CHUNKS = [
  START,
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Héllo.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } },
  { type: 'message_stop', 'amazon-bedrock-invocationMetrics': { inputTokenCount: 9, outputTokenCount: 5 } },
];
const ASKED = { model: 'fake/claude', max_tokens: 50, messages: MESSAGES };

describe('Claude at Bedrock', () => {
  test('is asked in the bytes of its client, and answers in its own', async () => {
    const message = { ...START.message, content: [{ type: 'text', text: 'Hi.' }], stop_reason: 'end_turn' };
    signed.upstream.follow((call) => call.answer(200, message));
    const betas = 'claude-code-20250219, interleaved-thinking-2025-05-14,context-management-2025-06-27';
    const { text, row } = await post(signed, '/v1/messages', ASKED, { 'anthropic-beta': betas });
    assert.deepEqual(JSON.parse(text), message);
    assert.deepEqual([row?.source, row?.cost_nanos], ['reported', 11_000]);
    const call = await signed.upstream.call();
    assert.equal(call.path, `/model/${encodeURIComponent(CLAUDE)}/invoke`);
    assert.equal(call.header('anthropic-beta'), undefined);
    assert.equal(
      call.body,
      `{"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["interleaved-thinking-2025-05-14","context-management-2025-06-27"],"max_tokens":50,"messages":[{"role":"user","content":"Hello!"}]}`,
    );
  });

  test('streams its own events, named', async () => {
    signed.upstream.follow((call) => streamFrames(call, CHUNKS.map(chunkFrame)));
    const { text, row } = await post(signed, '/v1/messages', { ...ASKED, stream: true });
    assert.equal(text, CHUNKS.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
    assert.deepEqual([row?.source, row?.outcome, row?.cost_nanos], ['reported', 'ok', 19_000]);
    assert.ok((await signed.upstream.call()).path.endsWith('/invoke-with-response-stream'));
  });

  test('streams to a client of chat', async () => {
    signed.upstream.follow((call) => streamFrames(call, CHUNKS.map(chunkFrame)));
    const body = { model: 'fake/claude', messages: MESSAGES, stream: true };
    const { text, row } = await post(signed, '/v1/chat/completions', body);
    assert.match(text, /Héllo\..*"finish_reason":"stop".*data: \[DONE\]\n\n$/s);
    assert.equal(row?.cost_nanos, 19_000);
  });

  test('is asked for a tier by a header', async () => {
    signed.upstream.follow((call) => call.answer(200, { ...START.message, content: [], stop_reason: 'end_turn' }));
    await post(signed, '/v1/messages', { ...ASKED, service_tier: 'priority' });
    const call = await signed.upstream.call();
    assert.deepEqual(
      [call.header('x-amzn-bedrock-service-tier'), JSON.parse(call.body).service_tier],
      ['priority', undefined],
    );
  });

  test('gets the betas of the body with those of the header, as far as it knows them', async () => {
    signed.upstream.follow((call) => call.answer(200, { ...START.message, content: [], stop_reason: 'end_turn' }));
    const body = { ...ASKED, anthropic_beta: ['output-128k-2025-02-19', 'fast-mode-2026-02-01'] };
    const header = { 'anthropic-beta': 'output-128k-2025-02-19,interleaved-thinking-2025-05-14' };
    assert.equal((await post(signed, '/v1/messages', body, header)).status, 200);
    const sent = JSON.parse((await signed.upstream.call()).body);
    assert.deepEqual(sent.anthropic_beta, ['output-128k-2025-02-19', 'interleaved-thinking-2025-05-14']);
  });

  test('takes no version in a body, nor betas in another spelling', async () => {
    for (const field of ['anthropic_version', 'Anthropic_Beta']) {
      const { status, message } = await post(signed, '/v1/messages', { ...ASKED, [field]: ['x'] });
      assert.deepEqual([status, message().startsWith(field)], [400, true]);
    }
  });

  test('has its tokens counted by the gateway', async () => {
    signed.upstream.follow(converse);
    const { text } = await post(signed, '/v1/messages/count_tokens', ASKED);
    assert.ok(JSON.parse(text).input_tokens > 2, text);
    assert.equal(signed.upstream.calls.length, 0);
  });
});

describe('a request is proven', () => {
  test('by the signature that Amazon documents', () => {
    const example = (fields: Record<string, string>) => ({
      method: 'GET',
      path: '/',
      body: '',
      header: (name: string) => ({ host: 'example.amazonaws.com', 'x-amz-date': '20150830T123600Z', ...fields })[name],
    });
    const authorization =
      'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=';
    // `get-vanilla` and `post-vanilla` of Amazon's suite.
    const get = '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31';
    const posted = '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b';
    assert.equal(expectedSignature(example({ authorization }), SECRET), get);
    assert.equal(expectedSignature({ ...example({ authorization }), method: 'POST' }, SECRET), posted);
  });

  test('by a signature with the credentials of the environment, for the region', async () => {
    signed.upstream.follow(converse);
    await post(signed, '/v1/chat/completions', {
      model: 'fake/echo',
      messages: [{ role: 'user', content: 'Größe ✓' }],
    });
    const call = await signed.upstream.call();
    assert.match(
      call.header('authorization') ?? '',
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/bedrock\//,
    );
    assert.equal(call.header('x-amz-security-token'), SESSION);
    assert.equal(signatureOf(call), expectedSignature(call, SECRET));
  });

  const inBase64 = (text: string) => Buffer.from(text).toString('base64');
  /** Hosts that repeat the credentials in the headers of a request: in an error, in a text, and in a member outside the format. */
  const ECHOES: readonly (readonly [where: string, echo: (call: UpstreamCall, text: string) => void])[] = [
    ['an error', (call) => refuse(call, 400, 'ValidationException', `No: ${call.header('authorization')}.`)],
    ['a short error', (call) => refuse(call, 400, 'ValidationException', `No: ${signatureOf(call)?.slice(20, 40)}.`)],
    ['an error in base64', (call, text) => refuse(call, 400, 'ValidationException', `No: ${inBase64(text)}.`)],
    [
      'what the model writes',
      (call, text) => {
        const whole = structuredClone(WHOLE) as { output: { message: { content: { text?: string }[] } } };
        for (const part of whole.output.message.content) if (part.text !== undefined) part.text = text;
        const events = EVENTS.map((event) => JSON.parse(JSON.stringify(event).replace('Héllo.', text)));
        askedConverse(call, whole, events);
      },
    ],
    ['a member of its own', (call, text) => askedConverse(call, { ...WHOLE, proof: text }, EVENTS)],
  ];
  for (const [where, echo] of ECHOES) {
    for (const stream of [false, true]) {
      test(`whose key id, signature and session no client reads in ${where}${stream ? ' of a stream' : ''}`, async () => {
        let sent = { proof: '', signature: '' };
        signed.upstream.follow((call) => {
          const proof = `${call.header('authorization')} ${call.header('x-amz-security-token')}`;
          sent = { proof, signature: signatureOf(call) ?? assert.fail('it is not signed') };
          echo(call, proof);
        });
        for (const path of ['/v1/chat/completions', '/v1/messages']) {
          const { text } = await post(signed, path, { ...ECHO, max_tokens: 100, stream });
          const secrets = ['AKIDEXAMPLE', sent.signature.slice(20, 40), SESSION, inBase64(sent.proof).slice(40, 80)];
          assert.deepEqual(
            secrets.filter((secret) => text.includes(secret)),
            [],
            text,
          );
        }
      });
    }
  }

  test('by a key of Bedrock, where the config has one', async () => {
    keyed.upstream.follow(converse);
    await post(keyed, '/v1/chat/completions', { model: 'fake/echo', messages: MESSAGES });
    const call = await keyed.upstream.call();
    assert.deepEqual([call.header('authorization'), call.header('x-amz-date')], [`Bearer ${UPSTREAM_KEY}`, undefined]);
  });
});

const ECHO = { model: 'fake/echo', messages: MESSAGES };

test('what is loaded for Bedrock is loaded with the next request, if it could not be with the first', async () => {
  const gateway = await startTestGateway({ basePath: '', provider: bedrock });
  gateway.upstream.follow(converse);
  const shortage = whileNotLoaded('./aws.ts');
  const early = await post(gateway, '/v1/chat/completions', ECHO);
  shortage.deregister();
  assert.deepEqual([early.status, early.row?.cost_nanos, early.row?.failure_reason], [502, 0, 'not_loaded']);
  assert.match(early.message(), /^The gateway cannot load what it needs for the provider\./);
  assert.equal((await post(gateway, '/v1/chat/completions', ECHO)).status, 200);
  await gateway.stop();
});

describe('what Bedrock refuses', () => {
  const REFUSALS: readonly (readonly [status: number, type: string, message: string, gets: number, words: RegExp])[] = [
    [400, 'ValidationException', 'The text field is blank.', 400, /The text field is blank\./],
    [400, 'ServiceQuotaExceededException', 'Too many tokens a day.', 502, /Too many tokens a day\./],
    [
      403,
      'AccessDeniedException',
      'User arn:aws:iam::1:user/x is not authorized.',
      502,
      /^The provider fake responded with status 403\. The operator of this gateway must check /,
    ],
    [
      404,
      'ResourceNotFoundException',
      'Model gone.',
      502,
      /^The provider fake responded with status 404\. The operator of this gateway must check /,
    ],
    [408, 'ModelTimeoutException', 'Too slow.', 502, /status 408/],
    [424, 'ModelErrorException', 'It broke.', 502, /status 424/],
    [429, 'ThrottlingException', 'Too many requests, wait.', 502, /Too many requests, wait\./],
    [503, 'ServiceUnavailableException', 'Busy.', 502, /Busy\./],
  ];
  for (const [status, type, message, gets, words] of REFUSALS) {
    test(`with ${status} ${type} costs nothing, and is told`, async () => {
      await using gateway = await fresh();
      gateway.upstream.follow((call) => refuse(call, status, type, message));
      const reply = await post(gateway, '/v1/chat/completions', ECHO);
      assert.equal(reply.status, gets, reply.text);
      assert.match(reply.message(), words);
      assert.equal(reply.row?.cost_nanos, 0);
    });
  }

  test('in a stream before it has begun is an answer, and costs nothing', async () => {
    keyed.upstream.follow((call) => streamFrames(call, [exceptionFrame('throttlingException', 'Too many requests.')]));
    const { status, message, row } = await post(keyed, '/v1/chat/completions', { ...ECHO, stream: true });
    assert.deepEqual(
      [status, message(), row?.cost_nanos],
      [502, 'The provider reported an error: Too many requests.', 0],
    );
  });

  test('in a stream that has begun ends it, and what was written is charged', async () => {
    const frames = [...EVENTS.slice(0, 6).map(converseFrame), exceptionFrame('modelStreamErrorException', 'It broke.')];
    keyed.upstream.follow((call) => streamFrames(call, frames));
    const { text, row } = await post(keyed, '/v1/chat/completions', { ...ECHO, stream: true });
    assert.match(text, /Héllo\..*It broke\..*data: \[DONE\]\n\n$/s);
    assert.deepEqual([row?.source, row?.outcome === 'ok'], ['counted', false]);
    assert.ok((row?.cost_nanos ?? 0) > 0);
  });
});

/** A gateway of its own, whose upstream no other test has made back off. */
async function fresh(): Promise<TestGateway & AsyncDisposable> {
  const gateway = await startTestGateway({ basePath: '', provider: bedrock, config: { retry: { attempts: 1 } } });
  return Object.assign(gateway, { [Symbol.asyncDispose]: () => gateway.stop() });
}

const ALL = Buffer.concat(EVENTS.map(converseFrame));
const BEFORE_END = EVENTS.slice(0, -2).map(converseFrame);
const damaged = (bytes: Buffer, position: number) => {
  const copy = Buffer.from(bytes);
  copy.writeUInt8(copy.readUInt8(position) ^ 1, position);
  return copy;
};
const lengthOnly = (length: number) => {
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(length, 0);
  return prelude;
};
const metadata = (usage: object) => converseFrame({ metadata: { usage } });

describe('a stream in frames', () => {
  test('is read wherever its reads are cut', async () => {
    for (const size of [1, 7, 13, 64]) {
      keyed.upstream.follow((call) => {
        call.stream(FRAMED);
        for (let start = 0; start < ALL.length; start += size) call.send(ALL.subarray(start, start + size));
        call.end();
      });
      const { text, row } = await post(keyed, '/v1/chat/completions', { ...ECHO, stream: true });
      assert.ok(text.includes('Héllo.') && text.endsWith('data: [DONE]\n\n'), text);
      assert.equal(row?.cost_nanos, COST);
    }
  });

  const CUTS: readonly (readonly [what: string, frames: readonly Buffer[]])[] = [
    ['ends within a frame', [...BEFORE_END, converseFrame(EVENTS[9]).subarray(0, 20)]],
    ['has a wrong checksum', [...BEFORE_END, damaged(converseFrame(EVENTS[9]), 60)]],
    ['has a wrong checksum of its lengths', [...BEFORE_END, damaged(converseFrame(EVENTS[9]), 9)]],
    ['says that a frame is smaller than any', [...BEFORE_END, lengthOnly(3)]],
    ['ends without a stop reason', BEFORE_END],
    ['is an event of no dialect', [...BEFORE_END, frame({ ':event-type': 'x', ':message-type': 'event' }, 'no JSON')]],
  ];
  for (const [what, frames] of CUTS) {
    test(`that ${what} is a failure, charged for what it wrote`, async () => {
      keyed.upstream.follow((call) => streamFrames(call, frames));
      const { text, row } = await post(keyed, '/v1/chat/completions', { ...ECHO, stream: true });
      assert.match(text, /Héllo\..*"error".*data: \[DONE\]\n\n$/s);
      assert.equal(row?.source, 'counted');
      assert.ok((row?.cost_nanos ?? 0) >= 2_000);
    });
  }

  test('that is damaged is charged for the frames before it, though they came in one read', async () => {
    const usage = converseFrame({ metadata: { usage: USAGE } });
    const word = converseFrame({ contentBlockDelta: at(1, { delta: { text: 'word '.repeat(1_000) } }) });
    for (const [last, cost] of [
      [usage, COST],
      [word, 1_000 * 2_000],
    ] as const) {
      const read = Buffer.concat([...BEFORE_END, last, damaged(converseFrame(EVENTS[9]), 60)]);
      keyed.upstream.follow((call) => streamFrames(call, [read]));
      const { text, row } = await post(keyed, '/v1/chat/completions', { ...ECHO, stream: true });
      assert.match(text, /Héllo\..*"error".*data: \[DONE\]\n\n$/s);
      assert.ok((row?.cost_nanos ?? 0) >= cost, String(row?.cost_nanos));
    }
  });

  test('that says that a frame is gigantic ends at once, before any of it', async () => {
    keyed.upstream.follow((call) => {
      call.stream(FRAMED);
      for (const each of [...BEFORE_END, lengthOnly(0xffffffff)]) call.send(each);
    });
    const { text, row } = await post(keyed, '/v1/chat/completions', { ...ECHO, stream: true });
    assert.match(text, /Héllo\..*"error".*data: \[DONE\]\n\n$/s);
    assert.equal(row?.source, 'counted');
    await (await keyed.upstream.call()).closed;
  });

  const BILLS: readonly (readonly [what: string, ends: readonly Buffer[], cost: number | undefined])[] = [
    ['reports twice', [metadata(USAGE), metadata({ inputTokens: 1, outputTokens: 1, totalTokens: 2 })], COST],
    ['reports less than nothing', [metadata({ ...USAGE, outputTokens: -5 })], undefined],
    ['reports nothing', [], undefined],
  ];
  for (const [what, ends, cost] of BILLS) {
    test(`that ${what} has succeeded, and costs ${cost === undefined ? 'what was counted' : 'the first report'}`, async () => {
      keyed.upstream.follow((call) => streamFrames(call, [...EVENTS.slice(0, -1).map(converseFrame), ...ends]));
      const { text, row } = await post(keyed, '/v1/chat/completions', { ...ECHO, stream: true });
      assert.ok(text.endsWith('data: [DONE]\n\n') && !text.includes('"error"'), text);
      assert.equal(row?.source, cost === undefined ? 'counted' : 'reported');
      if (cost === undefined) assert.ok((row?.cost_nanos ?? 0) > 2_000);
      else assert.equal(row?.cost_nanos, cost);
    });
  }

  test('whose large frame is cut is charged for what arrived of it', async () => {
    const large = converseFrame({ contentBlockDelta: at(1, { delta: { text: 'word '.repeat(8_000) } }) });
    keyed.upstream.follow((call) =>
      streamFrames(call, [...EVENTS.slice(0, 5).map(converseFrame), large.subarray(0, -8)]),
    );
    const { row } = await post(keyed, '/v1/chat/completions', { ...ECHO, stream: true });
    assert.ok((row?.completion_tokens ?? 0) > 8_000, String(row?.completion_tokens));
  });
});
