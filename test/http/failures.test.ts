/**
 * Every upstream failure: what the client reads, what the journal records, and that nothing leaks.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import test, { describe } from 'node:test';
import { gzipSync } from 'node:zlib';
import { answering, chunk, completion, DONE, event, streaming, usageChunk } from '../support/answers.ts';
import { assertError } from '../support/expect.ts';
import type { Script } from '../support/fake-upstream.ts';
import {
  chat,
  DEFAULT_OUTPUT,
  type Row,
  sharedGateway,
  UPSTREAM_HEADER,
  UPSTREAM_KEY,
  withGateway,
} from '../support/gateway.ts';

const gateway = await sharedGateway();
const host = `127.0.0.1:${gateway.upstream.port}`;

/** No response may contain anything of the operator's. */
function assertNoLeak(text: string): void {
  for (const secret of [UPSTREAM_KEY, UPSTREAM_HEADER, host, 'vendor-header']) assert.ok(!text.includes(secret), text);
}

/** The prompt is at least as long as its estimate says, and the output is the default. */
function assertHeld({ source, prompt_tokens, completion_tokens, cost_nanos, hold_nanos }: Row): void {
  assert.deepEqual([source, completion_tokens, cost_nanos], ['held', DEFAULT_OUTPUT, hold_nanos]);
  assert.ok(prompt_tokens > 0 && cost_nanos > 0);
}

/** Sends a JSON request and a stream request, with a key each; both must fail alike. */
async function failBoth(script: Script, status: number, code: string) {
  const messages = [];
  const rows = [];
  for (const stream of [false, true]) {
    const key = gateway.key();
    gateway.upstream.follow(script);
    const answer = await gateway.complete(key, chat({ stream }));
    messages.push(assertError(answer, status, code));
    assertNoLeak(answer.text + JSON.stringify([...answer.headers]));
    const row = await gateway.row(key);
    assert.equal(row.outcome, code);
    assert.equal(row.request_id, answer.headers.get('x-request-id'));
    assert.equal(gateway.upstream.calls.length, 1, 'a request is never sent twice');
    rows.push(row);
  }
  assert.equal(messages[0], messages[1]);
  return { message: messages[0] as string, rows };
}

const said = (message: string, more = {}) => ({ error: { message, type: 'x', code: null, ...more } });

/** Which upstream status becomes which, and whether the client may read the upstream's message. */
const STATUSES: readonly (readonly [upstream: number, status: number, wordsPass: boolean])[] = [
  [301, 502, false],
  [302, 502, false],
  [304, 502, false],
  [400, 400, true],
  [401, 502, false],
  [402, 502, false],
  [403, 502, false],
  [404, 502, false],
  [408, 502, false],
  [409, 502, false],
  [413, 400, true],
  [418, 502, false],
  [422, 400, true],
  [429, 502, true],
  [500, 502, true],
  [501, 502, true],
  [503, 502, true],
  [529, 502, true],
];

