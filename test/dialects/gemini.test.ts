/** Google's dialect at a host that speaks it: the bytes of both ways, the money, the ends, and what is refused. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { streaming } from '../support/answers.ts';
import { sharedGateway, type TestKey, UPSTREAM_KEY } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

/** Input costs 1,000 nanodollars a token, and every other price is another. */
const gateway = await sharedGateway({
  provider: {
    kind: 'gemini',
    models: {
      flash: {
        upstream: 'gemini-x-flash',
        input: 1,
        cached_input: 0.1,
        audio_input: 3,
        output: 5,
        audio_output: 7,
        context_window: 100_000,
        max_output: 8_000,
        above: { tokens: 20_000, input: 2, cached_input: 0.2, output: 10 },
        service_tiers: { flex: { input: 0.5, output: 2 } },
        tools: { google_search: { call: 0.01, variants: [{ searchTypes: 'set', call: 0.02 }] }, google_maps: 0.03 },
      },
      'tuned/one': { upstream: 'tunedModels/one', input: 1, output: 1 },
    },
  },
  config: { aliases: { 'gemini-flash-latest': 'fake/flash' } },
});

/** Of more than 100 tokens. */
const TEXT = 'The quick brown fox jumps over the lazy dog. '.repeat(20);
const CONTENTS = [{ role: 'user', parts: [{ text: 'Hello!' }] }];
const USAGE = { promptTokenCount: 10, candidatesTokenCount: 4, totalTokenCount: 14 };
const answer = (fields: object = {}, text = 'Hi.') => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP', index: 0 }],
  usageMetadata: USAGE,
  modelVersion: 'gemini-x-flash-001',
  responseId: 'r1',
  ...fields,
});
const piece = (text: string, fields: object = {}) => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0 }],
  usageMetadata: { promptTokenCount: 10, totalTokenCount: 10 },
  ...fields,
});
/** As Google ends its lines. */
const event = (data: object) => `data: ${JSON.stringify(data)}\r\n\r\n`;
const EVENTS = [piece('Hel'), piece('lo. '), answer({}, 'Bye.')].map(event);

interface Asking {
  readonly method?: string;
  readonly model?: string;
  readonly headers?: Record<string, string>;
}

function ask(key: TestKey | undefined, body: object | string = {}, asking: Asking = {}) {
  const { method = 'generateContent', model = 'fake/flash', headers = {} } = asking;
  const text = typeof body === 'string' ? body : JSON.stringify({ contents: CONTENTS, ...body });
  const sending = { method: 'POST', body: text, headers, ...(key && { key }) };
  return gateway.request(`/v1beta/models/${model}:${method}`, sending);
}

const STREAM = { method: 'streamGenerateContent?alt=sse' };

