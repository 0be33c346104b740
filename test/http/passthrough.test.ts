/** Requests and responses are relayed byte by byte, except for what must change. */
import assert from 'node:assert/strict';
import test, { after, describe } from 'node:test';
import { answering, chunk, completion, DONE, event, streaming, USAGE, usageChunk } from '../support/answers.ts';
import {
  chat,
  type GatewayOptions,
  sharedGateway,
  UPSTREAM_HEADER,
  UPSTREAM_KEY,
  withGateway,
} from '../support/gateway.ts';
import { oneGateway } from '../support/one-gateway.ts';

const gateway = await sharedGateway();
const key = gateway.key();

const MESSAGES = '"messages":[{"role":"user","content":"Hello"}]';

describe('the request', () => {
  const BODIES: readonly (readonly [name: string, members: string])[] = [
    ['number formats', '"temperature":1.0,"top_p":1e-0,"seed":12345678901234567890123,"x":[-0,1E+2,0.10,1e400]'],
    ['escapes in strings', '"x":"\\u00e9\\/\\ud83d\\ude00\\ud800\\u0000\\n","caf\\u00e9":"é😀"'],
    ['duplicates in nested objects', '"metadata":{"a":1,"a":2,"b":{"c":1,"c":1}}'],
    ['the order of keys, including numeric ones', '"z":1,"2":2,"1":1,"a":{"10":1,"9":2}'],
    ['__proto__ and constructor', '"__proto__":{"x":1},"constructor":{"prototype":{}}'],
    ['unknown fields', '"api_base":"http://127.0.0.1:1/","extra_body":{"x":null},"logit_bias":{"50256":-100}'],
    ['white space', '"a" :\t1 ,\r\n "b": [ 1 , 2 ]'],
    ['brackets and quotes in strings', '"user":"}]{[\\"model\\":\\"x\\"\\\\","stop":["\\\\","]"]'],
    ['nulls', '"stop":null,"tools":null,"max_tokens":null'],
  ];
  for (const [name, members] of BODIES) {
    test(`keeps ${name}, wherever the model is`, async () => {
      const layouts = [
        (model: string) => `{"model":"${model}",${MESSAGES},${members}}`,
        (model: string) => `{${MESSAGES},${members},"model":"${model}"}`,
        (model: string) => `{${members}, "mod\\u0065l" : "${model}" ,${MESSAGES}}`,
      ];
      gateway.upstream.follow(answering(completion('hi')));
      for (const layout of layouts) {
        const answer = await gateway.complete(key, layout('fake/echo'));
        assert.equal(answer.status, 200, answer.text);
      }
      assert.deepEqual(
        gateway.upstream.calls.map(({ body }) => body),
        layouts.map((layout) => layout('vendor-echo-1')),
      );
    });
  }

  const OPTIONS: readonly (readonly [name: string, given: string, sent: string])[] = [
    ['absent', '', ',"stream_options":{"include_usage":true}'],
    ['null', ',"stream_options":null', ',"stream_options":{"include_usage":true}'],
    ['empty', ',"stream_options":{ }', ',"stream_options":{"include_usage":true}'],
    ['false', ',"stream_options":{"include_usage":false}', ',"stream_options":{"include_usage":true}'],
    ['true', ',"stream_options":{"include_usage":true}', ',"stream_options":{"include_usage":true}'],
    [
      'with others',
      ',"stream_options":{"include_obfuscation":false,"x":1.0}',
      ',"stream_options":{"include_usage":true,"include_obfuscation":false,"x":1.0}',
    ],
  ];
  for (const [name, given, sent] of OPTIONS) {
    test(`of a stream requests usage, with stream_options ${name}`, async () => {
      gateway.upstream.follow(streaming(chunk('hi', 'stop'), DONE));
      await gateway.complete(key, `{"model":"fake/echo",${MESSAGES},"stream":true${given}}`);
      const expected = `{"model":"vendor-echo-1",${MESSAGES},"stream":true${sent}}`;
      const { body } = await gateway.upstream.call();
      // It does not matter where a field is added, only what it contains.
      assert.deepEqual(JSON.parse(body), JSON.parse(expected));
      if (given.includes('1.0')) assert.match(body, /"x":1\.0/);
    });
  }

  test("goes to the address of the provider, with no headers but the gateway's own", async () => {
    gateway.upstream.follow(answering(completion('hi')));
    const headers = {
      cookie: 'session=client',
      'x-client': 'client',
      'user-agent': 'client/1',
      'openai-organization': 'client',
      'accept-encoding': 'gzip, br',
      'x-forwarded-for': '10.0.0.1',
      'x-request-id': 'client',
    };
    await gateway.complete(key, chat(), { headers });
    const call = await gateway.upstream.call();
    assert.equal(call.method, 'POST');
    assert.equal(call.path, '/base/v1/chat/completions');
    assert.equal(call.header('host'), `127.0.0.1:${gateway.upstream.port}`);
    assert.equal(call.header('authorization'), `Bearer ${UPSTREAM_KEY}`);
    assert.equal(call.header('x-operator'), UPSTREAM_HEADER);
    assert.equal(call.header('accept-encoding'), 'identity');
    assert.equal(call.header('content-type'), 'application/json');
    assert.equal(Number(call.header('content-length')), Buffer.byteLength(call.body));
    const names = call.headerLines.map(([name]) => name.toLowerCase());
    const own = ['host', 'connection', 'content-type', 'content-length', 'accept-encoding', 'accept', 'user-agent'];
    assert.deepEqual(names.toSorted(), [...own, 'authorization', 'x-operator'].toSorted());
    const sent = JSON.stringify(call.headerLines);
    for (const secret of [key.secret, 'client']) assert.ok(!sent.includes(secret), sent);
  });

  for (const encoding of ['identity', 'Identity', 'identity, identity', '']) {
    test(`gets an answer with Content-Encoding: ${encoding}, which is no encoding`, async () => {
      gateway.upstream.follow(answering(completion('hi'), 200, { 'content-encoding': encoding }));
      assert.equal((await gateway.complete(key)).status, 200);
    });
  }

  test('carries no credential if the provider has none', () =>
    withGateway({ provider: { api_key: undefined, headers: undefined } }, async (own) => {
      own.upstream.follow(answering(completion('hi')));
      await own.complete(own.key());
      assert.equal((await own.upstream.call()).header('authorization'), undefined);
    }));

  test('keeps the name of a model if the config sets no other', async () => {
    gateway.upstream.follow(answering(completion('hi')));
    await gateway.complete(key, chat({ model: 'fake/team/nested' }));
    assert.equal(JSON.parse((await gateway.upstream.call()).body).model, 'team/nested');
  });

  const noUsage: GatewayOptions = { provider: { stream_usage: 'off' } };
  test('does not touch stream_options if the host rejects them', () =>
    withGateway(noUsage, async (own) => {
      own.upstream.follow(streaming(chunk('hi', 'stop'), DONE));
      const sender = own.key();
      await own.complete(sender, chat({ stream: true }));
      assert.equal(JSON.parse((await own.upstream.call()).body).stream_options, undefined);
      assert.equal((await own.row(sender)).source, 'counted');
    }));

  const CAPS: readonly (readonly [name: string, fields: Record<string, unknown>, sent: readonly unknown[]])[] = [
    ['none is declared', {}, [100, undefined]],
    ['null is declared', { max_tokens: null }, [100, undefined]],
    ['one is declared', { max_tokens: 7 }, [7, undefined]],
    ['only the field is declared that the host does not read', { max_completion_tokens: 7 }, [7, undefined]],
    ['both are declared', { max_tokens: 7, max_completion_tokens: 9 }, [7, 9]],
  ];
  const onCapping = oneGateway({ after }, { config: { cap_output: true } });
  for (const [name, fields, sent] of CAPS) {
    test(`carries the held maximum with cap_output if ${name}`, () =>
      onCapping(async (own) => {
        own.upstream.follow(answering(completion('hi')));
        await own.complete(own.key(), chat(fields));
        const { max_tokens: read, max_completion_tokens: other } = JSON.parse((await own.upstream.call()).body);
        assert.deepEqual([read, other], sent);
      }));
  }
});

