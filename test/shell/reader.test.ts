/** The end of an answer that its client takes, but far too slowly: told by a clock that the test moves on. */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import test, { type TestContext } from 'node:test';
import { MIN_BYTES_PER_SECOND } from '../../src/http/body.ts';
import { Exchange } from '../../src/http/exchange.ts';

const STALL_MS = 1_000;
const SECONDS = 10;

/** As much of a response as an exchange needs: of all that is written, so much is not taken. */
class Response extends EventEmitter {
  readonly writableLength: number;
  readonly stalls: number[] = [];
  readonly socket = { setTimeout: (ms: number) => this.stalls.push(ms) };
  headersSent = false;
  destroyed = false;

  constructor(untaken: number) {
    super();
    this.writableLength = untaken;
  }

  writeHead(): void {}
  end(): void {}
  destroy(): void {
    this.destroyed = true;
  }
}

function answer(t: TestContext, untaken: number): Response {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const response = new Response(untaken);
  const request = { complete: true } as IncomingMessage;
  const exchange = new Exchange(request, response as unknown as ServerResponse, {
    requestId: 'req_1',
    path: '/healthz',
    figures: undefined,
    maxBodyBytes: 1,
    requestMs: 1,
    idleMs: STALL_MS,
    expectsContinue: false,
  });
  exchange.sendJson(200, '{}');
  return response;
}

test('has the time that it takes at the lowest speed, beside one stall, and no more', (t) => {
  const response = answer(t, SECONDS * MIN_BYTES_PER_SECOND);
  assert.deepEqual(response.stalls, [STALL_MS]);
  t.mock.timers.tick(STALL_MS + SECONDS * 1_000 - 1);
  assert.ok(!response.destroyed);
  t.mock.timers.tick(1);
  assert.ok(response.destroyed);
});

test('has no bound any more once it is over', (t) => {
  const response = answer(t, SECONDS * MIN_BYTES_PER_SECOND);
  response.emit('close');
  t.mock.timers.tick(STALL_MS + SECONDS * 1_000);
  assert.ok(!response.destroyed);
});

test('needs none where all was taken at once', (t) => {
  const response = answer(t, 0);
  t.mock.timers.tick(STALL_MS + SECONDS * 1_000);
  assert.deepEqual([response.stalls, response.destroyed], [[], false]);
});
