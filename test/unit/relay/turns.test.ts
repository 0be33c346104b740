/** Turns of the event loop: streams that work for long let others come first, and each of them comes to its turn. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DIALECTS } from '../../../src/dialects/dialects.ts';
import { Meter } from '../../../src/relay/meter.ts';
import { NO_BOUND } from '../../../src/relay/relay.ts';
import { relayStream } from '../../../src/relay/stream.ts';
import { MAX_TURN_MS, Turns, UNTIMED_BYTES } from '../../../src/relay/turns.ts';
import { Attempt } from '../../../src/upstream/attempt.ts';
import { NO_SECRETS } from '../../../src/wire/secrets.ts';
import { chunk, DONE } from '../../support/answers.ts';
import { CollectingSink } from '../../support/sink.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('streams that have worked for long', () => {
  test('wait for the next turn, and none of them before', async () => {
    let nowMs = 0;
    const turns = new Turns(() => nowMs);
    assert.equal(turns.wait(UNTIMED_BYTES), undefined);
    nowMs += MAX_TURN_MS - 1;
    assert.equal(turns.wait(UNTIMED_BYTES), undefined);
    nowMs += 1;
    const waited = turns.wait(UNTIMED_BYTES);
    assert.ok(waited !== undefined);
    await waited;
    assert.equal(turns.wait(UNTIMED_BYTES), undefined, 'its turn has only begun');
  });

  test('come one in each turn, in the order in which they began to wait', async () => {
    let nowMs = 0;
    const turns = new Turns(() => nowMs);
    const done: string[] = [];
    turns.wait(UNTIMED_BYTES);
    nowMs += MAX_TURN_MS;
    for (const name of ['a', 'b', 'c']) {
      void turns.wait(UNTIMED_BYTES)?.then(() => {
        done.push(name);
        nowMs += MAX_TURN_MS;
      });
    }
    for (const expected of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
      await turn();
      assert.deepEqual(done, expected);
    }
  });

  test('need not wait where each turn is short', async () => {
    let nowMs = 0;
    const turns = new Turns(() => nowMs);
    for (let times = 0; times < 3; times++) {
      assert.equal(turns.wait(UNTIMED_BYTES), undefined);
      nowMs += MAX_TURN_MS;
      await turn();
    }
  });
});

test('a stream of many events that have arrived at once lets others come first, and keeps their order', async () => {
  const words = Array.from({ length: 40_000 }, (_, index) => `${index} `);
  const attempt = new Attempt();
  attempt.push(Buffer.from(words.map((word) => chunk(word)).join('') + chunk('', 'stop') + DONE));
  attempt.end();
  const sink = new CollectingSink();
  let isOver = false;
  let turnsOfOthers = 0;
  const others = async () => {
    for (await turn(); !isOver; await turn()) turnsOfOthers++;
  };
  const dialect = DIALECTS.chat;
  const relayed = relayStream(attempt, sink, new Meter(1), {
    dialect,
    reader: dialect.startStream('r'),
    translator: undefined,
    showUsage: true,
    secrets: NO_SECRETS,
    choices: 1,
    allowance: NO_BOUND,
    keepAliveMs: undefined,
  }).finally(() => {
    isOver = true;
  });
  await Promise.all([relayed, others()]);
  assert.ok(turnsOfOthers > 1, `${turnsOfOthers} turns`);
  const texts = [...sink.text().matchAll(/"content":"(\d+ )"/g)].map(([, word]) => word);
  assert.deepEqual(texts, words);
});
