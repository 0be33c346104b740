/**
 * Streams that fail after their first event: the status stays 200, and the client reads an error
 * line and the end.
 */
import assert from 'node:assert/strict';
import test, { after, afterEach, describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { chunk, DONE, event, streaming, USAGE, usageChunk } from '../support/answers.ts';
import type { Script } from '../support/fake-upstream.ts';
import { chat, type GatewayOptions, startTestGateway, UPSTREAM_KEY, withGateway } from '../support/gateway.ts';
import { outputTokens } from '../support/tokens.ts';

// The only silence in these tests is the one that a timeout must end.
const options: GatewayOptions = { provider: { timeouts: { first_byte: '2m', idle: '300ms' } } };
const gateway = await startTestGateway(options);
/** A gateway that closes upstream connections only when it decides to. */
const patient = await startTestGateway();
after(() => Promise.all([gateway.stop(), patient.stop()]));
afterEach(() => Promise.all([gateway.assertSettled(), patient.assertSettled()]));

const COMMENTS = 10;

/** Streams these pieces, and then does `end` instead of ending the stream properly. */
const streamingThen = (pieces: readonly string[], end: Script): Script => {
  return (call) => {
    call.stream();
    for (const piece of pieces) call.send(piece);
    return end(call);
  };
};

const hangUp: Script = (call) => call.hangUp();
const reset: Script = async (call) => {
  // A reset overtakes what was written before it, unless that was read.
  await pause(50);
  call.reset();
};
const inOrder: Script = (call) => call.end();
const silence: Script = () => {};
const ENDS: readonly (readonly [name: string, end: Script])[] = [
  ['hangs up', hangUp],
  ['resets the connection', reset],
  ['ends the response', inOrder],
  ['falls silent', silence],
  ['sends an invalid chunk', (call) => call.raw('zz\r\n')],
];

/** Runs a stream; returns what the client read and the journal row. */
async function run(script: Script, on = gateway) {
  const key = on.key();
  on.upstream.follow(script);
  const answer = await on.complete(key, chat({ stream: true }));
  assert.equal(answer.status, 200);
  return { text: answer.text, row: await on.row(key) };
}

/** The error in the line after `head`; only the end may follow it. */
function errorAfter(head: string, text: string): { code: string; message: string } {
  assert.ok(text.startsWith(head), text);
  assert.ok(text.endsWith(DONE), text);
  const line = text.slice(head.length, -DONE.length);
  assert.match(line, /^data: .*\n\n$/);
  const value = JSON.parse(line.slice('data: '.length));
  assert.deepEqual(Object.keys(value), ['error']);
  assert.deepEqual(Object.keys(value.error), ['code', 'message']);
  return value.error;
}

describe('an upstream that, before any finish reason,', () => {
  for (const [name, end] of ENDS) {
    test(`${name} causes the error line and [DONE], and the request is charged`, async () => {
      const { text, row } = await run(streamingThen([chunk('Hello '), chunk('there')], end));
      assert.equal(errorAfter(chunk('Hello ') + chunk('there'), text).code, 'upstream_error');
      assert.deepEqual([row.outcome, row.source], ['upstream_error', 'counted']);
      assert.equal(row.completion_tokens, outputTokens('Hello there'));
      assert.ok(row.cost_nanos > 0);
    });

    test(`${name} in the middle of an event causes no partial event`, async () => {
      const { text, row } = await run(streamingThen([chunk('Hello'), 'data: {"choices":[{"delta":{"con'], end));
      assert.equal(errorAfter(chunk('Hello'), text).code, 'upstream_error');
      assert.equal(row.outcome, 'upstream_error');
    });
  }

  test('leaves one of two choices unfinished has failed', async () => {
    const other = event({ choices: [{ index: 1, delta: { content: 'b' } }] });
    const { text } = await run(streaming(other + chunk('a', 'stop')));
    errorAfter(other + chunk('a', 'stop'), text);
  });

  test('but after its usage report fails is charged as reported', async () => {
    const { row } = await run(streamingThen([chunk('Hello', null, { usage: USAGE })], hangUp));
    assert.deepEqual([row.outcome, row.source, row.cost_nanos], ['upstream_error', 'reported', 20_000]);
  });
});

describe('an upstream that, after its finish reason,', () => {
  for (const [name, end] of ENDS) {
    test(`${name} has succeeded, and [DONE] is added`, async () => {
      const { text, row } = await run(streamingThen([chunk('Hello'), chunk('', 'stop')], end));
      assert.equal(text, chunk('Hello') + chunk('', 'stop') + DONE);
      assert.equal(row.outcome, 'ok');
      assert.ok(row.cost_nanos > 0);
    });
  }

  test('sends an error has succeeded', async () => {
    const { text, row } = await run(streaming(chunk('Hello', 'stop'), event({ error: { message: 'x' } })));
    assert.equal(text, chunk('Hello', 'stop') + DONE);
    assert.equal(row.outcome, 'ok');
  });

  test('hangs up after the usage is charged as reported', async () => {
    const { text, row } = await run(streamingThen([chunk('Hello', 'stop'), usageChunk()], hangUp));
    assert.equal(text, chunk('Hello', 'stop') + DONE);
    assert.deepEqual([row.outcome, row.source, row.cost_nanos], ['ok', 'reported', 20_000]);
  });

  test('omits the last blank line has succeeded', async () => {
    const { text, row } = await run(streaming(chunk('Hello', 'stop').trimEnd()));
    assert.equal(text, chunk('Hello', 'stop') + DONE);
    assert.equal(row.outcome, 'ok');
  });
});

describe('the end of a stream', () => {
  for (const [name, end] of ENDS) {
    test(`is [DONE], even if the upstream ${name} after it and gave no finish reason`, async () => {
      const { text, row } = await run(streamingThen([chunk('Hello'), DONE], end));
      assert.equal(text, chunk('Hello') + DONE);
      assert.equal(row.outcome, 'ok');
    });
  }

  test('is sent once, and nothing after it', async () => {
    const { text } = await run(streaming(chunk('Hello', 'stop'), DONE, chunk('more'), DONE));
    assert.equal(text, chunk('Hello', 'stop') + DONE);
  });
});

describe('an event in the middle of a stream that', () => {
  const withheld = 'No such deployment';
  const rows: readonly (readonly [name: string, event: string, words: RegExp])[] = [
    ['has an error object', event({ error: { message: 'Overloaded', code: 'x' } }), /Overloaded/],
    ['has an error that is a string', event({ error: 'Overloaded' }), /Overloaded/],
    ['has an error next to choices', event({ choices: [], error: { message: 'Overloaded', code: 503 } }), /Overloaded/],
    ['is named error', 'event: error\ndata: {"message":"Overloaded"}\n\n', /Overloaded/],
    ['is not JSON', 'data: oops\n\n', /./],
    ['is JSON but not an object', 'data: [1]\n\n', /./],
    ['contains a credential', event({ error: { message: `Refused ${UPSTREAM_KEY}` } }), /^(?!.*upstream-secret)/],
    ['is about the operator', event({ error: { message: 'Your account is not active' } }), /^(?!.*account)/],
    ['has a code that withholds its message', event({ error: { message: withheld, code: 404 } }), /^(?!.*deployment)/],
  ];
  for (const [name, bad, words] of rows) {
    test(`${name} becomes the error line, and the upstream connection is aborted`, async () => {
      const { text, row } = await run(streamingThen([chunk('Hello'), bad, chunk('more')], silence), patient);
      const error = errorAfter(chunk('Hello'), text);
      assert.equal(error.code, 'upstream_error');
      assert.match(error.message, words);
      assert.deepEqual([row.outcome, row.source, row.cost_nanos > 0], ['upstream_error', 'counted', true]);
      await (await patient.upstream.call()).closed;
    });
  }
});

test('a host that sends only comments is not idle', () =>
  // Together their pauses exceed the timeout; each is much shorter, which leaves room for a busy
  // machine.
  withGateway({ provider: { timeouts: { idle: '1500ms' } } }, async (own) => {
    const { text } = await run(async (call) => {
      call.stream();
      call.send(chunk('Hello'));
      for (let i = 0; i < COMMENTS; i++) {
        await pause(1_600 / COMMENTS);
        call.send(': keep-alive\n\n');
      }
      call.send(chunk('', 'stop') + DONE);
      call.end();
    }, own);
    assert.equal(text, `${chunk('Hello')}${': keep-alive\n\n'.repeat(COMMENTS)}${chunk('', 'stop')}${DONE}`);
  }));
