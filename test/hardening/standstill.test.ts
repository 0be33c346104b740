/**
 * A process that stood still, stopped by a signal or with its machine, fails nothing that has arrived meanwhile: its timers
 * are late, and are seen before its sockets.
 */
import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import test from 'node:test';
import { chunk, completion, DONE, usageChunk } from '../support/answers.ts';
import { chat, withGateway } from '../support/gateway.ts';
import { RawConnection } from '../support/raw.ts';

const TIMEOUT_MS = 5_000;
const STANDSTILL_MS = TIMEOUT_MS + 1_000;
const timeout = `${TIMEOUT_MS}ms`;

/** Blocks gateway, hosts and clients, all of which are in this thread, but not the system's buffers between them. */
function standStill(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STANDSTILL_MS);
}

test('what waits in the sockets after a standstill longer than every timeout is in time', async (t) => {
  const { setTimeout } = Socket.prototype;
  // Idle connections are kept for longer than a test should take.
  t.mock.method(Socket.prototype, 'setTimeout', function (this: Socket, milliseconds: number, callback?: () => void) {
    return setTimeout.call(this, Math.min(milliseconds, TIMEOUT_MS), callback);
  });
  await withGateway({ config: { timeouts: { first_byte: timeout, idle: timeout, request: timeout } } }, async (own) => {
    own.upstream.follow((call) => {
      if (JSON.parse(call.body).stream !== true) return;
      call.stream();
      call.send(chunk('first'));
    });
    const key = own.key();
    const streamed = await own.open('/v1/chat/completions', { method: 'POST', key, body: chat({ stream: true }) });
    const whole = own.complete(key);
    const [stream, answer] = [await own.upstream.call(1), await own.upstream.call(2)];
    const [headless, uploading, idle] = await Promise.all([1, 2, 3].map(() => RawConnection.open(own.port)));
    assert.ok(headless && uploading && idle);
    const upload = own.rawCompletion(key, '{"model": "nobody/knows"}');
    headless.send('GET /heal');
    uploading.send(upload.slice(0, -5));
    idle.send('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
    assert.equal((await idle.answer()).status, 200);

    stream.send(chunk(' last', 'stop') + usageChunk() + DONE);
    stream.end();
    answer.answer(200, completion('hi'));
    headless.send('thz HTTP/1.1\r\nHost: a\r\n\r\n');
    uploading.send(upload.slice(-5));
    idle.send('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
    standStill();

    assert.match(await streamed.text(), /first[\s\S]* last[\s\S]*data: \[DONE\]\n\n$/);
    assert.equal((await whole).status, 200);
    assert.equal((await headless.answer()).status, 200);
    assert.equal((await uploading.answer()).status, 404);
    assert.equal((await idle.answer()).status, 200);
    for (const connection of [headless, uploading, idle]) connection.leave();
  });
});
