/** The journal says why a request failed, in words that hold nothing of the operator's or a prompt's. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answering, chunk, completion, DONE, event, streaming } from '../support/answers.ts';
import type { Script } from '../support/fake-upstream.ts';
import { chat, sharedGateway, UPSTREAM_KEY, withGateway } from '../support/gateway.ts';

const gateway = await sharedGateway();

const PROMPT = 'the prompt of a client';
const said = (code: string | number | null = null) => ({
  error: { message: `No: ${PROMPT}, ${UPSTREAM_KEY}`, type: PROMPT, code },
});

type Expected = readonly [reason: string, status: number | null, message: string];

const JSON_FAILURES: readonly (readonly [what: string, script: Script, ...Expected])[] = [
  [
    '401',
    answering(said('invalid_api_key'), 401),
    'http_status',
    401,
    'upstream 401: check the api_key of the provider (invalid_api_key)',
  ],
  ['401 without a code', answering('', 401), 'http_status', 401, 'upstream 401: check the api_key of the provider'],
  [
    '404',
    answering(said(), 404),
    'http_status',
    404,
    'upstream 404: check the base_url of the provider and the upstream name of the model',
  ],
  [
    '400',
    answering(said('context_length_exceeded'), 400),
    'http_status',
    400,
    'upstream 400 (context_length_exceeded)',
  ],
  ['500 with the key for a code', answering(said(UPSTREAM_KEY), 500), 'http_status', 500, 'upstream 500'],
  [
    '429',
    answering(said('insufficient_quota'), 429),
    'rejected',
    429,
    'upstream 429: check the rate limits and the quota at the provider (insufficient_quota)',
  ],
  ['503', answering(said(), 503), 'rejected', 503, 'upstream 503'],
  ['a reset', (call) => call.reset(), 'broken', null, 'the connection was lost (ECONNRESET)'],
  ['a web page', answering('<html>', 200), 'not_the_protocol', null, 'the response is not a JSON object'],
  [
    'an error with status 200',
    answering(said(403)),
    'error_answer',
    null,
    'upstream error with status 200, code 403: check what the api_key of the provider may do',
  ],
];

const STREAM_FAILURES: readonly (readonly [what: string, script: Script, ...Expected])[] = [
  [
    'an error event',
    streaming(chunk('a'), event(said('server_overloaded')), DONE),
    'error_event',
    null,
    'upstream error in the stream (server_overloaded)',
  ],
  ['no end', streaming(chunk('a')), 'broken', null, 'the stream ended without a final event'],
  ['not JSON', streaming(chunk('a'), event(PROMPT)), 'not_the_protocol', null, 'an event is not a JSON object'],
];

/** What the journal has of the only request of a key. */
async function failureOf(key: ReturnType<typeof gateway.key>, of = gateway): Promise<readonly unknown[]> {
  const { failure_reason: reason, failure_status: status, failure_message: message } = await of.row(key);
  return [reason, status, message];
}

