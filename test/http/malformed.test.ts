/**
 * Malformed HTTP gets an error in the shape of all others, the connection is closed, and the
 * process goes on.
 */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { answering, completion } from '../support/answers.ts';
import { assertError } from '../support/expect.ts';
import { chat, sharedGateway } from '../support/gateway.ts';
import { RawConnection } from '../support/raw.ts';

const gateway = await sharedGateway({ config: { timeouts: { request: '1s' } } });
const key = gateway.key();
const authorization = `Authorization: Bearer ${key.secret}\r\n`;
const POST = `POST /v1/chat/completions HTTP/1.1\r\n${authorization}`;
const body = chat();
const length = `Content-Length: ${body.length}\r\n`;
const inChunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

const MALFORMED: readonly (readonly [name: string, bytes: string | Buffer, status: number])[] = [
  ['no Host', `${POST}${length}\r\n${body}`, 400],
  ['two Host headers', `${POST}Host: a\r\nHost: b\r\n${length}\r\n${body}`, 400],
  ['two equal Host headers', `${POST}Host: a\r\nhost: a\r\n${length}\r\n${body}`, 400],
  ['two Content-Type headers', `${POST}Host: a\r\nContent-Type: a\r\nContent-Type: b\r\n${length}\r\n${body}`, 400],
  ['a length and chunks', `${POST}Host: a\r\n${length}Transfer-Encoding: chunked\r\n\r\n${inChunks}`, 400],
  ['chunks and a length', `${POST}Host: a\r\nTransfer-Encoding: chunked\r\n${length}\r\n${inChunks}`, 400],
  ['two lengths', `${POST}Host: a\r\n${length}${length}\r\n${body}`, 400],
  ['two lengths that differ', `${POST}Host: a\r\n${length}Content-Length: 2\r\n\r\n${body}`, 400],
  ['a list of lengths', `${POST}Host: a\r\nContent-Length: ${body.length}, ${body.length}\r\n\r\n${body}`, 400],
  ['a negative length', `${POST}Host: a\r\nContent-Length: -1\r\n\r\n`, 400],
  ['a length with a sign', `${POST}Host: a\r\nContent-Length: +${body.length}\r\n\r\n${body}`, 400],
  ['a length that is not a number', `${POST}Host: a\r\nContent-Length: 0x10\r\n\r\n`, 400],
  ['a comma before chunked', `${POST}Host: a\r\nTransfer-Encoding: ,chunked\r\n\r\n${inChunks}`, 400],
  ['chunked twice', `${POST}Host: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n${inChunks}`, 400],
  [
    'two Transfer-Encoding headers',
    `${POST}Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n${inChunks}`,
    400,
  ],
  ['gzip before chunked', `${POST}Host: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n${inChunks}`, 400],
  ['an encoding that is not chunked', `${POST}Host: a\r\nTransfer-Encoding: identity\r\n\r\n`, 400],
  ['chunked with a prefix', `${POST}Host: a\r\nTransfer-Encoding: xchunked\r\n\r\n${inChunks}`, 400],
  ['a chunk size that is not a number', `${POST}Host: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n${body}`, 400],
  [
    'a chunk longer than its size',
    `${POST}Host: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n${body}\r\n0\r\n\r\n`,
    400,
  ],
  ['a space before a colon', `${POST}Host: a\r\nX-Test : 1\r\n${length}\r\n${body}`, 400],
  ['a header without a colon', `${POST}Host: a\r\nnothing\r\n${length}\r\n${body}`, 400],
  ['a control character in a header', `${POST}Host: a\r\nX: a\u0000b\r\n${length}\r\n${body}`, 400],
  ['a bare CR in a header', `${POST}Host: a\r\nX: a\rb\r\n${length}\r\n${body}`, 400],
  ['an unknown method', `BREW /v1/chat/completions HTTP/1.1\r\nHost: a\r\n\r\n`, 400],
  ['an unknown version', `POST /v1/chat/completions HTTP/9.9\r\nHost: a\r\n\r\n`, 400],
  ['another protocol', 'EHLO gateway\r\n\r\n', 400],
  ['the start of a TLS handshake', Buffer.from('16030100f5010000f10303', 'hex'), 400],
  ['random bytes', Buffer.from([...Array(300).keys()].map((i) => (i * 7919) % 256)), 400],
  ['headers of more than 16 KB', `${POST}Host: a\r\nX: ${'x'.repeat(17_000)}\r\n${length}\r\n${body}`, 431],
  ['many headers of more than 16 KB', `${POST}Host: a\r\n${'X: x\r\n'.repeat(9000)}${length}\r\n${body}`, 431],
  ['a path of more than 16 KB', `GET /v1/${'x'.repeat(17_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 431],
];

describe('malformed HTTP', () => {
  for (const [name, bytes, status] of MALFORMED) {
    test(`${name} is ${status}`, async () => {
      gateway.upstream.follow(answering(completion('hi')));
      const connection = await gateway.sending(bytes);
      const answer = await connection.answer();
      assertError(answer, status, 'invalid_request');
      assert.equal(answer.headers.get('connection'), 'close');
      assert.equal(await connection.rest(), '', 'more than one response was sent');
      assert.equal(gateway.upstream.calls.length, 0);
      assert.equal((await gateway.request('/healthz')).status, 200);
    });
  }

  for (const [bytes, fault] of [
    [`${POST}Host: a\r\n${length}${length}\r\n${body}`, 'unexpected content length'],
    [`${POST}Host: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`, 'invalid chunk size'],
    ['BREW /v1/chat/completions HTTP/1.1\r\nHost: a\r\n\r\n', 'invalid method'],
  ] as const) {
    test(`is told what is wrong with it: ${fault}`, async () => {
      const connection = await gateway.sending(bytes);
      assert.equal(assertError(await connection.answer(), 400, 'invalid_request'), `Malformed HTTP request: ${fault}.`);
    });
  }

  test('a duplicate header after many others is still detected', async () => {
    const connection = await RawConnection.open(gateway.port);
    const many = Array.from({ length: 190 }, (_, i) => `X-${i}: 1\r\n`).join('');
    connection.send(`GET /v1/models HTTP/1.1\r\nHost: a\r\n${authorization}${many}${authorization}\r\n`);
    assertError(await connection.answer(), 400, 'invalid_request');
    await connection.rest();
  });

  test('CONNECT gets an error and no tunnel', async () => {
    const connection = await gateway.sending('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n');
    assertError(await connection.answer(), 404, 'invalid_request');
    assert.equal(await connection.rest(), '');
  });

  test('a reset after CONNECT, or after half a request, ends only its connection', async () => {
    for (const text of ['CONNECT example.com:443 HTTP/1.1\r\nHost: a\r\n\r\n', 'GARBAGE\r\n\r\n', 'GET /v1/mod']) {
      const connection = await gateway.sending(text);
      connection.reset();
    }
    assert.equal((await gateway.request('/healthz')).status, 200);
  });

  test('an offer to upgrade is ignored', async () => {
    const connection = await gateway.sending(
      'GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    );
    assert.equal((await connection.answer()).status, 200);
    connection.leave();
  });

  test('HTTP/1.0 needs no Host', async () => {
    const connection = await gateway.sending('GET /healthz HTTP/1.0\r\n\r\n');
    assert.equal((await connection.answer()).status, 200);
    await connection.rest();
  });
});

describe('malformed HTTP below /v1/messages has the errors of that dialect:', () => {
  const head = `POST /v1/messages?beta=true HTTP/1.1\r\nHost: a\r\nx-api-key: ${key.secret}\r\n`;
  for (const [name, bytes, status] of [
    ['a bad length', `${head}Content-Length: x\r\n\r\n`, 400],
    ['two lengths', `${head}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`, 400],
    ['a bad header', `${head}nothing\r\n\r\n`, 400],
    ['a bad chunk', `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, 400],
    ['two Authorization headers', `${head}${authorization}${authorization}\r\n`, 400],
    ['long headers', `${head}X: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
  ] as const) {
    test(name, async () => {
      const connection = await gateway.sending(bytes);
      const answer = await connection.answer();
      assert.equal(answer.status, status);
      const { type, error, request_id: requestId } = JSON.parse(answer.body) as Record<string, Record<string, string>>;
      assert.deepEqual([type, error?.type, error?.code], ['error', 'invalid_request_error', 'invalid_request']);
      assert.equal(requestId as unknown, answer.headers.get('x-request-id'));
      await connection.rest();
    });
  }
});

describe('clients that are too slow', { concurrency: true }, () => {
  const rows: readonly (readonly [name: string, bytes: string])[] = [
    ['an incomplete request line', 'POST /v1/chat'],
    ['incomplete headers', `${POST}Host: a\r\nContent-`],
    ['a body that never arrives', `${POST}Host: a\r\n${length}\r\n`],
    ['an incomplete body', `${POST}Host: a\r\n${length}\r\n{"model":`],
    ['incomplete chunks', `${POST}Host: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"mod\r\n`],
  ];
  for (const [name, bytes] of rows) {
    test(`${name} is 408`, async () => {
      const connection = await gateway.sending(bytes);
      const answer = await connection.answer();
      assertError(answer, 408, 'invalid_request');
      assert.equal(answer.headers.get('connection'), 'close');
      await connection.rest();
    });
  }

  test('a client that hangs up in the middle of its body leaves nothing behind', async () => {
    const leaving = gateway.key();
    const connection = await gateway.sending(gateway.rawCompletion(leaving, body).slice(0, -5));
    connection.leave();
    await gateway.assertSettled();
    assert.deepEqual(gateway.rows(leaving), []);
  });
});

test('pipelined requests are answered in order', async () => {
  gateway.upstream.follow(answering(completion('hi')));
  const connection = await RawConnection.open(gateway.port);
  const one = gateway.rawCompletion(key, body);
  connection.send(`${one}GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n${one}`);
  const bodies = [await connection.answer(), await connection.answer(), await connection.answer()].map((a) => a.body);
  assert.deepEqual(bodies, [JSON.stringify(completion('hi')), '{"status":"ok"}', JSON.stringify(completion('hi'))]);
  connection.leave();
});

test('pipelined requests that are answered at once add nothing to their connection that Node warns of', async (t) => {
  const warnings: string[] = [];
  const note = ({ message }: Error) => void warnings.push(message);
  process.on('warning', note);
  t.after(() => process.off('warning', note));
  const connection = await RawConnection.open(gateway.port);
  // As many as one connection may have, and more than the listeners of one emitter that Node warns of (10).
  const count = 16;
  connection.send('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(count));
  for (let i = 0; i < count; i++) assert.equal((await connection.answer()).status, 200);
  assert.deepEqual(warnings, []);
  connection.leave();
});
