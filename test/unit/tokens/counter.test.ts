/** The token counter: counts exactly, survives its thread, and leaves nothing running. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, describe, type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { sampleInput } from '../../../src/dialects/input.ts';
import { TokenCounter } from '../../../src/tokens/counter.ts';
import { countUsage } from '../../../src/tokens/usage.ts';
import { TextSample } from '../../../src/wire/text-sample.ts';
import { testAtLength } from '../../support/at-length.ts';
import { runNode, Workplace } from '../../support/cli.ts';
import { testModel } from '../../support/models.ts';
import { chatRequest } from '../dialects/chat/chat.ts';

/** Names of special tokens: each is a single token unless it is counted as text. */
const SPECIAL = ['<|endoftext|>', '<|endofprompt|>', '<|im_start|>system<|im_end|>'];
/** Has the thread throw: it is no text. */
const NO_TEXT = [{ length: 1 }] as unknown as string[];

/** However busy the machine is, the count comes first. */
const PATIENT_MS = 60_000;

/** For tests of what is counted: to load the tokenizer takes longer than they do. */
const shared = new TokenCounter(PATIENT_MS);
after(() => shared.close());

/** One with a thread of its own. */
function openCounter(test: TestContext, patienceMs = PATIENT_MS): TokenCounter {
  const counter = new TokenCounter(patienceMs);
  test.after(() => counter.close());
  return counter;
}

/** The threads that are started while `work` runs. */
async function threadsOf(work: () => Promise<unknown>): Promise<Worker[]> {
  const threads: Worker[] = [];
  const notice = (thread: Worker) => threads.push(thread);
  process.on('worker', notice);
  try {
    await work();
  } finally {
    process.off('worker', notice);
  }
  return threads;
}

const isRunning = (thread: Worker) => thread.threadId >= 0;

