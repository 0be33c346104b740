/** Request bodies: their size, their text, and every field that the gateway validates. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { gzipSync } from 'node:zlib';
import { answering, completion } from '../support/answers.ts';
import { assertError } from '../support/expect.ts';
import { chat, sharedGateway } from '../support/gateway.ts';
import { RawConnection } from '../support/raw.ts';

const MAX_BODY = 8 * 1024;
const gateway = await sharedGateway({ config: { max_body: '8kb' } });
const key = gateway.key({ rpm: 100_000 });

/** A valid body of exactly this many bytes. */
function bodyOf(length: number): string {
  const empty = chat({ padding: '' }).length;
  return chat({ padding: 'x'.repeat(length - empty) });
}

/** `depth` nested arrays. */
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

describe('the size of a body', () => {
  const rows = [
    { length: MAX_BODY, status: 200 },
    { length: MAX_BODY + 1, status: 413 },
  ];
  for (const { length, status } of rows) {
    test(`${length} bytes with Content-Length get ${status}`, async () => {
      gateway.upstream.follow(answering(completion('hi')));
      assert.equal((await gateway.complete(key, bodyOf(length))).status, status);
    });

    test(`${length} bytes in chunks get ${status}`, async () => {
      gateway.upstream.follow(answering(completion('hi')));
      const [head = ''] = gateway.rawCompletion(key, '').split('Content-Length');
      const connection = await RawConnection.open(gateway.port);
      const body = bodyOf(length);
      connection.send(`${head}Transfer-Encoding: chunked\r\n\r\n`);
      for (let at = 0; at < length; at += 1000) {
        const piece = body.slice(at, at + 1000);
        connection.send(`${piece.length.toString(16)}\r\n${piece}\r\n`);
      }
      connection.send('0\r\n\r\n');
      const answer = await connection.answer();
      if (status === 413) assertError(answer, 413, 'invalid_request');
      else assert.equal(answer.status, 200);
      connection.leave();
    });
  }

  test('a Content-Length over the limit is rejected before the body arrives, with and without Expect: 100-continue', async () => {
    for (const expect of ['', 'Expect: 100-continue\r\n']) {
      const connection = await RawConnection.open(gateway.port);
      const [head = ''] = gateway.rawCompletion(key, '').split('Content-Length');
      connection.send(`${head}${expect}Content-Length: ${MAX_BODY + 1}\r\n\r\n`);
      assertError(await connection.answer(), 413, 'invalid_request');
      connection.leave();
    }
  });
});

const latin1 = Buffer.from(chat({ user: 'caf\u00e9' }), 'latin1');
const TEXTS: readonly (readonly [name: string, body: string | Buffer])[] = [
  ['an empty body', ''],
  ['white space', ' \n'],
  ['a word', 'hello'],
  ['truncated JSON', chat().slice(0, -1)],
  ['something after the object', `${chat()} {}`],
  ['a trailing comma', `${chat().slice(0, -1)},}`],
  ['single quotes', "{'model':'fake/echo'}"],
  ['NaN', `${chat().slice(0, -1)},"n":NaN}`],
  ['two byte order marks', `\ufeff\ufeff${chat()}`],
  ['Latin-1', latin1],
  ['UTF-16', Buffer.from(chat(), 'utf16le')],
  [
    'a truncated UTF-8 sequence',
    Buffer.concat([Buffer.from('{"model":"fake/echo","user":"'), Buffer.of(0xe2, 0x82), Buffer.from('"}')]),
  ],
  ['an array', `[${chat()}]`],
  ['a string', JSON.stringify(chat())],
  ['a number', '1'],
  ['null', 'null'],
  ['a duplicate model', `{"model":"fake/echo",${chat().slice(1)}`],
  ['a duplicate field', `${chat({ max_tokens: 1 }).slice(0, -1)},"max_tokens":2}`],
  ['a duplicate field, once with escapes', `${chat({ max_tokens: 1 }).slice(0, -1)},"max\\u005ftokens":2}`],
  ['__proto__ twice', `${chat().slice(0, -1)},"__proto__":{},"__proto__":{}}`],
  ['arrays 200 levels deep', `${chat().slice(0, -1)},"x":${nested(200)}}`],
  ['arrays 3,000 levels deep', `${chat().slice(0, -1)},"x":${nested(3000)}}`],
];