describe('the response', () => {
  const ANSWERS: readonly (readonly [name: string, text: string])[] = [
    [
      'unusual formatting',
      `{ "id" : "x\\u00e9",\n"choices":[{"message":{"content":"\\/é"},"finish_reason":"stop"}],"n":1.0,"n":2e400}\n`,
    ],
    ['blank lines before it', `\n\n  ${JSON.stringify(completion('hi'))}`],
    ['unknown fields', JSON.stringify(completion('hi', { x_groq: { id: 1 }, system_fingerprint: null }))],
    ['an empty array of choices', JSON.stringify(completion('', { choices: [] }))],
    ['an error that is null', JSON.stringify(completion('hi', { error: null }))],
  ];
  for (const [name, text] of ANSWERS) {
    test(`keeps every byte of JSON with ${name}`, async () => {
      gateway.upstream.follow(answering(text));
      const answer = await gateway.complete(key);
      assert.equal(answer.status, 200);
      assert.equal(answer.text, text);
    });
  }

  test("has none of the upstream's headers", async () => {
    const headers = {
      'set-cookie': 'a=b',
      server: 'vendor',
      'openai-organization': 'operator',
      'x-request-id': 'theirs',
    };
    gateway.upstream.follow(answering(completion('hi'), 200, headers));
    const answer = await gateway.complete(key);
    for (const [name, value] of Object.entries(headers)) assert.notEqual(answer.headers.get(name), value);
  });

  test('of megabytes arrives complete', async () => {
    const text = JSON.stringify(completion('é'.repeat(2_000_000)));
    gateway.upstream.follow(answering(text));
    assert.ok((await gateway.complete(key)).text === text);
  });
});