describe('the token counter', () => {
  test('lets a count for a cut take as long as it takes, and is loaded from the first count on', async (t) => {
    const counter = openCounter(t, 0);
    // The thread of a counter keeps no process alive, and no deadline does here.
    const alive = setInterval(() => {}, PATIENT_MS);
    t.after(() => clearInterval(alive));
    assert.equal(counter.isLoaded, false);
    const [late, awaited] = await Promise.all([counter.count(['one']), counter.count(['one two'], [], 'cut')]);
    assert.deepEqual([late, awaited, counter.isLoaded], [undefined, 2, true]);
  });

  test('counts what the tokenizer counts, the texts of an order together, and many orders at once', async () => {
    const orders = [['Hello, world'], ['one', 'two three', ''], ['深い森の中で'], ['const a = 1;\n\n'], [], ['😀 ok']];
    const counts = await Promise.all(orders.map((texts) => shared.count(texts)));
    assert.deepEqual(
      counts,
      orders.map((texts) => texts.reduce((sum, text) => sum + countTokens(text), 0)),
    );
  });

  test('counts the names of special tokens as text', async () => {
    for (const text of SPECIAL) {
      const tokens = await shared.count([text]);
      assert.equal(tokens, countTokens(text, { disallowedSpecial: new Set() }));
      assert.ok((tokens ?? 0) > 1, text);
    }
  });

  test('starts one thread, and only when there is something to count', async (t) => {
    const counter = openCounter(t);
    const threads = await threadsOf(() => Promise.all(['a', 'b', 'c'].map((text) => counter.count([text]))));
    assert.equal(threads.length, 1);
    assert.equal((await threadsOf(() => counter.count(['d']))).length, 0);
    assert.equal((await threadsOf(() => openCounter(t).close())).length, 0);
  });

  test('lets no order wait for the long texts of another', async () => {
    const long = 'word '.repeat(60 * 1024);
    const first = shared.count([long]);
    assert.equal(await Promise.race([shared.count(['Hello']), first]), undefined);
    assert.equal(await first, countTokens(long));
    assert.equal(await shared.count(['Hello']), countTokens('Hello'));
  });

  test('counts for charges first, and lets no count for anything else keep them waiting or out', async (t) => {
    const counter = openCounter(t);
    const long = 'word '.repeat(60 * 1024);
    const order: string[] = [];
    const note = (what: string, counted: Promise<unknown>) => counted.then(() => order.push(what));
    const counts = [
      note('in progress', counter.count([long], [], 'courtesy')),
      note('refused', counter.count(['a'], [], 'courtesy')),
      note('a charge', counter.count(['Hello'])),
      note('another', counter.count(['Hello'])),
    ];
    await Promise.all(counts);
    assert.deepEqual(order, ['refused', 'in progress', 'a charge', 'another']);
    const later = [
      counter.count(['a'], [], 'courtesy'),
      counter.count(['b'], [], 'courtesy'),
      counter.count(['c'], [], 'charge'),
    ];
    const ends: number[] = [];
    await Promise.all(later.map((counted, index) => counted.then(() => ends.push(index))));
    assert.deepEqual(ends, [0, 2, 1]);
  });

  test('returns no count if its timeout comes first', async (t) => {
    const counter = openCounter(t, 0);
    // Starting the thread and loading the tokenizer takes longer than that on any machine.
    assert.equal(await counter.count(['Hello']), undefined);
  });

  testAtLength(
    'returns no count to pending orders if its thread fails, and starts a new thread for the next order',
    async (t) => {
      const counter = openCounter(t);
      const started = once(process, 'worker') as Promise<[Worker]>;
      const counts = Promise.all([counter.count(NO_TEXT), counter.count(['behind it'])]);
      const [thread] = await started;
      // Not `once`, which rejects if the thread reports an error.
      const ended = new Promise((resolve) => thread.once('exit', resolve));
      // Its exit resolves them; they need not wait for their timeout.
      assert.deepEqual(await Promise.race([counts, ended.then(() => setImmediate('late'))]), [undefined, undefined]);
      const threads = await threadsOf(async () => assert.equal(await counter.count(['Hello']), countTokens('Hello')));
      assert.equal(threads.length, 1);
    },
  );

  test('returns no count to pending orders if its thread is terminated, and starts a new thread for the next order', async (t) => {
    const counter = openCounter(t);
    const [thread] = await threadsOf(() => counter.count(['Hello']));
    assert.ok(thread !== undefined);
    const waiting = counter.count(['still there?']);
    // Only a thread that has not got its order yet cannot answer it.
    await thread.terminate();
    assert.ok([undefined, countTokens('still there?')].includes(await waiting));
    assert.equal(await counter.count(['Hello']), countTokens('Hello'));
  });

  test('leaves no thread running, and no order pending, when it is closed', async () => {
    const counter = new TokenCounter(PATIENT_MS);
    const started = once(process, 'worker') as Promise<[Worker]>;
    const waiting = counter.count(['x'.repeat(1_000_000)]);
    const [thread] = await started;
    await once(thread, 'online');
    await counter.close();
    assert.ok(!isRunning(thread));
    assert.equal(await waiting, undefined);
  });

  testAtLength('does not keep an otherwise idle process running', async (t) => {
    const place = new Workplace(t, null);
    const counter = new URL('../../../src/tokens/counter.ts', import.meta.url).href;
    const script = `import { TokenCounter } from '${counter}';\nconsole.log(await new TokenCounter(60_000).count(['Hello']));\n`;
    const { status, stdout } = await runNode([place.write('count.mjs', script)], place);
    assert.deepEqual([status, stdout], [0, `${countTokens('Hello')}\n`]);
  });
});

describe('unreported usage', () => {
  const ESTIMATE = { promptTokens: 77, cachedTokens: 0, completionTokens: 88 };
  const request = chatRequest({ model: 'p/m', messages: [{ role: 'user', content: 'How are you?' }] });
  const input = sampleInput(request, testModel('p/m'));

  test('is what the tokenizer counts of input and output, plus the overhead of the format', async () => {
    const written = new TextSample();
    written.add('Fine, ', 0);
    written.add('thanks', 0);
    const usage = await countUsage(shared, ESTIMATE, input, written);
    const promptTokens = countTokens('How are you?') + input.extraTokens;
    assert.deepEqual(usage, { promptTokens, cachedTokens: 0, completionTokens: countTokens('Fine, thanks') });
  });

  test('is at least one token of output', async () => {
    const usage = await countUsage(shared, ESTIMATE, input, new TextSample());
    assert.equal(usage.completionTokens, 1);
  });

  test('is the estimate if it cannot be counted', async () => {
    const silent = { count: async () => undefined } as unknown as TokenCounter;
    const written = new TextSample();
    written.add('some words');
    assert.deepEqual(await countUsage(silent, ESTIMATE, input, written), ESTIMATE);
  });

  test('is estimated by its bytes if it was relayed unparsed', async () => {
    const written = new TextSample();
    written.addUnparsed(1_000);
    const usage = await countUsage(shared, ESTIMATE, input, written);
    assert.equal(usage.completionTokens, Math.ceil(1_000 / 3.8));
  });
});
