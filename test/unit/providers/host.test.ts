/** Hosts of the chat-completions API: their endpoint, headers, secrets, and request body. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bodyFor, endpointOf, type Host, pathFor } from '../../../src/providers/host.ts';
import { chatRequest } from '../dialects/chat/chat.ts';

const HOST: Host = {
  auth: 'bearer',
  baseUrl: 'https://api.example.com/v1',
  apiKey: 'sk-of-the-operator',
  headers: {},
  streamUsage: true,
};

/** Without the path of the dialect. */
const ADDRESSES: readonly (readonly [baseUrl: string, origin: string, path: string, query?: string])[] = [
  ['https://api.example.com/v1', 'https://api.example.com', '/v1'],
  ['https://api.example.com/v1/', 'https://api.example.com', '/v1'],
  ['https://api.example.com', 'https://api.example.com', ''],
  ['http://127.0.0.1:8000/v1', 'http://127.0.0.1:8000', '/v1'],
  ['http://[::1]:8000//', 'http://[::1]:8000', ''],
  [
    'https://x.example.com/openai/deployments/d?api-version=2026-01-01',
    'https://x.example.com',
    '/openai/deployments/d',
    '?api-version=2026-01-01',
  ],
];

describe('requests go to', () => {
  for (const [baseUrl, origin, path, query = ''] of ADDRESSES) {
    test(`${origin}${path}${query} for ${baseUrl}`, () => {
      const endpoint = endpointOf({ ...HOST, baseUrl }, 'inf-gw/0');
      assert.deepEqual([endpoint.origin, endpoint.path, endpoint.query], [origin, path, query]);
    });
  }
});

describe('the model in the path of the address', () => {
  const at = (path: string, model: string) => {
    const baseUrl = `https://api.example.com${path}`;
    const request = chatRequest({ model: 'a/b', messages: [{ role: 'user', content: 'hi' }] });
    return pathFor(endpointOf({ ...HOST, baseUrl }, 'inf-gw/0'), request, model);
  };

  test('is the name that the host has for it', () => {
    assert.equal(
      at('/openai/deployments/{model}/?api-version=1', 'my gpt/5'),
      '/openai/deployments/my%20gpt%2F5/chat/completions?api-version=1',
    );
    assert.equal(at('/{model}', '$&'), '/%24%26/chat/completions');
  });

  test('is none where the address has no place for it', () => {
    assert.equal(at('/v1/{models}', 'm'), '/v1/%7Bmodels%7D/chat/completions');
  });

  test('is no secret', () => {
    const baseUrl = 'https://api.example.com/openai/deployments/{model}';
    const { secrets } = endpointOf({ ...HOST, baseUrl }, 'x');
    assert.deepEqual(secrets.parts, ['sk-of-the-operator', 'api.example.com']);
  });
});

describe('the headers of a request', () => {
  test('carry the credential, and request an uncompressed response', () => {
    const { headers } = endpointOf(HOST, 'inf-gw/0');
    assert.equal(headers.authorization, 'Bearer sk-of-the-operator');
    assert.equal(headers['accept-encoding'], 'identity');
    assert.equal(headers['user-agent'], 'inf-gw/0');
    assert.equal(headers['content-type'], 'application/json');
  });

  test("carry no credential if there is none, and those of the config override the gateway's own", () => {
    const { headers } = endpointOf(
      { ...HOST, apiKey: undefined, headers: { 'user-agent': 'mine', 'api-key': 'k' } },
      'x',
    );
    assert.equal('authorization' in headers, false);
    assert.deepEqual([headers['user-agent'], headers['api-key']], ['mine', 'k']);
  });
});

test('the secrets are the credential, the address and the headers, and nothing that occurs in ordinary text', () => {
  const { secrets } = endpointOf({ ...HOST, headers: { 'x-team': 'team-secret', 'x-on': '1' } }, 'x');
  assert.deepEqual(secrets, {
    parts: ['sk-of-the-operator', 'api.example.com', 'team-secret'],
    words: [],
    credentials: ['sk-of-the-operator'],
  });
});

