/** Rate and concurrency limits: who is admitted, who has to wait, and for how long. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { answering, chunk, completion, DONE, USAGE } from '../support/answers.ts';
import { assertError, ratesOf } from '../support/expect.ts';
import { chat, type Reply, sharedGateway, type TestKey } from '../support/gateway.ts';
import { pngOf } from '../support/media.ts';
import { until } from '../support/wait.ts';

/** One tile: 2,833 and 5,667 tokens at gpt-4o-mini. */
const IMAGE = {
  type: 'image_url',
  image_url: { url: `data:image/png;base64,${pngOf(512, 512).toString('base64')}` },
};

const gateway = await sharedGateway();

/** Checks a 429 and returns the seconds to wait. */
function assertLimited(answer: Reply): number {
  assertError(answer, 429, 'rate_limited');
  const header = answer.headers.get('retry-after') ?? '';
  assert.match(header, /^[1-9]\d*$/);
  return Number(header);
}

/** Makes the upstream hold back all responses until the returned function is called. */
function holdAnswers(): () => void {
  const release = gateway.upstream.followLater(answering(completion('hi')));
  return release;
}

describe('requests per minute', () => {
  test('are admitted up to the limit; the next one waits until the first leaves the window', async () => {
    gateway.upstream.follow(answering(completion('hi')));
    const key = gateway.key({ rpm: 2 });
    for (const remaining of [1, 0]) {
      const answer = await gateway.complete(key);
      assert.equal(answer.status, 200);
      assert.equal(ratesOf(answer.headers).remainingRequests, remaining);
    }
    const refused = await gateway.complete(key);
    const wait = assertLimited(refused);
    assert.ok(wait <= 60);
    assert.equal(refused.headers.get('x-should-retry'), null);
    assert.equal(gateway.rows(key).length, 2);
  });

  test('are exact if all requests arrive at once', async () => {
    gateway.upstream.follow(answering(completion('hi')));
    const key = gateway.key({ rpm: 10 });
    const answers = await Promise.all(Array.from({ length: 40 }, () => gateway.complete(key)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 10);
    for (const answer of answers) if (answer.status !== 200) assertLimited(answer);
    assert.equal(gateway.rows(key).length, 10);
  });

  test('follow what another process has set, from the next request on', async () => {
    gateway.upstream.follow(answering(completion('hi')));
    const key = gateway.key({ rpm: 1 });
    const statuses = [];
    for (const rpm of [1, 1, 2, null, 2]) {
      gateway.setLimits(key, { rpm });
      statuses.push((await gateway.complete(key)).status);
    }
    assert.deepEqual(statuses, [200, 429, 200, 200, 429]);
  });
});

describe('tokens per minute', () => {
  // The input of these requests is estimated at 5 tokens.
  const RESERVED: readonly (readonly [name: string, fields: Record<string, unknown>, tokens: number])[] = [
    ['only its input if it declares no maximum', {}, 5],
    ['a declared maximum', { max_tokens: 200 }, 205],
    ['the larger of two maxima', { max_tokens: 300, max_completion_tokens: 200 }, 305],
    ['a maximum for each choice', { max_tokens: 200, n: 3 }, 605],
    ['no more than the model can give', { max_tokens: 1_000_000 }, 1005],
    [
      'for an image what its dearest reader makes of its size',
      { messages: [{ role: 'user', content: [IMAGE] }] },
      8_508,
    ],
    ['its tools', { tools: [{ type: 'function', function: { name: 'f', parameters: {} } }] }, 26],
  ];
  for (const [name, fields, tokens] of RESERVED) {
    test(`a request reserves ${name}, until its usage is known`, async () => {
      const release = holdAnswers();
      const key = gateway.key({ tpm: 10_000 });
      const first = gateway.complete(key, chat(fields));
      await gateway.upstream.call();
      const during = ratesOf((await gateway.complete(key, '')).headers);
      release();
      const after = ratesOf((await first).headers);
      assert.ok(Math.abs(during.remainingTokens - (10_000 - tokens)) <= 1, String(during.remainingTokens));
      assert.equal(after.remainingTokens, 10_000 - USAGE.total_tokens);
    });
  }

  test('that are reserved are not available to other requests, and return with the settlement', async () => {
    const release = holdAnswers();
    const key = gateway.key({ tpm: 1000 });
    const body = chat({ max_tokens: 600 });
    const first = gateway.complete(key, body);
    await gateway.upstream.call();
    assert.ok(assertLimited(await gateway.complete(key, body)) <= 60);
    release();
    assert.equal((await first).status, 200);
    assert.equal((await gateway.complete(key, body)).status, 200);
  });

  test('that a single request exceeds by itself do not become available by waiting', async () => {
    const key = gateway.key({ tpm: 100 });
    const answer = await gateway.complete(key, chat({ max_tokens: 96 }));
    assert.equal(assertLimited(answer), 60);
    assert.equal(answer.headers.get('x-should-retry'), 'false');
    for (const max_tokens of [2 ** 60, 1e300])
      assert.equal(assertLimited(await gateway.complete(key, chat({ max_tokens, n: 128 }))), 60);
    gateway.upstream.follow(answering(completion('hi')));
    assert.equal((await gateway.complete(key, chat({ max_tokens: 95 }))).status, 200);
  });

  test('count as used, even above what was reserved', async () => {
    gateway.upstream.follow(answering(completion('hi', { usage: { prompt_tokens: 900, completion_tokens: 200 } })));
    const key = gateway.key({ tpm: 1000 });
    assert.equal(ratesOf((await gateway.complete(key)).headers).remainingTokens, 0);
    assertLimited(await gateway.complete(key));
  });
});

describe('requests at once', () => {
  test('are exact, and a rejected one may retry after a second', async () => {
    const release = holdAnswers();
    const key = gateway.key({ concurrency: 3 });
    const answers = Array.from({ length: 10 }, () => gateway.complete(key));
    await gateway.upstream.call(3);
    await until(async () => (await gateway.inFlight()) === 3);
    assert.equal(gateway.upstream.calls.length, 3);
    release();
    const done = await Promise.all(answers);
    assert.equal(done.filter(({ status }) => status === 200).length, 3);
    for (const answer of done) if (answer.status !== 200) assert.equal(assertLimited(answer), 1);
  });

  test('do not affect other keys', async () => {
    const release = holdAnswers();
    const keys = Array.from({ length: 5 }, () => gateway.key({ concurrency: 1 }));
    const answers = keys.map((key) => gateway.complete(key));
    await gateway.upstream.call(5);
    release();
    for (const answer of await Promise.all(answers)) assert.equal(answer.status, 200);
  });

  const SEQUENCES: readonly (readonly [name: string, run: (key: TestKey) => Promise<Reply>, status: number])[] = [
    ['responses', (key) => gateway.complete(key), 200],
    ['streams', (key) => gateway.complete(key, chat({ stream: true })), 200],
    ['failures', (key) => gateway.complete(key, chat({ user: 'fail' })), 502],
    ['rejected requests', (key) => gateway.complete(key, chat({ n: 0 })), 400],
  ];
  for (const [name, run, status] of SEQUENCES) {
    test(`never exceed one for a client that sends sequentially: it never meets its own slot with ${name}`, async () => {
      gateway.upstream.follow((call) => {
        const { stream, user } = JSON.parse(call.body);
        if (user === 'fail') return call.answer(500, '');
        if (stream !== true) return call.answer(200, completion('hi'));
        call.stream();
        call.send(chunk('hi', 'stop'));
        // The host has not finished when its stream has.
        call.send(DONE);
      });
      const key = gateway.key({ concurrency: 1 });
      for (let i = 0; i < 25; i++) assert.equal((await run(key)).status, status);
    });
  }

  test('count a stream from its start to its end', async () => {
    const key = gateway.key({ concurrency: 1 });
    const release = gateway.upstream.streamInTwo(chunk('hi'), chunk('', 'stop') + DONE);
    const stream = await gateway.open('/v1/chat/completions', { method: 'POST', key, body: chat({ stream: true }) });
    assert.equal(stream.status, 200);
    assert.equal(assertLimited(await gateway.complete(key)), 1);
    release();
    assert.equal(await stream.text(), chunk('hi') + chunk('', 'stop') + DONE);
  });
});