describe('an error response of the upstream', () => {
  for (const [upstream, status, wordsPass] of STATUSES) {
    test(`${upstream} becomes ${status}, message ${wordsPass ? 'passed on' : 'withheld'}, at no cost`, async () => {
      const words = 'The flux capacitor is out of tune';
      const headers: Record<string, string> = {
        'x-vendor': 'vendor-header',
        location: 'http://example.com/',
        'retry-after': '7',
      };
      const script: Script =
        upstream === 304 ? (call) => call.head(304, headers) : (call) => call.answer(upstream, said(words), headers);
      const { message, rows } = await failBoth(script, status, status === 400 ? 'invalid_request' : 'upstream_error');
      assert.equal(message.includes(words), wordsPass, message);
      for (const row of rows) assert.equal(row.cost_nanos, 0);
    });
  }

  const SHAPES: readonly (readonly [name: string, body: unknown, words: string])[] = [
    ['an error object', said('Words.'), 'Words.'],
    ['an error that is a string', { error: 'Words.', code: 'x' }, 'Words.'],
    ['a flat object', { object: 'error', message: 'Words.', code: 7 }, 'Words.'],
    ['a detail', { detail: 'Words.' }, 'Words.'],
    ['an array', [said('Words.')], 'Words.'],
    ['control characters', said('Wor\u001b[31mds.\r\n\u0000'), 'Wor [31mds.'],
  ];
  for (const [name, body, words] of SHAPES) {
    test(`is parsed as ${name}`, async () => {
      const { message } = await failBoth(answering(body, 400), 400, 'invalid_request');
      assert.equal(message, words);
    });
  }

  const plain =
    (status: number, words: string): Script =>
    (call) =>
      call.answer(status, words, { 'content-type': 'text/plain; charset=utf-8' });
  const PLAIN = 'Failed to deserialize the JSON body into the target type: missing field `content` at line 1';

  for (const [upstream, status, code] of [
    [422, 400, 'invalid_request'],
    [503, 502, 'upstream_error'],
  ] as const) {
    test(`${upstream} in plain text is passed on as one in JSON is`, async () => {
      const { message } = await failBoth(plain(upstream, `${PLAIN}\n`), status, code);
      assert.ok(message.endsWith(PLAIN), message);
    });
  }

  test('in plain text about the operator is a 502 without its words', async () => {
    const { message } = await failBoth(plain(400, 'Invalid API key'), 502, 'upstream_error');
    assert.ok(!message.includes('key'), message);
    const secret = await failBoth(plain(400, `No route at ${host}`), 400, 'invalid_request');
    assert.ok(!secret.message.includes('route'), secret.message);
  });

  for (const [what, words] of [
    ['in UTF-16', Buffer.from(`Bad header ${UPSTREAM_KEY}`, 'utf16le')],
    ['compressed without saying so', gzipSync(`Bad header ${UPSTREAM_KEY}`)],
    ['in another encoding', Buffer.from('Clé inconnue', 'latin1')],
    ['with the key on several lines', Buffer.from(`Bad header ${UPSTREAM_KEY.replaceAll(/.{6}/g, '$&\r\n')}`)],
  ] as const) {
    test(`in plain text ${what} has no message to pass on`, async () => {
      const script: Script = (call) => call.answer(400, words, { 'content-type': 'text/plain' });
      const { message } = await failBoth(script, 400, 'invalid_request');
      assert.equal(message, 'The provider rejected the request with status 400.');
    });
  }

  for (const body of ['', '<html>Bad gateway</html>', '{"error":', 'null', '[]', '{"error":{"message":7}}']) {
    test(`${JSON.stringify(body)} has no message to pass on`, async () => {
      const { message } = await failBoth(answering(body, 500), 502, 'upstream_error');
      assert.ok(!message.includes('html'), message);
    });
  }

  const OPERATOR = [
    'Incorrect API key provided: sk-ab***yz.',
    'Your credit balance is too low to access the API.',
    'You exceeded your current quota, please check your plan and billing details.',
    'Your account is not active.',
    'Insufficient balance',
    'Invalid authentication credentials',
  ];
  for (const words of OPERATOR) {
    test(`${JSON.stringify(words)} with a 400 is about the operator: 502, message withheld`, async () => {
      const { message } = await failBoth(answering(said(words), 400), 502, 'upstream_error');
      assert.ok(!message.includes(words), message);
    });
  }

  for (const status of [400, 429, 500]) {
    for (const secret of [UPSTREAM_KEY, UPSTREAM_HEADER, host]) {
      test(`${status} that contains ${secret} is passed on without its message`, async () => {
        const code = status === 400 ? 'invalid_request' : 'upstream_error';
        await failBoth(
          answering(said(`Refused for ${secret.toUpperCase()} ${secret}.`), status),
          status === 400 ? 400 : 502,
          code,
        );
      });
    }
  }

  test('too long to be passed on is not cut in the middle of a secret', async () => {
    const { message } = await failBoth(
      answering(said(`${'x'.repeat(985)}${UPSTREAM_KEY}`), 500),
      502,
      'upstream_error',
    );
    assert.ok(!message.includes(UPSTREAM_KEY.slice(0, 8)), message);
  });

  test('with status 200 is still an error, at no cost', async () => {
    const { message, rows } = await failBoth(answering(said('Overloaded.')), 502, 'upstream_error');
    assert.match(message, /Overloaded/);
    for (const row of rows) assert.equal(row.cost_nanos, 0);
  });

  test('with status 200 is passed on without its message if its code withholds it', async () => {
    const { message } = await failBoth(answering(said('No such deployment.', { code: 404 })), 502, 'upstream_error');
    assert.ok(!message.includes('deployment'), message);
  });

  test('that is incomplete proves nothing, and is charged as held', async () => {
    const { rows } = await failBoth(
      (call) => {
        call.head(500, { 'content-length': '1000' });
        call.raw('{"error":');
        call.hangUp();
      },
      502,
      'upstream_error',
    );
    for (const row of rows) assertHeld(row);
  });
});