describe('the body for a host', () => {
  const plain = { model: 'a/b', messages: [{ role: 'user', content: 'hi' }] };
  const bodyOf = (fields: object, host: Partial<Host> = {}, cap?: number) =>
    JSON.parse(
      bodyFor(endpointOf({ ...HOST, ...host }, 'inf-gw'), chatRequest({ ...plain, ...fields }), 'gpt-x', cap, false),
    ) as object;

  test("has the host's name of the model", () => {
    assert.deepEqual(bodyOf({}), { ...plain, model: 'gpt-x' });
  });

  test('requests usage in streams, unless the host rejects that', () => {
    const stream = { ...plain, model: 'gpt-x', stream: true };
    assert.deepEqual(bodyOf({ stream: true }), { ...stream, stream_options: { include_usage: true } });
    assert.deepEqual(bodyOf({ stream: true }, { streamUsage: false }), stream);
  });

  for (const [baseUrl, field] of [
    ['https://api.openai.com/v1', 'max_completion_tokens'],
    ['https://x.openai.azure.com/openai/v1', 'max_completion_tokens'],
    ['https://x.cognitiveservices.azure.com/openai/v1', 'max_completion_tokens'],
    ['https://api.example.com/v1', 'max_tokens'],
    ['https://api.notopenai.com/v1', 'max_tokens'],
    ['https://openai.com.example.org/v1', 'max_tokens'],
  ] as const) {
    test(`caps its output in ${field} at ${baseUrl}`, () => {
      assert.deepEqual(bodyOf({}, { baseUrl }, 99), { ...plain, model: 'gpt-x', [field]: 99 });
    });
  }

  test('caps its output in max_completion_tokens at any host of kind azure', () => {
    const host = { kind: 'azure', baseUrl: 'https://apim.example/openai/v1' };
    assert.deepEqual(bodyOf({}, host, 99), { ...plain, model: 'gpt-x', max_completion_tokens: 99 });
  });

  const CAPPED: readonly (readonly [host: string, declared: object, sent: object])[] = [
    ['https://api.example.com/v1', { max_tokens: 7 }, { max_tokens: 7 }],
    ['https://api.example.com/v1', { max_completion_tokens: 7 }, { max_tokens: 99 }],
    ['https://api.example.com/v1', { max_completion_tokens: 7, max_tokens: null }, { max_tokens: 99 }],
    ['https://api.example.com/v1', { max_completion_tokens: null }, { max_completion_tokens: null, max_tokens: 99 }],
    [
      'https://api.example.com/v1',
      { max_tokens: 7, max_completion_tokens: 9 },
      { max_tokens: 7, max_completion_tokens: 9 },
    ],
    ['https://api.openai.com/v1', { max_completion_tokens: 7 }, { max_completion_tokens: 7 }],
    ['https://api.openai.com/v1', { max_tokens: 7 }, { max_tokens: 7 }],
    [
      'https://api.openai.com/v1',
      { max_tokens: 7, max_completion_tokens: null },
      { max_tokens: 7, max_completion_tokens: null },
    ],
  ];
  for (const [baseUrl, declared, sent] of CAPPED) {
    test(`never has a second maximum beside that of the client: ${JSON.stringify(declared)} at ${baseUrl}`, () => {
      assert.deepEqual(bodyOf(declared, { baseUrl }, 99), { ...plain, model: 'gpt-x', ...sent });
    });
  }

  const translated = (baseUrl: string, fields: object, cap?: number) => {
    const request = chatRequest({ ...plain, ...fields });
    return JSON.parse(bodyFor(endpointOf({ ...HOST, baseUrl }, 'inf-gw'), request, 'gpt-x', cap, true)) as object;
  };
  const openai = 'https://api.openai.com/v1';

  test('declares a translated maximum as max_completion_tokens at OpenAI, once', () => {
    const expected = { ...plain, model: 'gpt-x', max_completion_tokens: 7 };
    assert.deepEqual(translated(openai, { max_tokens: 7 }), expected);
    assert.deepEqual(translated(openai, { max_tokens: 7 }, 99), expected);
    assert.deepEqual(translated(openai, {}), { ...plain, model: 'gpt-x' });
  });

  test('keeps max_tokens at other hosts, and where the client wrote it', () => {
    const expected = { ...plain, model: 'gpt-x', max_tokens: 7 };
    assert.deepEqual(translated('https://api.example.com/v1', { max_tokens: 7 }), expected);
    assert.deepEqual(bodyOf({ max_tokens: 7 }, { baseUrl: openai }), expected);
  });
});
