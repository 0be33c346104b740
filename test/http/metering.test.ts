/** What a request is charged: the usage that the upstream reports, or else what was relayed. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { answering, chunk, completion, DONE, event, streaming, USAGE } from '../support/answers.ts';
import { chat, sharedGateway, withGateway } from '../support/gateway.ts';
import { costOfCounted, inputTokens, outputTokens } from '../support/tokens.ts';

const gateway = await sharedGateway();

/** The charges of a request whose upstream reports this usage, as JSON and as a stream. */
async function chargesOf(usage: unknown) {
  const rows = [];
  for (const stream of [false, true]) {
    const key = gateway.key();
    const script = stream
      ? streaming(chunk('hi', 'stop'), event({ choices: [], usage }), DONE)
      : answering(completion('hi', { usage }));
    gateway.upstream.follow(script);
    assert.equal((await gateway.complete(key, chat({ stream }))).status, 200);
    rows.push(await gateway.row(key));
  }
  return rows;
}

const details = (cached_tokens: unknown) => ({ prompt_tokens_details: { cached_tokens } });
/**
 * Prompt, cached and completion tokens as charged, and the cost in nanodollars: 1,000, 250 and
 * 2,000 each.
 */
const REPORTED: readonly (readonly [name: string, usage: unknown, charged: readonly number[]])[] = [
  ['is valid', USAGE, [10, 0, 5, 20_000]],
  ['has cached tokens, with their own price,', { ...USAGE, ...details(8) }, [10, 8, 5, 14_000]],
  ['has more cached tokens than tokens', { ...USAGE, ...details(99) }, [10, 10, 5, 12_500]],
  ['has cached tokens by the name of DeepSeek', { ...USAGE, prompt_cache_hit_tokens: 8 }, [10, 8, 5, 14_000]],
  ['has cached tokens by the name of Moonshot', { ...USAGE, cached_tokens: 8 }, [10, 8, 5, 14_000]],
  ['has cached tokens by several names', { ...USAGE, ...details(8), cached_tokens: 3 }, [10, 8, 5, 14_000]],
  ['has no details', { ...USAGE, prompt_tokens_details: null }, [10, 0, 5, 20_000]],
  ['has negative cached tokens', { ...USAGE, ...details(-5) }, [10, 0, 5, 20_000]],
  ['has half a cached token', { ...USAGE, ...details(0.5) }, [10, 0, 5, 20_000]],
  ['omits reasoning from its completion tokens', { ...USAGE, total_tokens: 45 }, [10, 0, 35, 80_000]],
  ['has a total that is too small', { ...USAGE, total_tokens: 3 }, [10, 0, 5, 20_000]],
  ['has a total that is negative', { ...USAGE, total_tokens: -3 }, [10, 0, 5, 20_000]],
  ['has no total', { prompt_tokens: 10, completion_tokens: 5 }, [10, 0, 5, 20_000]],
  ['has only a total next to the prompt', { prompt_tokens: 10, total_tokens: 15 }, [10, 0, 5, 20_000]],
  ['has no output', { prompt_tokens: 10, completion_tokens: 0 }, [10, 0, 0, 10_000]],
  ['has unknown fields', { ...USAGE, cost: -1, queue_time: 0.1 }, [10, 0, 5, 20_000]],
];

const UNUSABLE: readonly (readonly [name: string, usage: unknown])[] = [
  ['is absent', undefined],
  ['is null', null],
  ['is empty', {}],
  ['is an array', [10, 5]],
  ['is a string', '10'],
  ['is all zero', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }],
  ['has negative prompt tokens', { ...USAGE, prompt_tokens: -10 }],
  ['has negative completion tokens', { ...USAGE, completion_tokens: -5 }],
  ['has half a prompt token', { ...USAGE, prompt_tokens: 10.5 }],
  ['has half a completion token', { ...USAGE, completion_tokens: 0.5 }],
  ['has prompt tokens as a string', { ...USAGE, prompt_tokens: '10' }],
  ['has completion tokens as a string', { ...USAGE, completion_tokens: '5' }],
  ['has more prompt tokens than any model accepts', { ...USAGE, prompt_tokens: 1e12 }],
  ['has more completion tokens than any model produces', { ...USAGE, completion_tokens: 1e300 }],
  ['has no prompt tokens', { completion_tokens: 5, total_tokens: 15 }],
];