describe('a request', () => {
  test('reaches the host as it was written, and its answer the client', async () => {
    const written =
      '{ "candidates": [ {"finishReason":"STOP","content":{"parts":[]}} ], "new": 1.50, "usageMetadata": {"promptTokenCount":3,"totalTokenCount":4} }';
    gateway.upstream.follow((call) => call.answer(200, written));
    const body =
      '{"contents":[{"parts":[{"text":"caf\\u00e9"}]}], "generationConfig": {"topK": 1e1}, "new":{"a_b":[1.0]}}';
    const reply = await ask(gateway.key(), body, { headers: { 'x-goog-api-client': 'x' } });
    assert.equal(reply.text, written);
    const call = await gateway.upstream.call();
    assert.equal(call.path, '/base/v1/models/gemini-x-flash:generateContent');
    assert.equal(call.body, body.replaceAll(', "', ',"').replace('a_b', 'aB'));
    assert.deepEqual(
      ['x-goog-api-key', 'authorization', 'x-goog-api-client'].map((name) => call.header(name)),
      [UPSTREAM_KEY, undefined, undefined],
    );
  });

  test('may be asked below /v1, as newer clients do, and refused as elsewhere', async () => {
    gateway.upstream.follow((call) => call.answer(200, answer()));
    const key = gateway.key();
    const path = '/v1/models/fake/flash:generateContent';
    const body = JSON.stringify({ contents: CONTENTS });
    assert.equal((await gateway.post(path, key, body)).status, 200);
    const refused = await gateway.request(path, { method: 'POST', body });
    assert.deepEqual([refused.status, refused.error.code], [401, 401]);
    const listing = await gateway.request('/v1/models', { headers: { 'x-goog-api-key': key.secret } });
    assert.equal(JSON.parse(listing.text).models[0].name, 'models/fake/flash');
    const missing = await gateway.request('/v1/models/none', { headers: { 'x-goog-api-key': key.secret } });
    assert.equal(JSON.parse(missing.text).error.status, 'NOT_FOUND');
  });

  for (const [what, model, path] of [
    ['with its slash encoded', 'fake%2Fflash', 'models/gemini-x-flash'],
    ['that is an alias', 'gemini-flash-latest', 'models/gemini-x-flash'],
    ['with several slashes', 'fake/tuned/one', 'tunedModels/one'],
  ] as const) {
    test(`may name a model ${what}`, async () => {
      gateway.upstream.follow((call) => call.answer(200, answer()));
      assert.equal((await ask(gateway.key(), {}, { model })).status, 200);
      assert.equal((await gateway.upstream.call()).path, `/base/v1/${path}:generateContent`);
    });
  }

  for (const [what, headers, query] of [
    ['x-goog-api-key', (secret: string): Record<string, string> => ({ 'x-goog-api-key': secret }), () => ''],
    ['the query', (): Record<string, string> => ({}), (secret: string) => `?key=${secret}`],
    ['Authorization', (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` }), () => ''],
  ] as const) {
    test(`may have its key in ${what}, which reaches no host`, async () => {
      gateway.upstream.follow((call) => call.answer(200, answer()));
      const { secret } = gateway.key();
      const reply = await ask(undefined, {}, { method: `generateContent${query(secret)}`, headers: headers(secret) });
      assert.equal(reply.status, 200, reply.text);
      const call = await gateway.upstream.call();
      assert.equal(JSON.stringify([call.headerLines, call.path]).includes(secret), false);
    });
  }

  test('with two different keys is refused, and with the same key twice is served', async () => {
    const [key, other] = [gateway.key(), gateway.key()];
    const reply = await ask(key, {}, { headers: { 'x-goog-api-key': other.secret } });
    assert.deepEqual([reply.status, JSON.parse(reply.text).error.status], [400, 'INVALID_ARGUMENT']);
    const both = (secret: string) =>
      ask(undefined, {}, { method: `generateContent?key=${key.secret}`, headers: { 'x-goog-api-key': secret } });
    assert.equal((await both(other.secret)).status, 400);
    gateway.upstream.follow((call) => call.answer(200, answer()));
    assert.equal((await both(key.secret)).status, 200);
  });

  test('a key in the query is none elsewhere', async () => {
    const reply = await gateway.request(`/v1/models?key=${gateway.key().secret}`);
    assert.equal(reply.status, 401);
  });

  test('in snake case is checked and charged as its host reads it', async () => {
    gateway.upstream.follow((call) => call.answer(200, answer()));
    const key = gateway.key();
    const text =
      '{"contents":{"parts":{"text":"Hi","thought_signature":"x_y"}},"generation_config":{"max_output_tokens":7,"response_schema":{"a_b":{}},"response_format":[{"text":{"schema":{"c_d":{}}}}]},"tools":[{"function_declarations":[{"name":"f_g","parameters":{"my_name":{}}}]}]}';
    assert.equal((await ask(key, text)).status, 200);
    const sent = (await gateway.upstream.call()).body;
    assert.equal(
      sent,
      '{"contents":{"parts":{"text":"Hi","thoughtSignature":"x_y"}},"generationConfig":{"maxOutputTokens":7,"responseSchema":{"a_b":{}},"responseFormat":[{"text":{"schema":{"c_d":{}}}}]},"tools":[{"functionDeclarations":[{"name":"f_g","parameters":{"my_name":{}}}]}]}',
    );
  });

  for (const [what, body, field] of [
    ['a maximum that is no number', { generationConfig: { maxOutputTokens: '5' } }, 'generationConfig.maxOutputTokens'],
    ['a maximum of another format', { max_tokens: 5 }, 'maxTokens'],
    ['a cache at the host', { cachedContent: 'cachedContents/1' }, 'cachedContent'],
    [
      'a file at the host',
      {
        contents: [{ parts: [{ fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/1' } }] }],
      },
      'contents[0].parts[0].fileData.fileUri',
    ],
    [
      'a film at an address',
      { contents: [{ parts: [{ fileData: { fileUri: 'https://www.youtube.com/a.png', mimeType: 'image/png' } }] }] },
      'contents[0].parts[0].fileData.fileUri',
    ],
    ['stores at the host', { tools: [{ fileSearch: { fileSearchStoreNames: ['a'] } }] }, 'tools[0].fileSearch'],
    ['a tool without a price', { tools: [{ codeExecution: {} }] }, 'tools[0].codeExecution'],
    [
      'images as its answer',
      { generationConfig: { responseModalities: ['IMAGE'] } },
      'generationConfig.responseModalities',
    ],
    ['a tier without a price', { serviceTier: 'priority' }, 'service_tier'],
    ['a store for its answer', { outputConfig: { outputUriPrefix: 'gs://x' } }, 'outputConfig'],
    [
      'a model of the choice of its host',
      { generationConfig: { modelConfig: { featureSelectionPreference: 'PRIORITIZE_COST' } } },
      'generationConfig.modelConfig',
    ],
    ['a field in other letter case', { GenerationConfig: {} }, 'GenerationConfig'],
    [
      'a maximum in other letter case',
      { generationConfig: { MaxOutputTokens: 1 } },
      'generationConfig.MaxOutputTokens',
    ],
    [
      'a maximum in both spellings',
      { generationConfig: { maxOutputTokens: 1, max_output_tokens: 2 } },
      'max_output_tokens',
    ],
    ['no contents', { contents: [] }, 'contents'],
    ['a part that is no object', { contents: [{ parts: ['Hi'] }] }, 'contents[0].parts[0]'],
    ['another model in its body', { model: 'fake/tuned/one' }, 'model'],
    ['a stream in its body', { stream: true }, 'stream'],
    ['storage at the host', { store: true }, 'store'],
    ['storage as lenient hosts read it', { store: 'true' }, 'store'],
  ] as const) {
    test(`with ${what} is refused, and not sent`, async () => {
      gateway.upstream.follow((call) => call.answer(500, {}));
      const reply = await ask(gateway.key(), body);
      const { error } = JSON.parse(reply.text);
      assert.deepEqual([reply.status, error.code, error.status], [400, 400, 'INVALID_ARGUMENT']);
      assert.ok(error.message.startsWith(`${field}:`), error.message);
      assert.equal(error.details[0].metadata.code, 'invalid_request');
      assert.equal(gateway.upstream.calls.length, 0);
    });
  }

  test('is refused in the order and with the codes of all others', async () => {
    gateway.upstream.follow((call) => call.answer(200, answer()));
    for (const [reply, status, code] of [
      [await ask(undefined), 401, 'unauthorized'],
      [await ask(undefined, {}, { headers: { 'x-goog-api-key': 'x' } }), 401, 'invalid_api_key'],
      [await ask(gateway.key(), {}, { method: 'predict' }), 404, 'invalid_request'],
      [await ask(gateway.key(), {}, { method: 'embedContent' }), 400, 'invalid_request'],
      [await ask(gateway.key(), {}, { model: 'fake/none' }), 404, 'model_not_found'],
      [await ask(gateway.key(), { stream: true }, { model: 'fake/none' }), 404, 'model_not_found'],
      [await ask(gateway.key({ allowlist: ['fake/tuned/one'] })), 403, 'model_not_allowed'],
      [await ask(gateway.key({ allowlist: ['fake/tuned/one'] }), { stream: true }), 403, 'model_not_allowed'],
      [await ask(gateway.key(), '{"contents":'), 400, 'invalid_request'],
    ] as const) {
      assert.equal(reply.status, status, reply.text);
      assert.equal(JSON.parse(reply.text).error.details[0].metadata.code, code);
      assert.ok(reply.headers.has('x-ratelimit-limit-requests'));
    }
  });
});

describe('the money', () => {
  const details = (modality: string, tokenCount: number) => [{ modality, tokenCount }];
  for (const [what, usage, tokens, nanos] of [
    ['input and output', USAGE, [10, 0, 4], 10_000 + 20_000],
    ['thoughts', { ...USAGE, thoughtsTokenCount: 6 }, [10, 0, 10], 10_000 + 50_000],
    ['a total that is more than its parts', { ...USAGE, totalTokenCount: 20 }, [10, 0, 10], 10_000 + 50_000],
    [
      'what tools brought in',
      { ...USAGE, toolUsePromptTokenCount: 5, totalTokenCount: 19 },
      [15, 0, 4],
      15_000 + 20_000,
    ],
    ['what was cached', { ...USAGE, cachedContentTokenCount: 8 }, [10, 8, 4], 2_000 + 800 + 20_000],
    [
      'speech that it heard',
      { ...USAGE, promptTokensDetails: details('AUDIO', 6) },
      [10, 0, 4],
      4_000 + 18_000 + 20_000,
    ],
    ['speech that it spoke', { ...USAGE, candidatesTokensDetails: details('AUDIO', 4) }, [10, 0, 4], 10_000 + 28_000],
    [
      'a long context',
      { ...USAGE, promptTokenCount: 30_000, totalTokenCount: 30_004 },
      [30_000, 0, 4],
      60_000_000 + 40_000,
    ],
  ] as const) {
    test(`is charged for ${what}, streamed or not`, async () => {
      const key = gateway.key();
      gateway.upstream.follow((call) => call.answer(200, answer({ usageMetadata: usage })));
      assert.equal((await ask(key)).status, 200);
      gateway.upstream.follow(streaming(event(piece('Hi')), event(answer({ usageMetadata: usage }))));
      await ask(key, {}, STREAM);
      await until(() => gateway.rows(key).length === 2);
      for (const row of gateway.rows(key)) {
        assert.deepEqual([row.prompt_tokens, row.cached_tokens, row.completion_tokens], tokens);
        assert.equal(BigInt(row.cost_nanos as never), BigInt(nanos));
        assert.equal(row.source, 'reported');
      }
    });
  }

  test('is charged for the queries of a search', async () => {
    const key = gateway.key();
    const grounded = answer();
    Object.assign(grounded.candidates[0] as object, { groundingMetadata: { webSearchQueries: ['a', 'b'] } });
    gateway.upstream.follow((call) => call.answer(200, grounded));
    await ask(key, { tools: [{ google_search: {} }] });
    const [row] = gateway.rows(key);
    assert.equal(BigInt(row?.cost_nanos as never), 30_000n + 20_000_000n);
  });

  test('is charged for searches for images', async () => {
    const key = gateway.key();
    const grounded = answer();
    const groundingMetadata = { webSearchQueries: ['a'], imageSearchQueries: ['a', 'b'] };
    Object.assign(grounded.candidates[0] as object, { groundingMetadata });
    gateway.upstream.follow((call) => call.answer(200, grounded));
    const reply = await ask(key, { tools: [{ googleSearch: { searchTypes: { webSearch: {}, imageSearch: {} } } }] });
    assert.equal(reply.status, 200, reply.text);
    const [row] = gateway.rows(key);
    assert.equal(BigInt(row?.cost_nanos as never), 30_000n + 60_000_000n);
  });

  for (const [what, tools, queries, nanos] of [
    ['each query for a map that is shown', [{ googleMaps: {} }], ['a', 'b'], 60_000_000n],
    ['a map whose queries are not shown', [{ googleMaps: {} }], [], 30_000_000n],
    ['a map beside a search', [{ googleMaps: {} }, { googleSearch: {} }], ['a', 'b'], 50_000_000n],
  ] as const) {
    test(`is charged for ${what}`, async () => {
      const key = gateway.key();
      const grounded = answer();
      Object.assign(grounded.candidates[0] as object, { groundingMetadata: { webSearchQueries: queries } });
      gateway.upstream.follow((call) => call.answer(200, grounded));
      await ask(key, { tools });
      assert.equal(BigInt(gateway.rows(key)[0]?.cost_nanos as never), 30_000n + nanos);
    });
  }

  for (const [tier, trafficType, nanos] of [
    ['that was asked for', undefined, 13_000n],
    ['that was asked for, as Vertex AI names it', 'ON_DEMAND_FLEX', 13_000n],
    ['that it was given instead', 'ON_DEMAND', 30_000n],
  ] as const) {
    test(`is charged by the tier ${tier}`, async () => {
      const key = gateway.key();
      const usageMetadata = { ...USAGE, ...(trafficType && { trafficType }) };
      gateway.upstream.follow((call) => call.answer(200, answer({ usageMetadata })));
      await ask(key, { serviceTier: 'flex' });
      assert.equal(BigInt(gateway.rows(key)[0]?.cost_nanos as never), nanos);
    });
  }

  test('a prompt that is blocked is charged as its host reports', async () => {
    const key = gateway.key();
    const blocked = {
      promptFeedback: { blockReason: 'SAFETY' },
      usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 },
    };
    gateway.upstream.follow((call) => call.answer(200, blocked));
    assert.deepEqual(JSON.parse((await ask(key)).text), blocked);
    gateway.upstream.follow(streaming(event(blocked)));
    assert.equal((await ask(key, {}, STREAM)).text, event(blocked));
    for (const row of gateway.rows(key))
      assert.deepEqual([row.prompt_tokens, BigInt(row.cost_nanos as never)], [9, 9_000n]);
  });

  test('of an answer whose report leaves out what was written is counted, streamed or not', async () => {
    const key = gateway.key();
    const usageMetadata = { promptTokenCount: 10, totalTokenCount: 10 };
    gateway.upstream.follow((call) => call.answer(200, answer({ usageMetadata }, TEXT)));
    await ask(key);
    gateway.upstream.follow(streaming(event(piece(TEXT)), event(answer({ usageMetadata }, ''))));
    await ask(key, {}, STREAM);
    for (const row of gateway.rows(key)) {
      assert.equal(row.source, 'counted');
      assert.ok((row.completion_tokens ?? 0) >= 100, `${row.completion_tokens}`);
    }
  });

  test('of arguments that come in pieces is counted', async () => {
    const key = gateway.key();
    const called = answer({ usageMetadata: undefined });
    const functionCall = { name: 'f', partialArgs: [{ jsonPath: '$.a', stringValue: TEXT }] };
    Object.assign(called.candidates[0] as object, { content: { parts: [{ functionCall }] } });
    gateway.upstream.follow((call) => call.answer(200, called));
    await ask(key);
    assert.ok((gateway.rows(key)[0]?.completion_tokens ?? 0) >= 100);
  });

  test('of an answer without usage is counted', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(200, answer({ usageMetadata: undefined })));
    await ask(key);
    const [row] = gateway.rows(key);
    assert.equal(row?.source, 'counted');
    assert.ok((row?.completion_tokens ?? 0) >= 1);
  });
});

describe('a stream', () => {
  test('goes through as it is, and its last event after the settlement', async () => {
    const key = gateway.key();
    gateway.upstream.follow(streaming(...EVENTS));
    const reply = await ask(key, {}, STREAM);
    assert.equal(reply.text, EVENTS.join(''));
    assert.equal((await gateway.upstream.call()).path, '/base/v1/models/gemini-x-flash:streamGenerateContent?alt=sse');
    assert.equal(gateway.rows(key).length, 1, 'it is settled when it ends');
  });

  test('whose last event has no blank line behind it gets one', async () => {
    gateway.upstream.follow(streaming(...EVENTS.slice(0, 2), (EVENTS[2] as string).trimEnd()));
    const reply = await ask(gateway.key(), {}, STREAM);
    assert.equal(reply.text, `${EVENTS.join('').trimEnd()}\n\n`);
  });

  test('goes on after a finish reason that was not the last event', async () => {
    const more = event({ usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 40, totalTokenCount: 50 } });
    const key = gateway.key();
    gateway.upstream.follow(streaming(...EVENTS, ': comment\r\n\r\n', more));
    const reply = await ask(key, {}, STREAM);
    assert.equal(reply.text.replace(': comment\r\n\r\n', ''), [...EVENTS, more].join(''));
    assert.equal(gateway.rows(key)[0]?.completion_tokens, 40);
  });

  test('that ends before its finish reason fails in the shape of its dialect', async () => {
    const key = gateway.key();
    gateway.upstream.follow(streaming(...EVENTS.slice(0, 2)));
    const reply = await ask(key, {}, STREAM);
    const last = JSON.parse(reply.text.trimEnd().split('\n').at(-1)?.slice('data: '.length) ?? '');
    assert.deepEqual([last.error.code, last.error.status], [502, 'UNAVAILABLE']);
    assert.equal(last.error.details[0].metadata.code, 'upstream_error');
    assert.equal(gateway.rows(key)[0]?.outcome, 'upstream_error');
  });

  test('is one JSON array where its client does not ask for events', async () => {
    gateway.upstream.follow(streaming(...EVENTS));
    const reply = await ask(gateway.key(), {}, { method: 'streamGenerateContent' });
    assert.equal(reply.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.deepEqual(JSON.parse(reply.text), [piece('Hel'), piece('lo. '), answer({}, 'Bye.')]);
  });

  test('that fails is an array with the error at its end', async () => {
    gateway.upstream.follow(streaming(EVENTS[0] as string));
    const reply = await ask(gateway.key(), {}, { method: 'streamGenerateContent' });
    const [first, failure] = JSON.parse(reply.text);
    assert.deepEqual([first, failure.error.code], [piece('Hel'), 502]);
  });

  test('may be cut anywhere', async () => {
    const bytes = Buffer.from(EVENTS.join(''));
    for (let at = 1; at < bytes.length; at += 7) {
      gateway.upstream.follow(
        streaming(bytes.subarray(0, at).toString('latin1'), bytes.subarray(at).toString('latin1')),
      );
      const key = gateway.key();
      const isArray = at % 2 === 0;
      const reply = await ask(key, {}, isArray ? { method: 'streamGenerateContent' } : STREAM);
      if (isArray) assert.equal(JSON.parse(reply.text).length, 3, `cut at ${at}`);
      else assert.equal(reply.text, EVENTS.join(''), `cut at ${at}`);
      assert.equal(BigInt(gateway.rows(key)[0]?.cost_nanos as never), 30_000n);
    }
  });
});

describe('an answer in another form than the request asks for', () => {
  const PIECES = [piece('Hel'), piece('lo. '), answer({}, 'Bye.')];
  const asArray = (pieces: readonly object[]) => JSON.stringify(pieces, undefined, 2);
  const COST = 30_000n;
  const costOf = (key: TestKey) => BigInt(gateway.rows(key)[0]?.cost_nanos as never);

  for (const [what, type] of [
    ['an array', 'application/json; charset=UTF-8'],
    ['an array that is said to be events', 'text/event-stream'],
  ] as const) {
    test(`is a stream: ${what}, in pieces cut anywhere`, async () => {
      const bytes = Buffer.from(asArray(PIECES));
      for (let at = 1; at < bytes.length; at += 101) {
        gateway.upstream.follow((call) => {
          call.stream({ 'content-type': type });
          call.send(bytes.subarray(0, at));
          call.send(bytes.subarray(at));
          call.end();
        });
        const [keyOfEvents, keyOfArray] = [gateway.key(), gateway.key()];
        const events = await ask(keyOfEvents, {}, STREAM);
        const data = events.text.split('\r\n\r\n').slice(0, -1);
        assert.deepEqual(
          data.map((each) => JSON.parse(each.slice('data: '.length))),
          PIECES,
        );
        assert.match(events.headers.get('content-type') ?? '', /^text\/event-stream/);
        const array = await ask(keyOfArray, {}, { method: 'streamGenerateContent' });
        assert.deepEqual(JSON.parse(array.text), PIECES);
        assert.deepEqual([costOf(keyOfEvents), costOf(keyOfArray)], [COST, COST]);
      }
    });
  }

  test('is a stream that is cut where the money ends, though it is an array', async () => {
    const key = gateway.key({ spendLimitNanos: 2_000_000n });
    gateway.upstream.follow(async (call) => {
      call.stream({ 'content-type': 'application/json' });
      call.send('[');
      for (let sent = 0; sent < 400; sent++) call.send(`${JSON.stringify(piece(TEXT))},\n`);
      await call.closed;
    });
    const reply = await ask(key, {}, { method: 'streamGenerateContent' });
    assert.equal(JSON.parse(reply.text).at(-1).error.details[0].metadata.code, 'spend_limit_reached');
  });

  test('is an error within an array', async () => {
    const key = gateway.key();
    const error = { error: { code: 400, message: 'No.', status: 'INVALID_ARGUMENT' } };
    for (const asking of [STREAM, {}]) {
      gateway.upstream.follow((call) => call.answer(200, asArray([error])));
      const reply = await ask(key, {}, asking);
      assert.ok(reply.status >= 400, reply.text);
    }
    assert.deepEqual(
      gateway.rows(key).map(({ cost_nanos }) => cost_nanos),
      [0, 0],
    );
  });

  const whole = answer({}, 'Hello. Bye.');
  for (const [what, body, type] of [
    ['events', PIECES.map(event).join(''), 'text/event-stream'],
    ['an array', asArray(PIECES), 'application/json'],
  ] as const) {
    test(`is a whole answer: ${what}`, async () => {
      const key = gateway.key();
      gateway.upstream.follow((call) => call.answer(200, body, { 'content-type': type }));
      const reply = await ask(key);
      assert.deepEqual([reply.status, JSON.parse(reply.text)], [200, whole]);
      assert.equal(costOf(key), COST);
    });

    test(`is a whole answer for a client of chat: ${what}`, async () => {
      const key = gateway.key();
      gateway.upstream.follow((call) => call.answer(200, body, { 'content-type': type }));
      const messages = [{ role: 'user', content: 'Hello!' }];
      const reply = await gateway.complete(key, JSON.stringify({ model: 'fake/flash', messages }));
      assert.equal(JSON.parse(reply.text).choices[0].message.content, 'Hello. Bye.', reply.text);
      assert.equal(costOf(key), COST);
    });
  }

  test('keeps the parts that are no text, the choices and what stands beside them', async () => {
    const call = { functionCall: { name: 'f', args: { id: 12 } }, thoughtSignature: 'c2ln' };
    const candidate = (index: number, parts: readonly object[], more: object = {}) => ({
      candidates: [{ index, content: { role: 'model', parts }, ...more }],
    });
    const grounding = { groundingMetadata: { webSearchQueries: ['a'] } };
    const pieces = [
      candidate(0, [{ text: 'Hm', thought: true }]),
      candidate(1, [{ text: 'B' }]),
      candidate(0, [{ text: '. ', thought: true }, { text: 'A' }]),
      candidate(0, [call, { text: 'x' }], { finishReason: 'STOP', ...grounding }),
      { ...candidate(1, [{ text: 'b' }], { finishReason: 'MAX_TOKENS' }), usageMetadata: USAGE },
    ];
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(200, asArray(pieces)));
    const reply = await ask(key, { tools: [{ googleSearch: {} }], generationConfig: { candidateCount: 2 } });
    assert.deepEqual(JSON.parse(reply.text), {
      candidates: [
        {
          index: 0,
          content: { role: 'model', parts: [{ text: 'Hm. ', thought: true }, { text: 'A' }, call, { text: 'x' }] },
          finishReason: 'STOP',
          ...grounding,
        },
        { index: 1, content: { role: 'model', parts: [{ text: 'Bb' }] }, finishReason: 'MAX_TOKENS' },
      ],
      usageMetadata: USAGE,
    });
    assert.equal(costOf(key), 10_000n + 4n * 5_000n + 10_000_000n);
  });

  test('is an error where it ends too early, and is charged no less than its hold', async () => {
    for (const [asking, body] of [
      [{}, asArray(PIECES.slice(0, 2))],
      [STREAM, asArray(PIECES).slice(0, -200)],
    ] as const) {
      const key = gateway.key();
      gateway.upstream.follow((call) => call.answer(200, body));
      const reply = await ask(key, {}, asking);
      assert.match(reply.text, /UNAVAILABLE/);
      assert.equal(gateway.rows(key)[0]?.outcome, 'upstream_error');
    }
  });
});

describe('a failure of the host', () => {
  test('that says how long to wait is told so', async () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '37.2s' }];
    gateway.upstream.follow((call) =>
      call.answer(429, { error: { code: 429, message: 'Slow down.', status: 'RESOURCE_EXHAUSTED', details } }),
    );
    const key = gateway.key();
    const reply = await ask(key);
    const { error } = JSON.parse(reply.text);
    assert.deepEqual([reply.status, reply.headers.get('retry-after'), error.details[1].retryDelay], [502, '38', '38s']);
    assert.equal(BigInt(gateway.rows(key)[0]?.cost_nanos as never), 0n);
  });

  test('about the key of the operator is not shown', async () => {
    const error = { code: 400, message: 'API key not valid. Please pass a valid API key.', status: 'INVALID_ARGUMENT' };
    gateway.upstream.follow((call) => call.answer(400, { error }));
    const reply = await ask(gateway.key());
    assert.equal(reply.status, 502);
    assert.equal(reply.text.includes('not valid'), false);
  });
});

describe('the counts', () => {
  test('come from the host, and cost nothing', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(200, { totalTokens: 42 }));
    const body = {
      contents: undefined,
      generateContentRequest: {
        model: 'models/fake/flash',
        contents: CONTENTS,
        system_instruction: { parts: [{ text: 'Be brief.' }] },
      },
    };
    for (const each of [body, {}]) {
      const reply = await ask(key, each, { method: 'countTokens' });
      assert.deepEqual(JSON.parse(reply.text), { totalTokens: 42 });
    }
    const [first] = gateway.upstream.calls;
    assert.equal(first?.path, '/base/v1/models/gemini-x-flash:countTokens');
    assert.deepEqual(JSON.parse(first?.body ?? '').generateContentRequest, {
      model: 'models/gemini-x-flash',
      contents: CONTENTS,
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
    });
    assert.deepEqual(gateway.rows(key), []);
  });

  test('are the gateway’s own where the host does not count', async () => {
    gateway.upstream.follow((call) => call.answer(404, {}));
    const reply = await ask(gateway.key(), {}, { method: 'countTokens' });
    assert.ok(JSON.parse(reply.text).totalTokens > 2);
  });
});

describe('the models', () => {
  test('are listed as Google lists its own', async () => {
    const reply = await gateway.request('/v1beta/models', { headers: { 'x-goog-api-key': gateway.key().secret } });
    const { models } = JSON.parse(reply.text);
    const { name, displayName, inputTokenLimit, outputTokenLimit, supportedGenerationMethods } = models[0];
    assert.deepEqual([name, displayName], ['models/fake/flash', 'fake/flash']);
    assert.deepEqual([inputTokenLimit, outputTokenLimit], [100_000, 8_000]);
    assert.deepEqual(supportedGenerationMethods, ['generateContent', 'countTokens']);
    assert.ok(models.some(({ name }: { name: string }) => name === 'models/gemini-flash-latest'));
  });

  test('can be asked for one by one', async () => {
    const headers = { 'x-goog-api-key': gateway.key().secret };
    for (const id of ['fake/tuned/one', 'fake%2Ftuned%2Fone']) {
      const reply = await gateway.request(`/v1beta/models/${id}`, { headers });
      assert.equal(JSON.parse(reply.text).name, 'models/fake/tuned/one');
    }
    const missing = await gateway.request('/v1beta/models/none', { headers });
    assert.deepEqual([missing.status, JSON.parse(missing.text).error.status], [404, 'NOT_FOUND']);
  });

  test('are not posted to, and methods are not read', async () => {
    const key = gateway.key();
    const posted = await gateway.post('/v1beta/models/fake/flash', key, '{}');
    assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD']);
    const read = await gateway.request('/v1beta/models/fake/flash:generateContent', { key });
    assert.deepEqual([read.status, read.headers.get('allow')], [405, 'POST']);
    const unknown = await gateway.request('/v1beta/tunedModels', { key });
    assert.deepEqual([unknown.status, JSON.parse(unknown.text).error.status], [404, 'NOT_FOUND']);
  });
});

test('what would happen to a request can be asked by its path', async () => {
  const key = gateway.key();
  const body = JSON.stringify({ contents: CONTENTS });
  const explained = await gateway.explain(key, body, '/v1beta/models/fake/flash:generateContent');
  assert.equal(explained.status, 200, explained.message);
});
