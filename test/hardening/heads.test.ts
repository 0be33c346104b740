/** Ambiguous request heads are rejected, and nothing after them is processed. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { answering, completion } from '../support/answers.ts';
import { assertError, ratesOf } from '../support/expect.ts';
import { chat, sharedGateway } from '../support/gateway.ts';
import { RawConnection } from '../support/raw.ts';

const gateway = await sharedGateway();
const key = gateway.key();
const body = chat();
const behind = gateway.rawCompletion(key, body);
const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

/** A request for a completion with these headers in addition to its key. */
const post = (headers: string, sent: string, version = '1.1') =>
  `POST /v1/chat/completions HTTP/${version}\r\nAuthorization: Bearer ${key.secret}\r\n${headers}\r\n${sent}`;
const encoded = (encoding: string) => post(`Host: a\r\nTransfer-Encoding:${encoding}\r\n`, chunks);
const sized = (length: string) => post(`Host: a\r\nContent-Length:${length}\r\n`, body);
const hosted = (host: string) => post(`Host:${host}\r\nContent-Length: ${body.length}\r\n`, body);
const targeted = (target: string, host = 'a') => `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
const absolute = (origin: string, host: string) =>
  `GET ${origin}/v1/models HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key.secret}\r\n\r\n`;
const listed = (version: string) =>
  `GET /v1/models HTTP/${version}\r\nHost: a\r\nAuthorization: Bearer ${key.secret}\r\n\r\n`;
const lined = (line: string) => post(`Host: a\r\n${line}\r\nContent-Length: ${body.length}\r\n`, body);

const ENCODINGS = [
  ' ,chunked',
  ' chunked,',
  ' chunked ,',
  '\tchunked\t',
  ' chunked\t',
  ' chunked, chunked',
  ' chunked,chunked',
  ' chunked, identity',
  ' identity, chunked',
  ' identity',
  ' gzip',
  ' chunked;q=1',
  ' "chunked"',
  ' chunked\v',
  ' \vchunked',
  '',
  '\r\n chunked',
];
const LENGTHS = [
  ' +5',
  ' 5, 5',
  ' 5,',
  ' 5 5',
  ' -0',
  ' 0x5',
  ' 5.0',
  ' 1e2',
  '',
  ' 18446744073709551617',
  '\r\n 5',
  ' 5\r\nContent-Length: 5',
];
const HOSTS = [
  '',
  ' ',
  ' a b',
  ' a\tb',
  ' a/b',
  ' a,b',
  ' u@a',
  ' a:b',
  ' a:123456',
  ' http://a',
  ' a?b',
  ' a#b',
  ' a\\b',
  ' a%20b',
  ' <a>',
  ' *',
  ' [::1',
  ' [x]',
  ' \u00e4',
];
const LINES = [
  'X: a\r\n b',
  'X: a\r\n\tb',
  'X : a',
  'X\t: a',
  ' X: a',
  ': a',
  'X(a): b',
  'X: a\0b',
  'X\0: a',
  'X: a\x7fb',
  'X: a\rb',
  'X: a\r',
  'X: a\nY: b',
  'authorization: x',
  'Authorization: Bearer x',
  'Content-Type: a\r\nContent-type: b',
  'X-Inf-Gw-User: ann\r\nx-inf-gw-user: bob',
  'X-Inf-Gw-User: ann\r\nX-Inf-Gw-User: ann',
  'Host: a',
];
const MALFORMED: readonly (readonly [name: string, bytes: string])[] = [
  ...ENCODINGS.map((value) => [`Transfer-Encoding:${value}`, encoded(value)] as const),
  ['Transfer-Encoding in HTTP/1.0', post('Host: a\r\nTransfer-Encoding: chunked\r\n', chunks, '1.0')],
  ...LENGTHS.map((value) => [`Content-Length:${value}`, sized(value)] as const),
  ...HOSTS.map((value) => [`Host:${value}`, hosted(value)] as const),
  ...LINES.map((line) => [`the line ${line}`, lined(line)] as const),
  ...['0.9', '1.2', '2.0', '3', '1.10'].map((version) => [`HTTP/${version}`, listed(version)] as const),
  ['no version', 'GET /v1/models\r\n\r\n'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['only line feeds', post('Host: a\r\nContent-Length: 0\r\n', '').replaceAll('\r\n', '\n')],
  ['a line feed after the request line', targeted('/v1/models').replace('\r\n', '\n')],
  ['two hosts and an unknown expectation', post('Host: a\r\nHost: b\r\nExpect: tea\r\nContent-Length: 0\r\n', '')],
  ['a target with another host', targeted('http://b/v1/models')],
  ['a target with another port', targeted('http://a:1/v1/models')],
  ['a target with the port of the other scheme', targeted('https://a:80/v1/models')],
  ['a target with another port that ends in the same digits', targeted('http://a:8080/v1/models')],
  ['a target without the port of its host', targeted('http://a/v1/models', 'a:443')],
  ['a target with user info', targeted('http://u:p@a/v1/models')],
  ['a target without a leading slash', targeted('v1/models')],
  ['a target with a space', targeted('/v1/mod els')],
  ['a target with a NUL', targeted('/v1/models\0')],
  ['a chunk size with a sign', encoded(' chunked').replace('\r\n\r\n', '\r\n\r\n-')],
  ['a chunk size with 0x', encoded(' chunked').replace('\r\n\r\n', '\r\n\r\n0x')],
  ['a chunk that ends with a line feed', encoded(' chunked').replace('\r\n0\r\n', '\n0\r\n')],
  ['a chunk extension over two lines', encoded(' chunked').replace('{', ';a="\r\n"{')],
  ['a length in a trailer', encoded(' chunked').replace('\r\n0\r\n', '\r\n0\r\nContent-Length: 5\r\n')],
];

describe('rejected, the connection closed, and nothing after it processed', () => {
  for (const [name, bytes] of MALFORMED) {
    test(JSON.stringify(name), async () => {
      gateway.upstream.follow(answering(completion('hi')));
      const own = gateway.key();
      const connection = await gateway.sending(bytes + behind + gateway.rawCompletion(own, body));
      const answer = await connection.answer();
      assert.equal(answer.status, 400, answer.body);
      assert.deepEqual(Object.keys(JSON.parse(answer.body).error), ['code', 'message']);
      assert.equal(answer.headers.get('connection'), 'close');
      assert.match(answer.headers.get('x-request-id') ?? '', /^req_/);
      ratesOf(answer.headers);
      assert.equal(await connection.rest(), '', 'the request after it was answered');
      assert.equal(gateway.upstream.calls.length, 0);
      const { remainingRequests } = ratesOf((await gateway.request('/v1/nowhere', { key: own })).headers);
      assert.equal(remainingRequests, 600);
    });
  }
});

const VALID: readonly (readonly [name: string, bytes: string])[] = [
  ...['a', 'a:', 'a:80', 'gateway.example:8787', 'under_score', '127.0.0.1:1', '[::1]', '[::ffff:1.2.3.4]:80'].map(
    (host) => [`Host: ${host}`, hosted(` ${host}`)] as const,
  ),
  ['a target with the default port of http', absolute('http://A:80', 'a')],
  ['a host with the default port of http', absolute('http://a', 'a:80')],
  ['a target with the default port of https', absolute('HTTPS://a:443', 'a')],
  ['a bracketed address with a port', absolute('http://[::1]:80', '[::1]')],
  ['Transfer-Encoding: Chunked', encoded(' Chunked')],
  ['chunk extensions', encoded(' chunked').replace('\r\n{', ';name=value\r\n{')],
  ['trailers, which are ignored', encoded(' chunked').replace('\r\n0\r\n', '\r\n0\r\nAuthorization: none\r\n')],
  ['empty lines before the request', `\r\n\r\n${hosted(' a')}`],
];

describe('accepted', () => {
  for (const [name, bytes] of VALID) {
    test(JSON.stringify(name), async () => {
      gateway.upstream.follow(answering(completion('hi')));
      const connection = await gateway.sending(bytes);
      const answer = await connection.answer();
      assert.equal(answer.status, 200, answer.body);
      connection.leave();
    });
  }
});

describe('after the last response on a connection', () => {
  test('a request is not processed, even if it arrived together with the rejected one', async () => {
    const own = gateway.key();
    const connection = await RawConnection.open(gateway.port);
    const list = listed('1.1').replace(key.secret, own.secret);
    connection.send(`GET /v1/models HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n${list}`);
    assertError(await connection.answer(), 400, 'invalid_request');
    assert.equal(await connection.rest(), '');
    const answer = await gateway.request('/v1/models', { key: own });
    assert.equal(ratesOf(answer.headers).remainingRequests, 5999, 'the listing after the rejected request was served');
  });

  test('a request with an unknown expectation is not answered either', async () => {
    const connection = await gateway.sending(
      `GET /v1/models HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n${targeted('/v1/models').replace('Host', 'Expect: tea\r\nHost')}`,
    );
    assertError(await connection.answer(), 400, 'invalid_request');
    assert.equal(await connection.rest(), '');
  });

  test('more bytes do not cost a client its response', async () => {
    gateway.upstream.follow(answering(completion('hi')));
    const connection = await gateway.sending(`${behind.replace('Host', 'Connection: close\r\nHost')}${behind}`);
    assert.equal((await connection.answer()).status, 200);
    assert.equal(await connection.rest(), '');
    assert.equal(gateway.upstream.calls.length, 1);
  });
});

test('a body that turns out to be malformed after its response gets no second one', async () => {
  const connection = await gateway.sending(
    'POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n',
  );
  assertError(await connection.answer(), 401, 'unauthorized');
  connection.send('zz\r\n');
  assert.equal(await connection.rest(), '');
});

describe('a client that waits for 100 Continue is not asked for its body', () => {
  const rows: readonly (readonly [name: string, head: string, status: number])[] = [
    ['without a key', 'POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n', 401],
    ['for an unknown path', 'POST /v1/nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n', 404],
    ['with a method that is not allowed', 'PUT /v1/models HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n', 405],
    ['that is too large', post(`Host: a\r\nContent-Length: ${2 ** 30}\r\n`, '').slice(0, -2), 413],
    ['that is compressed', post('Host: a\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n', '').slice(0, -2), 400],
    ['with two hosts', post('Host: a\r\nHost: a\r\nContent-Length: 9\r\n', '').slice(0, -2), 400],
  ];
  for (const [name, head, status] of rows) {
    test(name, async () => {
      const connection = await gateway.sending(`${head}Expect: 100-continue\r\n\r\n`);
      assertError(await connection.answer(), status, status === 401 ? 'unauthorized' : 'invalid_request');
      connection.leave();
    });
  }
});
