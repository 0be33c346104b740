/** What a request says of caches and summaries that the host bills apart: how long it keeps, and what it reads once more. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DialectName } from '../../../src/core/dialects.ts';
import type { Checked } from '../../../src/dialects/dialect.ts';
import { DIALECTS } from '../../../src/dialects/dialects.ts';
import { readResponse } from '../../../src/dialects/responses/responses-answer.ts';
import { readJsonBody } from '../../../src/wire/body.ts';

const BASES = {
  chat: { messages: [{ role: 'user', content: 'Hi' }] },
  responses: { input: 'Hi' },
  messages: { max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] },
};

function checked(dialect: DialectName & keyof typeof BASES, fields: object): Checked {
  const read = readJsonBody(Buffer.from(JSON.stringify({ model: 'a/b', ...BASES[dialect], ...fields })));
  assert.ok(read.ok);
  return DIALECTS[dialect].check(read.body, 'a/b');
}

function request(dialect: keyof typeof BASES, fields: object) {
  const result = checked(dialect, fields);
  assert.ok(result.ok, result.ok ? '' : result.problem);
  return result.request;
}

const part = (ttl: unknown, name = 'prompt_cache_breakpoint') => ({
  input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi', [name]: { mode: 'explicit', ttl } }] }],
});

const LIFETIMES: readonly (readonly [fields: object, lifetime: '5m' | '1h'])[] = [
  [{}, '5m'],
  [{ prompt_cache_options: { mode: 'explicit' } }, '5m'],
  [{ prompt_cache_options: { ttl: '30m' } }, '5m'],
  [{ prompt_cache_options: { ttl: null } }, '5m'],
  [{ prompt_cache_options: { ttl: '12h' } }, '1h'],
  [{ prompt_cache_options: { TTL: '12h' } }, '1h'],
  [part('30m'), '5m'],
  [part('12h'), '1h'],
  [part('1y'), '1h'],
  [part('12h', 'Prompt_Cache_Breakpoint'), '1h'],
];

describe('how long a responses request has its host keep what it caches', () => {
  for (const [fields, lifetime] of LIFETIMES) {
    test(JSON.stringify(fields), () => assert.equal(request('responses', fields).cacheWrite, lifetime));
  }
  test('is refused in chat unless it is usual, since usage does not say how much that was', () => {
    const options = (ttl: string) => checked('chat', { prompt_cache_options: { ttl } });
    assert.ok(options('30m').ok);
    const refused = options('12h');
    assert.match(refused.ok ? '' : refused.problem, /^prompt_cache_breakpoint\.ttl: expected 30m/);
  });
  test('is in its usage', () => {
    const details = { cached_tokens: 10, cache_write_tokens: 70, cache_write_tokens_details: { ttl_12h_tokens: 60 } };
    const usage = { input_tokens: 100, output_tokens: 5, input_tokens_details: details };
    const { parts } = readResponse({ output: [], usage }).usage ?? {};
    assert.deepEqual([parts?.cacheWriteTokens, parts?.cacheWrite1hTokens], [10, 60]);
  });
});

const compaction = (...entries: object[]) => ({ context_management: entries });
const edits = (...all: object[]) => ({ context_management: { edits: all } });
const COMPACT = { type: 'compact_20260112' };

const SUMMARIES: readonly (readonly ['responses' | 'messages', object, number | undefined])[] = [
  ['responses', {}, undefined],
  ['responses', compaction(), undefined],
  ['responses', compaction({ type: 'compaction', compact_threshold: 1_000 }), 1_000],
  ['responses', compaction({ type: 'compaction', compact_threshold: 1_000 }, { type: 'new' }), 0],
  ['responses', compaction({ type: 'compaction', compact_threshold: 'x' }), 0],
  ['messages', edits(), undefined],
  ['messages', edits({ type: 'clear_thinking_20251015' }, { type: 'clear_tool_uses_20250919' }), undefined],
  ['messages', edits(COMPACT), 0],
  ['messages', edits({ ...COMPACT, trigger: { type: 'input_tokens', value: 2_000 } }), 2_000],
  ['messages', edits({ type: 'clear_thinking_20251015' }, { type: 'new' }), 0],
];

describe('from how many tokens on a host may summarize', () => {
  for (const [dialect, fields, tokens] of SUMMARIES) {
    test(`${dialect} ${JSON.stringify(fields)}`, () => {
      assert.equal(request(dialect, fields).summarizesAbove, tokens);
    });
  }
});

const REFUSED: readonly (readonly [problem: RegExp, fields: object])[] = [
  [/^multi_agent: agents without number/, { multi_agent: { enabled: true } }],
  [/^multi_agent:/, { multi_agent: {} }],
  [/^Multi_Agent: differs/, { Multi_Agent: { enabled: true } }],
  [/^prompt_cache_options\.comparison_response_id:/, { prompt_cache_options: { comparison_response_id: 'resp_1' } }],
];

describe('responses requests with what nobody could hold', () => {
  for (const [problem, fields] of REFUSED) {
    test(`are refused: ${JSON.stringify(fields)}`, () => {
      const result = checked('responses', fields);
      assert.match(result.ok ? '' : result.problem, problem);
    });
  }
  test('are valid without it', () => {
    assert.ok(checked('responses', { multi_agent: { enabled: false }, prompt_cache_options: { mode: 'implicit' } }).ok);
  });
});