const delta = JSON.stringify({ choices: [{ index: 0, delta: { content: 'é😀' }, finish_reason: 'stop' }] });
const STREAMS: readonly (readonly [name: string, text: string])[] = [
  ['plain events', chunk('a') + chunk('b', 'stop') + DONE],
  ['comments before, between and after', `: hi\n\n${chunk('a')}: keep-alive\n\n${chunk('b', 'stop')}:\n\n${DONE}`],
  ['CRLF', `data: ${delta}\r\n\r\ndata: [DONE]\r\n\r\n`],
  ['CR', `data: ${delta}\r\rdata: [DONE]\r\r`],
  [
    'several data lines',
    `data: {"choices":\ndata: [{"index":0,"delta":{"content":"x"},\ndata: "finish_reason":"stop"}]}\n\n${DONE}`,
  ],
  ['no space after the colon', `data:${delta}\n\ndata:[DONE]\n\n`],
  ['other fields', `id: 7\nretry: 10\nevent: message\ndata: ${delta}\n\n${DONE}`],
  ['a byte order mark', `\ufeffdata: ${delta}\n\n${DONE}`],
  ['usage next to choices', chunk('a', 'stop', { usage: USAGE, x_groq: { usage: USAGE } }) + DONE],
  [
    'empty choices without usage',
    event({ id: '', choices: [], prompt_filter_results: [] }) + chunk('a', 'stop') + DONE,
  ],
  ['an error that is null', chunk('a', 'stop', { error: null }) + DONE],
  ['an event over a megabyte', chunk('x'.repeat(1_500_000)) + chunk('b', 'stop') + DONE],
];

describe('the response to a stream', () => {
  for (const [name, text] of STREAMS) {
    test(`keeps every byte of ${name}`, async () => {
      gateway.upstream.follow(streaming(text));
      const answer = await gateway.complete(key, chat({ stream: true }));
      assert.equal(answer.status, 200);
      assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
      assert.ok(answer.text === text, JSON.stringify(answer.text.slice(0, 2000)));
    });
  }

  test('keeps every byte if it arrives byte by byte', async () => {
    const text = `: hi\r\n\r\ndata: ${delta}\r\n\r\n${DONE}`;
    gateway.upstream.follow(async (call) => {
      call.stream();
      for (const byte of Buffer.from(text)) {
        call.send(Buffer.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
      call.end();
    });
    assert.equal((await gateway.complete(key, chat({ stream: true }))).text, text);
  });

  test('is sent event by event, as it arrives', async () => {
    const steps = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    gateway.upstream.follow(async (call) => {
      call.stream();
      call.send(chunk('first'));
      await steps[0].promise;
      call.send(chunk('second', 'stop'));
      await steps[1].promise;
      call.send(DONE);
      call.end();
    });
    const connection = await gateway.asking(key, chat({ stream: true }));
    await connection.has('first');
    steps[0].resolve();
    await connection.has('second');
    steps[1].resolve();
    const answer = await connection.answer();
    assert.equal(answer.body, chunk('first') + chunk('second', 'stop') + DONE);
    connection.leave();
  });

  const USAGE_ASKED: readonly (readonly [options: unknown, shown: boolean])[] = [
    [undefined, false],
    [null, false],
    [{}, false],
    [{ include_usage: false }, false],
    [{ include_usage: true }, true],
  ];
  for (const [options, shown] of USAGE_ASKED) {
    test(`${shown ? 'shows' : 'hides'} the usage with stream_options ${JSON.stringify(options)}`, async () => {
      const head = chunk('hi', 'stop', { usage: null });
      gateway.upstream.follow(streaming(head, usageChunk(), DONE));
      const sender = gateway.key();
      const answer = await gateway.complete(sender, chat({ stream: true, stream_options: options }));
      assert.equal(answer.text, head + (shown ? usageChunk() : '') + DONE);
      const row = await gateway.row(sender);
      assert.deepEqual([row.source, row.prompt_tokens, row.completion_tokens], ['reported', 10, 5]);
    });
  }

  for (const usage of [{ prompt_tokens: 0, completion_tokens: 0 }, { completion_tokens: 9 }, { prompt_tokens: -1 }]) {
    test(`also hides a chunk with unusable usage: ${JSON.stringify(usage)}`, async () => {
      gateway.upstream.follow(streaming(chunk('hi', 'stop'), usageChunk(usage), DONE));
      const sender = gateway.key();
      const answer = await gateway.complete(sender, chat({ stream: true }));
      assert.equal(answer.text, chunk('hi', 'stop') + DONE);
      assert.equal((await gateway.row(sender)).source, 'counted');
    });
  }

  test('is read to its end, so that the upstream connection can be reused', async () => {
    gateway.upstream.follow(streaming(chunk('hi', 'stop'), DONE));
    for (let i = 0; i < 5; i++) await gateway.complete(key, chat({ stream: true }));
    assert.equal(new Set(gateway.upstream.calls.map(({ connection }) => connection)).size, 1);
  });
});