describe('the journal keeps', () => {
  for (const [failures, stream] of [
    [JSON_FAILURES, false],
    [STREAM_FAILURES, true],
  ] as const) {
    for (const [what, script, ...expected] of failures) {
      test(`${expected[0]} for ${what}`, async () => {
        const key = gateway.key();
        gateway.upstream.follow(script);
        await gateway.complete(key, chat({ stream, messages: [{ role: 'user', content: PROMPT }] }));
        assert.deepEqual(await failureOf(key), expected);
      });
    }
  }

  test('no reason for a request that succeeded', async () => {
    const key = gateway.key();
    gateway.upstream.follow(answering(completion('hi')));
    await gateway.complete(key);
    assert.deepEqual(await failureOf(key), [null, null, null]);
  });

  test('no reason for a client that hung up', async () => {
    const key = gateway.key();
    gateway.upstream.follow(() => {});
    const leaving = new AbortController();
    const request = gateway.complete(key, chat({ stream: true }), { signal: leaving.signal }).catch(() => {});
    await gateway.upstream.call();
    leaving.abort();
    await request;
    assert.equal((await gateway.row(key)).outcome, 'cancelled');
    assert.deepEqual(await failureOf(key), [null, null, null]);
  });

  test('that there was no connection, without the address', () =>
    withGateway({ provider: { base_url: 'http://127.0.0.1:1/v1' } }, async (own) => {
      const key = own.key();
      await own.complete(key);
      assert.deepEqual(await failureOf(key, own), [
        'not_connected',
        null,
        'no connection to the upstream (ECONNREFUSED)',
      ]);
    }));

  test('which timeout ended it', () =>
    withGateway({ provider: { timeouts: { connect: '5s', first_byte: '150ms', idle: '150ms' } } }, async (own) => {
      const [silent, stalled] = [own.key(), own.key()];
      own.upstream.follow(() => {});
      await own.complete(silent);
      assert.deepEqual(await failureOf(silent, own), ['first_byte_timeout', null, 'no response headers within 150 ms']);
      own.upstream.follow((call) => {
        call.stream();
        call.send(chunk('a'));
      });
      await own.complete(stalled, chat({ stream: true }));
      assert.deepEqual(await failureOf(stalled, own), ['idle_timeout', null, 'no more data within 150 ms']);
    }));

  test('that the gateway shut down', () =>
    withGateway({}, async (own) => {
      const key = own.key();
      own.upstream.follow(() => {});
      const request = own.complete(key).catch(() => {});
      await own.upstream.call();
      await own.drain(0);
      await request;
      assert.deepEqual(await failureOf(key, own), ['shutdown', null, 'the gateway shut down before the request ended']);
    }));
});

describe('clients are asked not to retry', () => {
  for (const [status, isAsked] of [
    [401, true],
    [403, true],
    [404, true],
    [402, false],
    [429, false],
    [500, false],
  ] as const) {
    test(`${isAsked ? 'after' : 'only where it can help, not after'} an upstream ${status}`, async () => {
      gateway.upstream.follow(answering(said(), status));
      const answer = await gateway.complete(gateway.key());
      assert.equal(answer.status, 502);
      assert.equal(answer.headers.get('x-should-retry'), isAsked ? 'false' : null);
    });
  }

  test('after an upstream 400 about the key or the account of the operator', async () => {
    gateway.upstream.follow(answering({ error: { message: 'API key not valid.', status: 'INVALID_ARGUMENT' } }, 400));
    const answer = await gateway.complete(gateway.key());
    assert.deepEqual([answer.status, answer.headers.get('x-should-retry')], [502, 'false']);
  });

  test('after a refusal that only people can end: of the key, its allowlist, its money', async () => {
    const [deleted, disabled] = [gateway.key(), gateway.key()];
    gateway.setState(deleted, 'deleted');
    gateway.setState(disabled, 'disabled');
    for (const [key, status] of [
      [deleted, 401],
      [disabled, 403],
      [gateway.key({ allowlist: ['fake/other'] }), 403],
      [gateway.key({ spendLimitNanos: 0n }), 402],
    ] as const) {
      const answer = await gateway.complete(key);
      assert.deepEqual([answer.status, answer.headers.get('x-should-retry')], [status, 'false']);
    }
  });
});

test('the Retry-After of an upstream 429 reaches the client, in seconds', async () => {
  for (const [sent, received] of [
    [{ 'retry-after': '30' }, '30'],
    [{ 'retry-after': '0.2' }, '1'],
    [{ 'retry-after': 'tomorrow' }, null],
    [{ 'retry-after-ms': '12001' }, '13'],
    [{ 'retry-after': '1', 'retry-after-ms': '4000' }, '4'],
  ] as const) {
    gateway.upstream.follow(answering(said(), 429, sent));
    const answer = await gateway.complete(gateway.key());
    assert.deepEqual([answer.status, answer.headers.get('retry-after')], [502, received]);
  }
});
