/** A host with a path for each model, as Azure has with dated versions of its API. */
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { answering, completion } from '../support/answers.ts';
import { chat, startTestGateway, UPSTREAM_KEY } from '../support/gateway.ts';

const gateway = await startTestGateway({
  basePath: '/openai/deployments/{model}?api-version=2024-10-21',
  provider: {
    auth: 'api-key',
    models: {
      one: { upstream: 'my-gpt', input: 1, output: 2 },
      two: { upstream: 'the other/gpt', input: 1, output: 2 },
    },
  },
});
after(() => gateway.stop());
afterEach(() => gateway.assertSettled());

test('each model is asked at its own path', async () => {
  gateway.upstream.follow(answering(completion('hi')));
  const key = gateway.key();
  for (const [model, deployment] of [
    ['fake/one', 'my-gpt'],
    ['fake/two', 'the%20other%2Fgpt'],
  ] as const) {
    const { status } = await gateway.complete(key, chat({ model }));
    const call = gateway.upstream.calls.at(-1);
    assert.equal(status, 200);
    assert.equal(call?.path, `/openai/deployments/${deployment}/chat/completions?api-version=2024-10-21`);
    assert.deepEqual([call.header('api-key'), call.header('authorization')], [UPSTREAM_KEY, undefined]);
  }
});
