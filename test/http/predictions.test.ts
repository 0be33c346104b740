/** Predicted answers: what a model rejects of them is billed as output, so it is held, and charged where nothing is reported. */
import assert from 'node:assert/strict';
import test, { after, afterEach, describe } from 'node:test';
import { answering, chunk, completion, DONE, streaming } from '../support/answers.ts';
import type { Script } from '../support/fake-upstream.ts';
import { chat, startTestGateway } from '../support/gateway.ts';
import { RawConnection } from '../support/raw.ts';
import { costOfCounted, outputTokens } from '../support/tokens.ts';

const gateway = await startTestGateway();
after(() => gateway.stop());
afterEach(() => gateway.assertSettled());

const PREDICTED = 'one two three four five six seven eight nine ten '.repeat(20);
const TOKENS = outputTokens(PREDICTED);
const predicting = (fields: object = {}, content: unknown = PREDICTED) =>
  chat({ prediction: { type: 'content', content }, max_tokens: 100, ...fields });

/** What is held for a request when it reaches its host. */
async function held(body: string): Promise<number> {
  const key = gateway.key();
  let nanos = 0n;
  gateway.upstream.follow((call) => {
    nanos = gateway.heldNanos(key);
    answering(completion('hi'))(call);
  });
  await gateway.complete(key, body);
  return Number(nanos);
}

describe('a prediction is held as output beside the maximum,', () => {
  const ROWS: readonly (readonly [what: string, fields: object, content: unknown, output: number])[] = [
    ['of a text', {}, PREDICTED, 100 + TOKENS],
    ['of parts', {}, [{ type: 'text', text: PREDICTED }], 100 + TOKENS],
    ['for each choice', { n: 2 }, PREDICTED, 2 * (100 + TOKENS)],
  ];
  for (const [what, fields, content, output] of ROWS) {
    test(what, async () => {
      const [nanos, withoutIt] = [
        await held(predicting(fields, content)),
        await held(chat({ max_tokens: 100, ...fields })),
      ];
      const more = 2_000 * (output - 100 * ((fields as { n?: number }).n ?? 1));
      // It also counts as input.
      assert.ok(nanos >= withoutIt + more, `${nanos} with it, ${withoutIt} without`);
      assert.ok(
        nanos <= withoutIt + 1.1 * more + 1_000 * 1.1 * (TOKENS + 20),
        `${nanos} with it, ${withoutIt} without`,
      );
    });
  }
});

describe('a prediction is charged as output', () => {
  const ended: Script = streaming(chunk('some words', 'stop'), DONE);
  test('where the host reports nothing', async () => {
    const key = gateway.key();
    gateway.upstream.follow(ended);
    await gateway.complete(key, predicting({ stream: true }));
    const row = await gateway.row(key);
    assert.equal(row.completion_tokens, outputTokens('some words') + TOKENS);
    assert.equal(row.cost_nanos, costOfCounted(row.prompt_tokens, row.completion_tokens));
  });

  test('where the client leaves before the report', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => {
      call.stream();
      call.send(chunk('some words'));
    });
    const connection = await RawConnection.open(gateway.port);
    connection.send(gateway.rawCompletion(key, predicting({ stream: true })));
    await connection.has('some words');
    connection.leave();
    assert.equal((await gateway.row(key)).completion_tokens, outputTokens('some words') + TOKENS);
  });

  test('as far as the host reports it', async () => {
    const key = gateway.key();
    const details = { accepted_prediction_tokens: 1, rejected_prediction_tokens: 40 };
    const usage = { prompt_tokens: 10, completion_tokens: 50, completion_tokens_details: details };
    gateway.upstream.follow(answering(completion('hi', { usage })));
    await gateway.complete(key, predicting());
    assert.equal((await gateway.row(key)).cost_nanos, costOfCounted(10, 50));
  });
});