describe('the text of a body', () => {
  for (const [name, body] of TEXTS) {
    test(`${name} is rejected`, async () => {
      gateway.upstream.follow((call) => call.reset());
      assertError(await gateway.complete(key, body), 400, 'invalid_request');
      assert.equal(gateway.upstream.calls.length, 0);
    });
  }

  const taken: readonly (readonly [name: string, body: string])[] = [
    ['white space around it', `\r\n\t ${chat()} \n`],
    ['duplicates in nested objects', `${chat().slice(0, -1)},"metadata":{"a":1,"a":2}}`],
    ['__proto__ once', `${chat().slice(0, -1)},"__proto__":{"n":1}}`],
    ['arrays 190 levels deep', `${chat().slice(0, -1)},"x":${nested(190)}}`],
    ['lone surrogates in escapes', `${chat().slice(0, -1)},"x":"\\ud800"}`],
  ];
  for (const [name, body] of taken) {
    test(`${name} is accepted`, async () => {
      gateway.upstream.follow(answering(completion('hi')));
      const answer = await gateway.complete(key, body);
      assert.equal(answer.status, 200, answer.text);
    });
  }

  for (const encoding of ['gzip', 'deflate', 'br', 'GZIP', 'identity, gzip', 'identityidentity']) {
    test(`a body with Content-Encoding: ${encoding} is rejected`, async () => {
      const answer = await gateway.complete(key, gzipSync(chat()), { headers: { 'content-encoding': encoding } });
      assertError(answer, 400, 'invalid_request');
    });
  }

  for (const encoding of ['identity', 'Identity', 'IDENTITY', 'identity, identity', '']) {
    test(`Content-Encoding: ${encoding} is no encoding, whether the body is in one piece or in two`, async () => {
      gateway.upstream.follow(answering(completion('hi')));
      const [head = '', body = ''] = gateway.rawCompletion(key, chat()).split(/(?<=\r\n\r\n)/);
      const encoded = head.replace('Content-Type', `Content-Encoding: ${encoding}\r\nContent-Type`);
      for (const pieces of [[encoded + body], [encoded, body]]) {
        const connection = await RawConnection.open(gateway.port);
        for (const piece of pieces) connection.send(piece);
        assert.equal((await connection.answer()).status, 200);
        connection.leave();
      }
    });
  }

  test('a byte order mark is passed over, and does not go upstream', async () => {
    gateway.upstream.follow(answering(completion('hi')));
    assert.equal((await gateway.complete(key, `\ufeff${chat()}`)).status, 200);
    const { body } = await gateway.upstream.call();
    assert.deepEqual(JSON.parse(body), { ...JSON.parse(chat()), model: 'vendor-echo-1' });
  });

  test('the message about malformed JSON says where it is', async () => {
    const body = chat().replace('"messages":', '\n"messages":\n\u00e9');
    const { error } = await gateway.complete(key, body);
    assert.match(error.message, /line 3, column 1\b/);
  });

  test('the content type does not matter', async () => {
    gateway.upstream.follow(answering(completion('hi')));
    for (const type of ['text/plain', 'application/json; charset=utf-8', 'application/octet-stream']) {
      assert.equal((await gateway.complete(key, chat(), { headers: { 'content-type': type } })).status, 200);
    }
  });
});