const text = JSON.stringify(completion('hi'));
/** Failures that do not show how much work the upstream has done. */
const BROKEN: readonly (readonly [name: string, script: Script])[] = [
  ['a reset before the headers', (call) => call.reset()],
  ['an end before the headers', (call) => call.hangUp()],
  ['incomplete headers', (call) => [call.raw('HTTP/1.1 200 OK\r\ncontent-'), call.hangUp()].pop()],
  ['not HTTP', (call) => [call.raw('SSH-2.0-OpenSSH\r\n\r\n'), call.hangUp()].pop()],
  [
    'a body shorter than its length',
    (call) => [call.answer(200, text.slice(0, -1), { 'content-length': '999' }), call.hangUp()].pop(),
  ],
  [
    'chunks without the last one',
    (call) => [call.head(200, { 'transfer-encoding': 'chunked' }), call.send(text.slice(0, 50)), call.hangUp()].pop(),
  ],
  ['a web page', answering('<html>hello</html>', 200, { 'content-type': 'text/html' })],
  ['an empty body', answering('')],
  ['status 204', (call) => call.head(204, {})],
  ['truncated JSON', answering(text.slice(0, -10))],
  ['JSON that is not an object', answering([completion('hi')])],
  ['JSON without choices', answering({ id: 'x', object: 'chat.completion' })],
  ['choices that are not an array', answering({ choices: {} })],
  ['compressed JSON', answering(gzipSync(text), 200, { 'content-encoding': 'gzip' })],
  ['JSON labelled as compressed', answering(text, 200, { 'content-encoding': 'br' })],
];

describe('an invalid response', () => {
  for (const [name, script] of BROKEN) {
    test(`${name} is 502, and charged as held`, async () => {
      const { rows } = await failBoth(script, 502, 'upstream_error');
      for (const row of rows) assertHeld(row);
    });
  }

  test('a whole body shorter than its length is 502, and charged as reported', async () => {
    const script: Script = (call) => [call.answer(200, text, { 'content-length': '999' }), call.hangUp()].pop();
    const { rows } = await failBoth(script, 502, 'upstream_error');
    for (const row of rows) assert.deepEqual([row.source, row.cost_nanos], ['reported', 20_000]);
  });

  test('a plain completion instead of a stream is 502, and charged as reported', async () => {
    const key = gateway.key();
    gateway.upstream.follow(answering(completion('hi')));
    assertError(await gateway.complete(key, chat({ stream: true })), 502, 'upstream_error');
    const row = await gateway.row(key);
    assert.deepEqual([row.source, row.cost_nanos], ['reported', 20_000]);
  });

  test('a stream instead of a plain completion is 502, and charged', async () => {
    const key = gateway.key();
    gateway.upstream.follow(streaming(chunk('hi', 'stop'), DONE));
    assertError(await gateway.complete(key), 502, 'upstream_error');
    assert.ok((await gateway.row(key)).cost_nanos > 0);
  });

  test('early hints are ignored', async () => {
    gateway.upstream.follow((call) => {
      call.raw('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n');
      call.answer(200, text);
    });
    assert.equal((await gateway.complete(gateway.key())).text, text);
  });
});

