/** The Authorization header: which values are accepted, which error each invalid one gets, and that a known key is decided anew. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { hashKey, mintKey } from '../../src/core/api-key.ts';
import { ERROR_STATUS, type ErrorCode } from '../../src/core/errors.ts';
import { answering, completion } from '../support/answers.ts';
import { assertError, ratesOf } from '../support/expect.ts';
import { chat, sharedGateway, type TestKey } from '../support/gateway.ts';
import { type RawAnswer, RawConnection } from '../support/raw.ts';

const gateway = await sharedGateway();

const live = gateway.key();
const { secret } = live;
const deleted = gateway.key();
gateway.setState(deleted, 'deleted');
const disabled = gateway.key();
gateway.setState(disabled, 'disabled');

/** Sends a header with exactly these bytes, which a client library might not send. */
async function sendHeader(lines: string, route: string) {
  const connection = await RawConnection.open(gateway.port);
  const body = route.startsWith('POST') ? chat() : '';
  connection.send(`${route} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n${lines}\r\n`);
  connection.send(body);
  const answer = await connection.answer();
  connection.leave();
  return answer;
}

const ROUTES = ['POST /v1/chat/completions', 'GET /v1/models', 'GET /v1/models/fake%2Fecho'];
const lastCharacter = secret.at(-1) === 'a' ? 'b' : 'a';

const REJECTED: readonly (readonly [name: string, header: string | undefined, code: string])[] = [
  ['no header', undefined, 'unauthorized'],
  ['an empty header', '', 'unauthorized'],
  ['a bare scheme', 'Bearer', 'unauthorized'],
  ['a scheme and a space', 'Bearer ', 'unauthorized'],
  ['the key alone', secret, 'unauthorized'],
  ['another scheme', `Basic ${secret}`, 'unauthorized'],
  ['no space after the scheme', `Bearer${secret}`, 'unauthorized'],
  ['a colon after the scheme', `Bearer: ${secret}`, 'unauthorized'],
  ['two spaces', `Bearer  ${secret}`, 'invalid_api_key'],
  ['a tab', `Bearer\t${secret}`, 'invalid_api_key'],
  ['a space and a tab', `Bearer \t${secret}`, 'invalid_api_key'],
  ['a word after the key', `Bearer ${secret} x`, 'invalid_api_key'],
  ['a key in quotes', `Bearer "${secret}"`, 'invalid_api_key'],
  ['a comma after the key', `Bearer ${secret},`, 'invalid_api_key'],
  ['another prefix', `Bearer sk-${secret.slice(7)}`, 'invalid_api_key'],
  ['a prefix in upper case', `Bearer SK-INF-${secret.slice(7)}`, 'invalid_api_key'],
  ['a key cut short', `Bearer ${secret.slice(0, -1)}`, 'invalid_api_key'],
  ['a key with one character too many', `Bearer ${secret}0`, 'invalid_api_key'],
  ['a wrong checksum', `Bearer ${secret.slice(0, -1)}${lastCharacter}`, 'invalid_api_key'],
  ['a key that was never created', `Bearer ${mintKey()}`, 'invalid_api_key'],
  ['a deleted key', `Bearer ${deleted.secret}`, 'invalid_api_key'],
  ['the stored hash of a key', `Bearer ${hashKey(secret)}`, 'invalid_api_key'],
  ['SQL', `Bearer sk-inf-' OR 1=1 --`, 'invalid_api_key'],
  ['bytes beyond ASCII', 'Bearer sk-inf-\u00e9', 'invalid_api_key'],
];

describe('the Authorization header', () => {
  for (const [name, header, code] of REJECTED) {
    test(`${name} is ${code}`, async () => {
      for (const route of ROUTES) {
        const answer = await sendHeader(header === undefined ? '' : `Authorization: ${header}\r\n`, route);
        assertError(answer, 401, code);
      }
    });
  }

  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR']) {
    test(`the scheme may be written ${scheme}`, async () => {
      gateway.upstream.follow(answering(completion('hi')));
      for (const route of ROUTES) {
        assert.equal((await sendHeader(`Authorization: ${scheme} ${secret}\r\n`, route)).status, 200);
      }
    });
  }

  test('white space around the header value is ignored, as HTTP requires', async () => {
    assert.equal((await sendHeader(`Authorization:   Bearer ${secret} \t\r\n`, 'GET /v1/models')).status, 200);
  });

  test('two of them are rejected before either is read', async () => {
    const one = `Authorization: Bearer ${secret}\r\n`;
    for (const lines of [one + one, `${one}authorization: x\r\n`, 'Authorization: x\r\nAuthorization: y\r\n']) {
      for (const route of ROUTES) assertError(await sendHeader(lines, route), 400, 'invalid_request');
    }
  });
});

