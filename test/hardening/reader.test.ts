/** The end of a response that its client reads far too slowly, on a clock that the test moves. */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import test, { type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { errorBody } from '../../src/core/errors.ts';
import { MIN_BYTES_PER_SECOND } from '../../src/http/body.ts';
import { Exchange } from '../../src/http/exchange.ts';

const STALL_MS = 1_000;
const SECONDS = 10;

/** As much of a response as an exchange needs, with this many of the written bytes unread. */
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
  const request = { complete: true, headers: {} } as IncomingMessage;
  const exchange = new Exchange(request, response as unknown as ServerResponse, {
    requestId: 'req_1',
    path: '/healthz',
    figures: undefined,
    maxBodyBytes: 1,
    requestMs: 1,
    idleMs: STALL_MS,
    expectsContinue: false,
    framing: undefined,
    cors: [],
    format: { errorBody, streamFailure: errorBody },
  });
  exchange.sendJson(200, '{}');
  return response;
}

test('may take as long as the minimum rate allows plus one stall, and no longer', async (t) => {
  const response = answer(t, SECONDS * MIN_BYTES_PER_SECOND);
  assert.deepEqual(response.stalls, [STALL_MS]);
  t.mock.timers.tick(STALL_MS + SECONDS * 1_000 - 1);
  await setImmediate();
  assert.ok(!response.destroyed);
  t.mock.timers.tick(1);
  // The last look for what has been read meanwhile.
  await setImmediate();
  assert.ok(response.destroyed);
});

test('has no time limit once it is over', async (t) => {
  const response = answer(t, SECONDS * MIN_BYTES_PER_SECOND);
  response.emit('close');
  t.mock.timers.tick(STALL_MS + SECONDS * 1_000);
  await setImmediate();
  assert.ok(!response.destroyed);
});

test('has no time limit if everything was read at once', (t) => {
  const response = answer(t, 0);
  t.mock.timers.tick(STALL_MS + SECONDS * 1_000);
  assert.deepEqual([response.stalls, response.destroyed], [[], false]);
});