describe('an upstream that cannot be reached', () => {
  test('costs nothing, and its address does not leak', async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const { port } = closed.address() as { port: number };
    await new Promise((resolve) => closed.close(resolve));
    await withGateway({ provider: { base_url: `http://127.0.0.1:${port}/v1` } }, async (own) => {
      for (const stream of [false, true]) {
        const key = own.key();
        const answer = await own.complete(key, chat({ stream }));
        assertError(answer, 502, 'upstream_error');
        assert.ok(!answer.text.includes(String(port)) && !answer.text.includes('ECONN'), answer.text);
        const row = await own.row(key);
        assert.deepEqual([row.outcome, row.cost_nanos, row.prompt_tokens], ['upstream_error', 0, 0]);
      }
    });
  });

  test('because its name does not resolve costs nothing either', () =>
    withGateway({ provider: { base_url: 'http://nowhere.invalid/v1' } }, async (own) => {
      const key = own.key();
      const answer = await own.complete(key);
      assertError(answer, 502, 'upstream_error');
      assert.ok(!answer.text.includes('nowhere'), answer.text);
      assert.equal((await own.row(key)).cost_nanos, 0);
    }));
});

const SHORT = { connect: '5s', first_byte: '150ms', idle: '150ms' };
const STALLS: readonly (readonly [name: string, script: Script])[] = [
  ['before its headers', () => {}],
  ['within its headers', (call) => call.raw('HTTP/1.1 200 OK\r\n')],
  ['after its headers', (call) => call.head(200, { 'content-type': 'application/json', 'content-length': '100' })],
  ['within its body', (call) => call.answer(200, text.slice(0, 20), { 'content-length': String(text.length) })],
  ['within an error response', (call) => call.answer(500, '{"error":', { 'content-length': '100' })],
  ['after the headers of a stream', (call) => call.stream()],
  [
    'before the first event of a stream',
    (call) => [call.stream(), call.send(': wait\n\ndata: {"choi')].pop() as undefined,
  ],
];

describe('an upstream that stops sending', { concurrency: true }, () => {
  for (const [name, script] of STALLS) {
    test(`${name} is aborted: 502, charged as held, and its connection closed`, () =>
      withGateway({ provider: { timeouts: SHORT } }, async (own) => {
        for (const stream of [false, true]) {
          const key = own.key();
          own.upstream.follow(script);
          assertError(await own.complete(key, chat({ stream })), 502, 'upstream_error');
          const row = await own.row(key);
          assert.equal(row.outcome, 'upstream_error');
          assertHeld(row);
          await (await own.upstream.call()).closed;
        }
      }));
  }
});

test('an error event after a usage chunk is a 502 too, but the usage is charged', async () => {
  const key = gateway.key();
  gateway.upstream.follow(streaming(usageChunk(), event(said('Overloaded.')), DONE));
  assertError(await gateway.complete(key, chat({ stream: true })), 502, 'upstream_error');
  const row = await gateway.row(key);
  assert.deepEqual([row.source, row.prompt_tokens, row.completion_tokens], ['reported', 10, 5]);
  assert.ok(row.cost_nanos > 0);
});

test('an error event as the first event of a stream is a plain 502, at no cost', async () => {
  const scripts = [
    streaming(event(said('Overloaded.')), DONE),
    streaming(': wait\n\n', event(said('Overloaded.'))),
    streaming(`event: error\ndata: ${JSON.stringify(said('Overloaded.'))}\n\n`),
    streaming('event: error\ndata: Overloaded.\n\n'),
  ];
  for (const script of scripts) {
    const key = gateway.key();
    gateway.upstream.follow(script);
    const answer = await gateway.complete(key, chat({ stream: true }));
    assert.match(assertError(answer, 502, 'upstream_error'), /Overloaded/);
    assert.equal((await gateway.row(key)).cost_nanos, 0);
  }
});