describe('usage that', () => {
  test('says nothing of the output is charged as reported for the input, and as counted for the output', async () => {
    for (const row of await chargesOf({ prompt_tokens: 1, total_tokens: 1, ...details(1) })) {
      const { source, prompt_tokens, cached_tokens, completion_tokens } = row;
      assert.deepEqual(
        [source, prompt_tokens, cached_tokens, completion_tokens],
        ['counted', 1, 1, outputTokens('hi')],
      );
    }
  });

  for (const [name, usage, charged] of REPORTED) {
    test(`${name} is charged as reported`, async () => {
      for (const row of await chargesOf(usage)) {
        assert.equal(row.source, 'reported');
        const { prompt_tokens, cached_tokens, completion_tokens, cost_nanos } = row;
        assert.deepEqual([prompt_tokens, cached_tokens, completion_tokens, cost_nanos], charged);
      }
    });
  }

  for (const [name, usage] of UNUSABLE) {
    test(`${name} is counted by the gateway instead`, async () => {
      for (const row of await chargesOf(usage)) {
        const [input, output] = [inputTokens(), outputTokens('hi')];
        assert.deepEqual([row.source, row.prompt_tokens, row.completion_tokens], ['counted', input, output]);
        assert.equal(row.cost_nanos, costOfCounted(input, output));
      }
    });
  }

  test('is absent is counted for what is encrypted up to the maximum that the request declares', async () => {
    const reasoning_details = [{ type: 'reasoning.encrypted', data: 'S'.repeat(400) }];
    const message = { role: 'assistant', content: 'hi', reasoning_details };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    gateway.upstream.follow(answering({ ...completion('hi', { usage: undefined }), choices }));
    const shown = outputTokens('hi');
    for (const [fields, charged] of [
      [{}, shown + 300],
      [{ max_tokens: 100 }, 100],
      [{ max_tokens: 100, n: 2 }, 200],
      [{ max_tokens: 1 }, 1],
    ] as const) {
      const key = gateway.key();
      await gateway.complete(key, chat(fields));
      assert.equal((await gateway.row(key)).completion_tokens, charged, JSON.stringify(fields));
    }
  });

  test('is sent with every chunk of a stream is a running total: the last one counts', async () => {
    const key = gateway.key();
    const growing = [1, 2, 3].map((n) => chunk('x', null, { usage: { prompt_tokens: 10, completion_tokens: n } }));
    const last = chunk('', 'stop', { usage: { prompt_tokens: 10, completion_tokens: 4 } });
    gateway.upstream.follow(streaming(...growing, last, chunk('', null, { usage: null }), DONE));
    await gateway.complete(key, chat({ stream: true }));
    const row = await gateway.row(key);
    assert.deepEqual([row.source, row.completion_tokens, row.cost_nanos], ['reported', 4, 18_000]);
  });
});

test('a cost is rounded up to the nanodollar, once per request', async () => {
  const models = { cheap: { input: 0.0001, output: 0.0001 } };
  await withGateway({ provider: { models } }, async (own) => {
    const rows = [
      // 0.1 nanodollars a token: 1.5 in total.
      [USAGE, 2],
      [{ prompt_tokens: 10, completion_tokens: 10 }, 2],
      [{ prompt_tokens: 1, completion_tokens: 0 }, 1],
    ] as const;
    for (const [usage, cost] of rows) {
      const key = own.key();
      own.upstream.follow(answering(completion('hi', { usage })));
      await own.complete(key, chat({ model: 'fake/cheap' }));
      assert.equal((await own.row(key)).cost_nanos, cost);
    }
  });
});

describe('without reported usage, output is counted from', () => {
  const words = 'Œuvres complètes, tome premier: 深い森の中で';
  const call = { name: words.slice(0, 7), arguments: words.slice(7) };
  const WRITTEN: readonly (readonly [name: string, message: Record<string, unknown>])[] = [
    ['text', { content: words }],
    ['text in parts', { content: [{ type: 'text', text: words }] }],
    ['reasoning_content', { content: null, reasoning_content: words }],
    ['reasoning', { content: '', reasoning: words }],
    ['a refusal', { content: null, refusal: words }],
    ['tool calls', { content: null, tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: call }] }],
    ['a function call', { content: null, function_call: call }],
  ];
  for (const [name, message] of WRITTEN) {
    test(name, async () => {
      const bodies = [
        answering({ choices: [{ index: 0, message, finish_reason: 'stop' }] }),
        streaming(event({ choices: [{ index: 0, delta: message, finish_reason: 'stop' }] }), DONE),
      ];
      for (const [index, script] of bodies.entries()) {
        const key = gateway.key();
        gateway.upstream.follow(script);
        await gateway.complete(key, chat({ stream: index === 1 }));
        const row = await gateway.row(key);
        assert.deepEqual([row.source, row.completion_tokens], ['counted', outputTokens(words)]);
      }
    });
  }

  test('all chunks and all choices together', async () => {
    const key = gateway.key();
    const other = event({ choices: [{ index: 1, delta: { content: 'another' }, finish_reason: 'stop' }] });
    gateway.upstream.follow(streaming(chunk('unbe'), other, chunk('lievable', 'stop'), DONE));
    await gateway.complete(key, chat({ stream: true, n: 2 }));
    assert.equal((await gateway.row(key)).completion_tokens, outputTokens('unbelievable', 'another'));
  });

  test('the bytes of an oversized event', async () => {
    const key = gateway.key();
    gateway.upstream.follow(streaming(chunk('x'.repeat(1_900_000)), chunk('', 'stop'), DONE));
    await gateway.complete(key, chat({ stream: true }));
    assert.ok((await gateway.row(key)).completion_tokens >= 500_000);
  });
});