describe('the x-api-key header', () => {
  /** Where clients of several dialects ask, the header says which of them reads the error. */
  function assertRefused(answer: RawAnswer, route: string, code: ErrorCode): void {
    if (route.startsWith('POST')) return void assertError(answer, ERROR_STATUS[code], code);
    const { type, error } = JSON.parse(answer.body);
    assert.deepEqual([answer.status, type, error.code], [ERROR_STATUS[code], 'error', code]);
  }

  test('without a value is unauthorized, with a wrong one invalid_api_key', async () => {
    for (const route of ROUTES) {
      assertRefused(await sendHeader('x-api-key:\r\n', route), route, 'unauthorized');
      assertRefused(await sendHeader('x-api-key: x\r\n', route), route, 'invalid_api_key');
    }
  });

  test('twice with different keys is rejected before either is read', async () => {
    for (const lines of [`x-api-key: ${secret}\r\nX-API-Key: y\r\n`, 'x-api-key: x\r\nx-api-key: y\r\n']) {
      for (const route of ROUTES) assertRefused(await sendHeader(lines, route), route, 'invalid_request');
    }
  });
});

describe('several headers with a key', () => {
  const bearer = `Authorization: Bearer ${secret}\r\n`;
  const apiKey = `x-api-key: ${secret}\r\n`;
  const google = `x-goog-api-key: ${secret}\r\n`;

  for (const [name, lines] of [
    ['Authorization and x-api-key, as Claude Code sends it', bearer + apiKey],
    ['Authorization and x-goog-api-key', bearer + google],
    ['x-api-key and x-goog-api-key', apiKey + google],
    ['all three', bearer + apiKey + google],
    ['x-api-key twice', apiKey + apiKey],
    ['a scheme in lower case', apiKey + bearer.replace('Bearer', 'bearer')],
  ] as const) {
    test(`are accepted with the same key: ${name}`, async () => {
      gateway.upstream.follow(answering(completion('hi')));
      for (const route of ROUTES) assert.equal((await sendHeader(lines, route)).status, 200);
    });
  }

  test('are accepted beside the same key in the query of a path of Google', async () => {
    const [asked, other] = [`GET /v1beta/models?key=${secret}`, `GET /v1beta/models?key=${secret}&key=${mintKey()}`];
    assert.equal((await sendHeader(bearer + google, asked)).status, 200);
    assert.equal((await sendHeader('', other)).status, 400);
    assert.equal((await sendHeader(`Authorization: Bearer ${mintKey()}\r\n`, asked)).status, 400);
  });

  test('get the error of one header if their key is invalid', async () => {
    const unknown = mintKey();
    const answer = await sendHeader(
      `Authorization: Bearer ${unknown}\r\nx-goog-api-key: ${unknown}\r\n`,
      'POST /v1/chat/completions',
    );
    assertError(answer, 401, 'invalid_api_key');
  });

  for (const [name, lines] of [
    ['two valid keys', `${bearer}x-api-key: ${gateway.key().secret}\r\n`],
    ['a valid and an unknown key', `${bearer}x-goog-api-key: ${mintKey()}\r\n`],
    ['an unknown and a valid key', `Authorization: Bearer ${mintKey()}\r\n${apiKey}`],
    ['two unknown keys', `Authorization: Bearer x\r\nx-api-key: y\r\n`],
    ['a third that differs', `${bearer}${apiKey}x-goog-api-key: x\r\n`],
    ['another scheme', `Authorization: Basic ${secret}\r\n${apiKey}`],
    ['two spaces after the scheme', `Authorization: Bearer  ${secret}\r\n${apiKey}`],
    ['no key after the scheme', `Authorization: Bearer\r\n${apiKey}`],
    ['one without a value', `${bearer}x-goog-api-key:\r\n`],
  ] as const) {
    test(`are rejected before any of them is read if they differ: ${name}`, async () => {
      for (const route of ROUTES) {
        const { status, body } = await sendHeader(lines, route);
        assert.deepEqual([status, /contains different API keys/.test(body)], [400, true]);
      }
    });
  }
});

