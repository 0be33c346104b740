/** Deliberately slow clients are disconnected; honest slow ones are not. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { answering, completion } from '../support/answers.ts';
import { assertError } from '../support/expect.ts';
import { chat, sharedGateway, withGateway } from '../support/gateway.ts';
import { RawConnection } from '../support/raw.ts';
import { until } from '../support/wait.ts';

/** Longer than a busy machine may leave between two pieces. */
const REQUEST_MS = 1_500;
const gateway = await sharedGateway({ config: { timeouts: { request: `${REQUEST_MS}ms` } } });

/** Sends pieces with pauses in between until there is a response, or no more pieces. */
async function drip(connection: RawConnection, pieces: Iterable<string>, pauseMs: number): Promise<void> {
  let isAnswered = false;
  void connection.has('HTTP/1.1 ').then(() => {
    isAnswered = true;
  });
  for (const piece of pieces) {
    if (isAnswered) return;
    connection.send(piece);
    await pause(pauseMs);
  }
}

const key = gateway.key();
const authorization = `Authorization: Bearer ${key.secret}\r\n`;
const post = `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n${authorization}`;
const body = chat();
const long = chat({ padding: 'x'.repeat(64_000) });

describe('a client that keeps sending slowly without end is disconnected', { concurrency: true }, () => {
  const rows: readonly (readonly [name: string, head: string, piece: (index: number) => string, message: RegExp])[] = [
    ['in its headers', post, (index) => `X-${index}: 1\r\n`, /waiting for the request headers/],
    ['in its body', `${post}Content-Length: ${long.length}\r\n\r\n`, (index) => long[index] ?? '', /bytes per second/],
    [
      'in its chunks',
      `${post}Transfer-Encoding: chunked\r\n\r\n`,
      (index) => `1\r\n${long[index]}\r\n`,
      /bytes per second/,
    ],
  ];
  for (const [name, head, piece, message] of rows) {
    test(name, async () => {
      const connection = await gateway.sending(head);
      const pieces = Array.from({ length: 100 }, (_, index) => piece(index));
      await drip(connection, pieces, REQUEST_MS / 8);
      const answer = await connection.answer();
      assert.match(assertError(answer, 408, 'invalid_request'), message);
      assert.equal(answer.headers.get('connection'), 'close');
      await connection.rest();
    });
  }

  test('if it sends nothing at all', async () => {
    const connection = await RawConnection.open(gateway.port);
    assertError(await connection.answer(), 408, 'invalid_request');
    await connection.rest();
  });

  test('after the response to an earlier request of its own', async () => {
    const connection = await gateway.sending('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /heal');
    assert.equal((await connection.answer()).status, 200);
    assertError(await connection.answer(), 408, 'invalid_request');
    await connection.rest();
  });
});

test('an honest upload may take longer than the header timeout', async () => {
  gateway.upstream.follow(answering(completion('hi')));
  const connection = await gateway.sending(`${post}Content-Length: ${long.length}\r\n\r\n`);
  const size = Math.ceil(long.length / 10);
  const pieces = Array.from({ length: 10 }, (_, index) => long.slice(index * size, (index + 1) * size));
  await drip(connection, pieces, REQUEST_MS / 4);
  assert.equal((await connection.answer()).status, 200);
  connection.leave();
});

/** More than the system buffers for a connection. */
const LARGE = JSON.stringify(completion('x'.repeat(30_000_000)));

describe('a response that is not read', () => {
  test('is dropped after the idle timeout, long after it was settled', () =>
    // Long enough to be seen in between on a busy machine.
    withGateway({ config: { timeouts: { idle: '4s' } } }, async (own) => {
      const reader = own.key({ concurrency: 1 });
      own.upstream.follow(answering(LARGE));
      const connection = await RawConnection.open(own.port);
      connection.pause();
      connection.send(own.rawCompletion(reader, body));
      assert.equal((await own.row(reader)).outcome, 'ok');
      assert.equal(await own.inFlight(), 1);
      await until(async () => (await own.inFlight()) === 0);
      connection.leave();
    }));

  test('is dropped even if the client keeps sending requests, and those behind it take nothing', () =>
    withGateway({ config: { timeouts: { idle: '200ms' } } }, async (own) => {
      const reader = own.key();
      own.upstream.follow(answering(LARGE));
      const connection = await RawConnection.open(own.port);
      connection.pause();
      for (let i = 0; i < 3; i++) connection.send(own.rawCompletion(reader, body));
      assert.equal((await own.row(reader)).outcome, 'ok');
      await until(async () => (await own.inFlight()) === 0);
      connection.leave();
      assert.equal(own.rows(reader).length, 1);
      assert.equal(own.upstream.calls.length, 1);
    }));

  test('times out from its own beginning, however long its request waited for an earlier one', () =>
    withGateway({ config: { timeouts: { idle: '200ms' } } }, async (own) => {
      const release = own.upstream.followLater(answering(completion('hi')));
      const connection = await own.sending(
        `${own.rawCompletion(own.key(), body)}GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n`,
      );
      await own.upstream.call();
      // Twice the read timeout, while there is nothing to read yet.
      await pause(400);
      assert.equal(await own.inFlight(), 1);
      release();
      assert.equal((await connection.answer()).status, 200);
      assert.equal((await connection.answer()).status, 200);
      connection.leave();
    }));
});