const user = { role: 'user', content: 'Hello' };
const tool = (definition: unknown) => ({ tools: [{ type: 'function', function: definition }] });
/** Each with the name that the message must contain. */
const INVALID_FIELDS: readonly (readonly [field: string, fields: Record<string, unknown>])[] = [
  ['model', { model: undefined }],
  ['model', { model: null }],
  ['model', { model: ['fake/echo'] }],
  ['messages', { messages: undefined }],
  ['messages', { messages: null }],
  ['messages', { messages: [] }],
  ['messages', { messages: 'Hello' }],
  ['messages', { messages: { 0: user } }],
  ['messages', { messages: [user, 'Hello'] }],
  ['messages', { messages: [null] }],
  ['messages', { messages: [[user]] }],
  ['role', { messages: [{ content: 'Hello' }] }],
  ['role', { messages: [{ role: 'bot', content: 'Hello' }] }],
  ['role', { messages: [{ role: 'User', content: 'Hello' }] }],
  ['role', { messages: [{ role: 1, content: 'Hello' }] }],
  ['content', { messages: [{ role: 'user' }] }],
  ['content', { messages: [{ role: 'user', content: null }] }],
  ['content', { messages: [{ role: 'system' }] }],
  ['content', { messages: [{ role: 'developer', content: null }] }],
  ['content', { messages: [{ role: 'tool', tool_call_id: 'x' }] }],
  ['content', { messages: [{ role: 'user', content: 7 }] }],
  ['content', { messages: [{ role: 'user', content: { type: 'text', text: 'x' } }] }],
  ['content', { messages: [{ role: 'assistant', content: false }] }],
  ['content', { messages: [{ role: 'user', content: ['Hello'] }] }],
  ['content', { messages: [{ role: 'user', content: [{ text: 'Hello' }] }] }],
  ['content', { messages: [{ role: 'user', content: [{ type: 1 }] }] }],
  ...['max_tokens', 'max_completion_tokens'].flatMap((field) =>
    [0, -1, 1.5, '10', true, []].map((value) => [field, { [field]: value }] as const),
  ),
  ...[0, 129, 1.5, '1', -1].map((n) => ['n', { n }] as const),
  ...['true', 1, 0, {}].map((stream) => ['stream', { stream }] as const),
  ['stream_options', { stream_options: { include_usage: true } }],
  ['stream_options', { stream: false, stream_options: {} }],
  ['stream_options', { stream: true, stream_options: true }],
  ['stream_options', { stream: true, stream_options: [] }],
  ['stream_options.include_usage', { stream: true, stream_options: { include_usage: 'true' } }],
  ...[-0.1, 2.1, '1', true].map((temperature) => ['temperature', { temperature }] as const),
  ...[-0.1, 1.1, '1'].map((top_p) => ['top_p', { top_p }] as const),
  ...['presence_penalty', 'frequency_penalty'].flatMap((field) =>
    [-2.1, 2.1, '0'].map((value) => [field, { [field]: value }] as const),
  ),
  ...[7, [], [1], ['a', 'b', 'c', 'd', 'e'], {}].map((stop) => ['stop', { stop }] as const),
  ['tools', { tools: {} }],
  ['tools', { tools: 'x' }],
  ['tools', { tools: ['x'] }],
  ['function', { tools: [{ type: 'function' }] }],
  ['name', tool({})],
  ['name', tool({ name: 7 })],
  ['name', tool({ name: '' })],
  ['parameters', tool({ name: 'f', parameters: 'object' })],
  ['parameters', tool({ name: 'f', parameters: [] })],
];

describe('the fields of a body', () => {
  for (const [field, fields] of INVALID_FIELDS) {
    test(`${field} is named in the error for ${JSON.stringify(fields)}`, async () => {
      gateway.upstream.follow((call) => call.reset());
      const message = assertError(await gateway.complete(key, chat(fields)), 400, 'invalid_request');
      assert.ok(message.includes(field), message);
      assert.equal(gateway.upstream.calls.length, 0);
    });
  }

  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
  const taken: readonly Record<string, unknown>[] = [
    { max_tokens: 1, n: 128, temperature: 2, top_p: 0, presence_penalty: -2, frequency_penalty: 2 },
    { max_completion_tokens: 5, max_tokens: 6, n: 1, temperature: 0, top_p: 1, stop: 'x' },
    { stop: ['a', 'b', 'c', 'd'], stream: false },
    { max_tokens: null, max_completion_tokens: null, n: null, stream: null, stream_options: null, temperature: null },
    { top_p: null, presence_penalty: null, frequency_penalty: null, stop: null, tools: null },
    { max_tokens: 2.0, seed: -1, logit_bias: { 1: -100 }, anything: ['at', { all: null }] },
    {
      messages: ['system', 'developer', 'user', 'assistant', 'tool', 'function'].map((role) => ({
        role,
        content: 'x',
      })),
    },
    { messages: [{ role: 'assistant' }, { role: 'assistant', content: null }, { role: 'function', content: null }] },
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, image, { type: 'something_new' }] }] },
    { messages: [{ role: 'user', content: '' }] },
    { tools: [] },
    tool({ name: 'f' }),
    tool({ name: 'f', parameters: {}, strict: true, description: 'x' }),
    { tools: [{ type: 'custom', custom: { name: 'x' } }] },
  ];
  for (const fields of taken) {
    test(`${JSON.stringify(fields)} is accepted`, async () => {
      gateway.upstream.follow(answering(completion('hi')));
      const answer = await gateway.complete(key, chat(fields));
      assert.equal(answer.status, 200, answer.text);
    });
  }
});