describe('the state of a key', () => {
  test('unknown, deleted and malformed keys get identical responses', async () => {
    const answers = [];
    for (const key of [mintKey(), deleted.secret, 'sk-inf-short', `${secret}x`]) {
      const { body, headers } = await sendHeader(`Authorization: Bearer ${key}\r\n`, 'POST /v1/chat/completions');
      const varying = new Map(headers);
      varying.delete('x-request-id');
      varying.delete('date');
      answers.push({ body, headers: varying });
    }
    for (const answer of answers) assert.deepEqual(answer, answers[0]);
  });

  test('clients without a valid key see the limits of the default tier, with nothing used', async () => {
    const answer = await gateway.complete(deleted);
    assert.deepEqual(ratesOf(answer.headers), {
      limitRequests: 600,
      remainingRequests: 600,
      resetRequests: 0,
      limitTokens: 2_000_000,
      remainingTokens: 2_000_000,
      resetTokens: 0,
    });
    const listing = ratesOf((await gateway.request('/v1/models', { key: deleted })).headers);
    assert.deepEqual([listing.limitRequests, listing.remainingRequests, listing.resetRequests], [6000, 6000, 0]);
  });

  test('a disabled key gets 403 on every route', async () => {
    assertError(await gateway.complete(disabled), 403, 'api_key_disabled');
    assertError(await gateway.request('/v1/models', { key: disabled }), 403, 'api_key_disabled');
    assertError(await gateway.request('/v1/models/fake/echo', { key: disabled }), 403, 'api_key_disabled');
  });

  test('the next request sees what another process changed about the key', async () => {
    gateway.upstream.follow(answering(completion('hi')));
    const key = gateway.key();
    const listing = () => gateway.request('/v1/models', { key });
    const steps = [
      { state: 'disabled', status: 403 },
      { state: 'enabled', status: 200 },
      { state: 'disabled', status: 403 },
      { state: 'deleted', status: 401 },
    ] as const;
    assert.equal((await gateway.complete(key)).status, 200);
    for (const { state, status } of steps) {
      gateway.setState(key, state);
      assert.equal((await gateway.complete(key)).status, status);
      assert.equal((await listing()).status, status);
    }
  });

  test('a key that was rejected as unknown works as soon as it is created', async () => {
    gateway.upstream.follow(answering(completion('hi')));
    const secret = mintKey();
    assertError(await gateway.complete({ id: '', secret }), 401, 'invalid_api_key');
    assert.equal((await gateway.complete(gateway.key({}, secret))).status, 200);
  });
});

describe('a body that has not arrived yet', () => {
  const heads = [
    { name: 'without a key', line: '', status: 401 },
    { name: 'with an unknown key', line: `Authorization: Bearer ${mintKey()}\r\n`, status: 401 },
    { name: 'with a disabled key', line: `Authorization: Bearer ${disabled.secret}\r\n`, status: 403 },
  ];
  for (const { name, line, status } of heads) {
    test(`is not waited for ${name}`, async () => {
      for (const expect of ['', 'Expect: 100-continue\r\n']) {
        const connection = await gateway.sending(
          `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n${expect}${line}\r\n`,
        );
        assert.equal((await connection.answer()).status, status);
        connection.leave();
      }
    });
  }

  test('is requested once the key is known to be valid', async () => {
    gateway.upstream.follow(answering(completion('hi')));
    const connection = await RawConnection.open(gateway.port);
    const [head = '', body = ''] = gateway.rawCompletion(live, chat()).split('\r\n\r\n');
    connection.send(`${head}\r\nExpect: 100-continue\r\n\r\n`);
    assert.equal((await connection.answer()).status, 100);
    connection.send(body);
    assert.equal((await connection.answer()).status, 200);
    connection.leave();
  });

  test('is not requested in the middle of the response before it', async () => {
    gateway.upstream.follow(answering(completion('hi')));
    const [first, second] = [gateway.rawCompletion(live, chat()), gateway.rawCompletion(live, chat())];
    const connection = await gateway.sending(first + second.replace('\r\n', '\r\nExpect: 100-continue\r\n'));
    const answers = [await connection.answer(), await connection.answer()];
    // The body has arrived, so a 100 is allowed but not required.
    if (answers[1]?.status === 100) answers[1] = await connection.answer();
    for (const { status, body } of answers) assert.deepEqual([status, JSON.parse(body).id], [200, 'chatcmpl-1']);
    connection.leave();
  });

  test('is requested on a pipelined request once the previous response is out', async () => {
    gateway.upstream.follow(answering(completion('hi')));
    const connection = await RawConnection.open(gateway.port);
    const [head = '', body = ''] = gateway.rawCompletion(live, chat()).split('\r\n\r\n');
    connection.send(`${gateway.rawCompletion(live, chat())}${head}\r\nExpect: 100-continue\r\n\r\n`);
    assert.equal((await connection.answer()).status, 200);
    assert.equal((await connection.answer()).status, 100);
    connection.send(body);
    assert.equal((await connection.answer()).status, 200);
    connection.leave();
  });

  test('an expectation other than 100-continue is rejected', async () => {
    const connection = await gateway.sending(
      'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: tea\r\n\r\n{}',
    );
    assertError(await connection.answer(), 417, 'invalid_request');
    connection.leave();
  });
});

