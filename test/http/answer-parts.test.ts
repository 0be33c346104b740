/** Answers of very many tiny parts are not parsed: they would keep the event loop busy for seconds. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { MAX_EVENT_PARTS, MAX_RESPONSE_PARTS } from '../../src/wire/structure.ts';
import { answering, chunk, completion, DONE, event, streaming } from '../support/answers.ts';
import { testAtLength } from '../support/at-length.ts';
import { assertError } from '../support/expect.ts';
import { chat, sharedGateway } from '../support/gateway.ts';

const gateway = await sharedGateway();

/** JSON with exactly this many objects, arrays, strings and commas. */
function ofParts(count: number, json: string): string {
  const own = (json.match(/[[{,]|"[^"]*"/g) ?? []).length;
  // One for its name, one for the comma before it, one for the array.
  return `${json.slice(0, -1)},"x":[1${',1'.repeat(count - own - 3)}]}`;
}

const SAID = JSON.stringify(completion('hi'));
const PIECE = JSON.stringify({ choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: 'stop' }] });

describe('a completion', () => {
  test('of as many parts as the limit passes', async () => {
    gateway.upstream.follow(answering(ofParts(MAX_RESPONSE_PARTS, SAID)));
    assert.equal((await gateway.complete(gateway.key())).status, 200);
  });

  const BEYOND: readonly (readonly [name: string, body: string])[] = [
    ['of one part more', ofParts(MAX_RESPONSE_PARTS + 1, SAID)],
    ['of 54 MB of empty objects', `{"choices":[${'{},'.repeat(18_000_000)}{}]}`],
    ['that is too deep', `{"choices":[],"x":${'['.repeat(300_000)}${']'.repeat(300_000)}}`],
  ];
  for (const [name, body] of BEYOND) {
    const testIt = body.length > 50_000_000 ? testAtLength : test;
    testIt(`${name} is not in the format, and charged by its bytes`, async () => {
      const key = gateway.key({ tpm: 1_000_000_000 });
      gateway.upstream.follow(answering(body));
      assertError(await gateway.complete(key), 502, 'upstream_error');
      const row = await gateway.row(key);
      assert.equal(row.source, 'counted');
      assert.equal(row.completion_tokens, Math.ceil(body.length / 3.8));
    });
  }
});

describe('an event of a stream', () => {
  test('of as many parts as the limit passes', async () => {
    const piece = event(ofParts(MAX_EVENT_PARTS, PIECE));
    gateway.upstream.follow(streaming(piece, DONE));
    assert.equal((await gateway.complete(gateway.key(), chat({ stream: true }))).text, piece + DONE);
  });

  test('of one part more ends it with an error, and is charged by its bytes', async () => {
    const key = gateway.key();
    const piece = event(ofParts(MAX_EVENT_PARTS + 1, PIECE));
    gateway.upstream.follow(streaming(chunk('hi'), piece, DONE));
    const { text } = await gateway.complete(key, chat({ stream: true }));
    assert.match(text, /"code":"upstream_error"[^\n]*\n\ndata: \[DONE\]\n\n$/);
    const row = await gateway.row(key);
    assert.deepEqual([row.outcome, row.source], ['upstream_error', 'counted']);
    assert.ok(row.completion_tokens >= piece.length / 3.8);
  });
});
