/** What Converse reports, and what its streams are to the meter. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MAX_REPORTED_TOKENS } from '../../../src/core/usage.ts';
import { CONVERSE } from '../../../src/dialects/converse/converse.ts';
import { readUsage } from '../../../src/dialects/converse/converse-answer.ts';
import type { Fields } from '../../../src/dialects/dialect.ts';

type Figures = readonly [prompt: number, cached: number, written: number, written1h: number, completion: number];

const REPORTS: readonly (readonly [what: string, report: Fields, figures: Figures | undefined])[] = [
  ['input and output', { inputTokens: 5, outputTokens: 7, totalTokens: 12 }, [5, 0, 0, 0, 7]],
  [
    'a cache, which the input leaves out',
    { inputTokens: 5, outputTokens: 7, totalTokens: 32, cacheReadInputTokens: 16, cacheWriteInputTokens: 4 },
    [25, 16, 4, 0, 7],
  ],
  [
    'how long the cache keeps what',
    {
      inputTokens: 5,
      outputTokens: 7,
      totalTokens: 12,
      cacheWriteInputTokens: 4,
      cacheDetails: [
        { ttl: '1h', inputTokens: 3 },
        { ttl: '5m', inputTokens: 1 },
      ],
    },
    [9, 0, 1, 3, 7],
  ],
  [
    'details alone',
    { inputTokens: 5, outputTokens: 7, totalTokens: 12, cacheDetails: [{ ttl: '5m', inputTokens: 3 }] },
    [8, 0, 3, 0, 7],
  ],
  ['a total that is more', { inputTokens: 5, outputTokens: 7, totalTokens: 20 }, [5, 0, 0, 0, 15]],
  ['no input', { outputTokens: 7, totalTokens: 7 }, undefined],
  ['less than nothing', { inputTokens: 5, outputTokens: -7, totalTokens: 12 }, undefined],
  ['a part', { inputTokens: 5.5, outputTokens: 7, totalTokens: 12 }, undefined],
  [
    'a cache of less than nothing',
    { inputTokens: 5, outputTokens: 7, totalTokens: 12, cacheReadInputTokens: -4 },
    undefined,
  ],
  [
    'the impossible',
    { inputTokens: MAX_REPORTED_TOKENS, outputTokens: 7, totalTokens: 12, cacheReadInputTokens: 1 },
    undefined,
  ],
  ['nothing', { inputTokens: 0, outputTokens: 0, totalTokens: 0 }, undefined],
];

describe('a report of Converse counts:', () => {
  for (const [what, report, figures] of REPORTS) {
    test(what, () => {
      const usage = readUsage(report);
      const { parts } = usage ?? {};
      const read = usage && [
        usage.promptTokens,
        usage.cachedTokens,
        parts?.cacheWriteTokens ?? 0,
        parts?.cacheWrite1hTokens ?? 0,
        usage.completionTokens,
      ];
      assert.deepEqual(read, figures);
    });
  }
});

describe('a stream of Converse', () => {
  const judge = (...events: readonly Fields[]) => {
    const reader = CONVERSE.startStream('req_1');
    return events.map((event) =>
      reader.judge({ data: JSON.stringify(event), name: undefined, bytes: Buffer.alloc(0), complete: true }),
    );
  };
  const METADATA = { metadata: { usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 } } };

  test('ends with its report, behind its stop reason alone', () => {
    const [early, , end] = judge(METADATA, { messageStop: { stopReason: 'end_turn' } }, METADATA);
    assert.deepEqual([early?.kind, end?.kind], ['part', 'end']);
  });

  test('shows text, calls and thinking, and what is sealed of that', () => {
    const delta = (fields: Fields) => ({ contentBlockDelta: { contentBlockIndex: 0, delta: fields } });
    const judged = judge(
      { contentBlockStart: { contentBlockIndex: 0, start: { toolUse: { toolUseId: 'c', name: 'f' } } } },
      delta({ toolUse: { input: '{' } }),
      delta({ text: 'T' }),
      delta({ reasoningContent: { text: 'R' } }),
      // Sixteen bytes, of which one is shown.
      delta({ reasoningContent: { signature: 'AAAAAAAAAAAAAAAAAAAAAA' } }),
      delta({ reasoningContent: { redactedContent: 'AAAA' } }),
    );
    const progress = judged.flatMap((each) => ('facts' in each ? (each.facts?.progress ?? []) : []));
    assert.deepEqual(
      progress.flatMap(({ written }) => written),
      ['f', '{', 'T', 'R'],
    );
    assert.deepEqual(
      progress.map(({ unseenTokens }) => unseenTokens),
      [0, 0, 0, 0, 15, 3],
    );
  });

  test('is no stream where an event is no object', () => {
    const reader = CONVERSE.startStream('req_1');
    assert.equal(reader.judge({ data: '[]', name: undefined, bytes: Buffer.alloc(0), complete: true }).kind, 'invalid');
  });
});
