/** Requests that are sent before the answers to earlier ones: one of a connection is served at a time, whatever else has come. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { mintKey } from '../../src/core/api-key.ts';
import { answering, completion } from '../support/answers.ts';
import { TLS, TRUSTING } from '../support/certificates.ts';
import { SERVE, Workplace } from '../support/cli.ts';
import { assertError } from '../support/expect.ts';
import { chat, startTestGateway } from '../support/gateway.ts';
import { RawConnection } from '../support/raw.ts';

const PROBE = 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n';
const LISTING = 'GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n';

test('400 connections that each write 64 KB of requests without a key end no process with a heap of 256 MB, and others are served meanwhile', async (t) => {
  const place = new Workplace(t);
  const { key } = await place.createKey('app');
  await place.run(['credit', 'add', '1']);
  const serving = await place.serve(['--max-old-space-size=256', ...SERVE]);
  const port = Number(new URL(serving.url).port);
  const attackers = await Promise.all(Array.from({ length: 400 }, () => RawConnection.open(port)));
  const flood = LISTING.repeat(Math.floor((64 * 1024) / LISTING.length));
  for (const attacker of attackers) attacker.send(flood);
  assert.equal(await serving.chatOutcome(key), '200');
  for (const attacker of attackers) {
    const answered = (await attacker.rest()).split('HTTP/1.1 401').length - 1;
    assert.ok(answered <= 16, `${answered} were answered`);
  }
  assert.equal(await serving.chatOutcome(key), '200');
  assert.equal(await serving.stop(), 0);
});

/** A gateway whose host answers only once it is told to, and a connection with a request on the way to it. */
async function held(t: TestContext) {
  const gateway = await startTestGateway();
  t.after(() => gateway.stop());
  const { promise, resolve } = Promise.withResolvers<void>();
  gateway.upstream.follow(async (call) => {
    await promise;
    answering(completion('hi'))(call);
  });
  const key = gateway.key();
  const connection = await RawConnection.open(gateway.port);
  return { gateway, key, connection, request: gateway.rawCompletion(key, chat()), release: resolve };
}

test('the second of two requests goes to its host once the first is answered', async (t) => {
  const { gateway, connection, request, release } = await held(t);
  connection.send(request + request);
  await gateway.upstream.call(1);
  // All that has come of the connection has been read before another one is answered.
  const other = await gateway.sending(PROBE);
  assert.equal((await other.answer()).status, 200);
  assert.equal(gateway.upstream.calls.length, 1);
  release();
  assert.equal((await connection.answer()).status, 200);
  assert.equal((await connection.answer()).status, 200);
  assert.equal(gateway.upstream.calls.length, 2);
});

for (const [where, config, secure] of [
  ['the address for clients', {}, undefined],
  ['that of a listener with a certificate', { tls: TLS }, TRUSTING],
  ['that of health checks', { health: '127.0.0.1:0' }, undefined],
] as const) {
  test(`of requests at ${where}, sixteen may wait for answers, and more close their connection`, async (t) => {
    const gateway = await startTestGateway({ config });
    t.after(() => gateway.stop());
    const port = 'health' in config ? Number(new URL(gateway.healthUrl).port) : gateway.port;
    const connection = await RawConnection.open(port, secure);
    for (let n = 0; n < 2; n++) {
      connection.send(PROBE.repeat(16));
      for (let n = 0; n < 16; n++) assert.equal((await connection.answer()).status, 200);
    }
    connection.send(PROBE.repeat(1_000));
    const answered = (await connection.rest()).split('HTTP/1.1 200').length - 1;
    assert.ok(answered <= 16, `${answered} were answered`);
  });
}

test('what is no HTTP behind a request is refused after its answer', async (t) => {
  const { connection, request, release } = await held(t);
  connection.send(`${request}nonsense\r\n\r\n`);
  release();
  assert.equal((await connection.answer()).status, 200);
  assertError(await connection.answer(), 400, 'invalid_request');
  assert.equal(await connection.rest(), '');
});

test('a client that leaves is noticed at once, with more of its requests waiting', async (t) => {
  const { gateway, key, connection } = await held(t);
  connection.send(gateway.rawCompletion(key, chat({ stream: true })) + PROBE.repeat(100));
  const call = await gateway.upstream.call(1);
  connection.leave();
  await call.closed;
  await gateway.assertSettled();
  assert.equal(gateway.rows(key).length, 1);
});

const whole = (body: string) => `POST /v1/nothing HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
/** With a key, so that its body is read: after a refusal without, the connection ends. No body here is JSON. */
const SECRET = mintKey();
const inChunks = (body: string) =>
  `POST /v1/embeddings HTTP/1.1\r\nHost: a\r\nx-api-key: ${SECRET}\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

function statusOf(request: string): number {
  if (request.includes(SECRET)) return 400;
  return { [PROBE]: 200, [LISTING]: 401 }[request.trimStart()] ?? 404;
}

for (const [name, requests] of [
  ['without bodies', [LISTING, PROBE, LISTING, PROBE]],
  ['with bodies', [whole('x'), PROBE, whole(PROBE), PROBE, whole(`\r\n\r\n${'y'.repeat(3_000)}\r\n\r\n`), PROBE]],
  ['with bodies in chunks', [inChunks('x'), PROBE, inChunks(PROBE), inChunks('\r\n\r\n\r\n'), PROBE]],
  ['after blank lines', [`\r\n${PROBE}`, `\r\n\r\n${LISTING}`, PROBE]],
] as const) {
  const statuses = requests.map(statusOf);
  const bytes = Buffer.from(requests.join(''));

  test(`requests ${name} are told from each other wherever they are cut`, async (t) => {
    const gateway = await startTestGateway();
    t.after(() => gateway.stop());
    gateway.key({}, SECRET);
    for (const size of [1, 2, 3, 5, 7, 50, bytes.length]) {
      const connection = await RawConnection.open(gateway.port);
      for (let at = 0; at < bytes.length; at += size) {
        connection.send(bytes.subarray(at, at + size));
        await new Promise(setImmediate);
      }
      for (const status of statuses) assert.equal((await connection.answer()).status, status);
      connection.leave();
    }
  });
}

test('what is no request of HTTP/1 is refused at once, however short', async (t) => {
  const gateway = await startTestGateway();
  t.after(() => gateway.stop());
  const connection = await gateway.sending('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  assert.match(await connection.rest(), /^HTTP\/1\.1 400 /);
});