/** Sends a request in one write, so that its body arrives with its headers. */
async function ask(key: TestKey, body = chat()) {
  const connection = await gateway.asking(key, body);
  const answer = await connection.answer();
  connection.leave();
  return answer;
}

/** A key that has been used. */
async function usedKey(settings: Parameters<typeof gateway.key>[0] = {}): Promise<TestKey> {
  const key = gateway.key(settings);
  gateway.upstream.follow(answering(completion('hi')));
  for (let i = 0; i < 2; i++) assert.equal((await ask(key)).status, 200);
  return key;
}

describe('a key that was used before', () => {
  test('is rejected as soon as it is disabled, and works again once it is enabled', async () => {
    const key = await usedKey();
    gateway.setState(key, 'disabled');
    const refused = await ask(key);
    assertError(refused, 403, 'api_key_disabled');
    assert.equal(refused.headers.get('x-ratelimit-remaining-requests'), '598', 'the refusal takes nothing');
    gateway.setState(key, 'enabled');
    assert.equal((await ask(key)).status, 200);
  });

  test('is unknown as soon as it is deleted, with the limits of an unknown client', async () => {
    const key = await usedKey({ rpm: 7 });
    gateway.setState(key, 'deleted');
    for (let i = 0; i < 2; i++) {
      const refused = await ask(key);
      assertError(refused, 401, 'invalid_api_key');
      assert.equal(refused.headers.get('x-ratelimit-limit-requests'), '600');
    }
  });

  test('gets errors about its body only if the key itself is valid', async () => {
    const key = await usedKey();
    assertError(await ask(key, '{'), 400, 'invalid_request');
    gateway.setState(key, 'disabled');
    assertError(await ask(key, '{'), 403, 'api_key_disabled');
    gateway.setState(key, 'deleted');
    assertError(await ask(key, chat({ model: 'no/model' })), 401, 'invalid_api_key');
  });

  test('may call only the models on its list', async () => {
    const key = await usedKey({ allowlist: ['fake/echo'] });
    assertError(await ask(key, chat({ model: 'fake/free' })), 403, 'model_not_allowed');
    assertError(await ask(key, chat({ model: 'fake/none' })), 404, 'model_not_found');
  });

  test('is rejected before its body has arrived, once it is disabled', async () => {
    const key = await usedKey();
    gateway.setState(key, 'disabled');
    const connection = await gateway.sending(gateway.rawCompletion(key, chat()).slice(0, -5));
    assertError(await connection.answer(), 403, 'api_key_disabled');
    connection.leave();
  });

  test('has a body that arrives in pieces read to its end', async () => {
    const key = await usedKey();
    gateway.upstream.follow(answering(completion('hi')));
    const connection = await RawConnection.open(gateway.port);
    const whole = gateway.rawCompletion(key, chat());
    for (let at = 0; at < whole.length; at += 40) {
      connection.send(whole.slice(at, at + 40));
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal((await connection.answer()).status, 200);
    assert.equal((await gateway.upstream.call()).body.includes('Hello'), true);
    connection.leave();
  });
});
