/** What a model has written in each kind of block and delta that the official library knows. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { BetaContentBlock, BetaRawContentBlockDelta } from '@anthropic-ai/sdk/resources/beta/messages/messages';
import { MESSAGES } from '../../../../src/dialects/messages/messages.ts';
import { outputOfBlock } from '../../../../src/dialects/messages/messages-output.ts';

/** 300 bytes of something encrypted. */
const SECRET = 'S'.repeat(400);
/** The library's types would be long where they do not matter here. */
type Fields = Readonly<Record<string, unknown>>;

interface Row {
  readonly fields: Fields;
  readonly written?: string;
  readonly unseenTokens?: number;
}

const FOUND = { tool_use_id: 'a', content: [{ type: 'web_search_result', encrypted_content: SECRET, title: 'found' }] };
const RAN = { tool_use_id: 'a', content: { type: 'code_execution_result', stdout: 'found', content: [] } };

const BLOCKS: Readonly<Record<BetaContentBlock['type'], readonly Row[]>> = {
  text: [
    { fields: { text: 'said' }, written: 'said' },
    { fields: { text: 'said', citations: [{ cited_text: 'quoted' }, {}] }, written: 'said', unseenTokens: 36 },
  ],
  thinking: [
    { fields: { thinking: '', signature: SECRET }, unseenTokens: 300 },
    { fields: { thinking: 'summed up', signature: SECRET }, written: 'summed up', unseenTokens: 291 },
    { fields: { thinking: 'x'.repeat(500), signature: SECRET }, written: 'x'.repeat(500) },
  ],
  redacted_thinking: [{ fields: { data: SECRET }, unseenTokens: 300 }],
  tool_use: [{ fields: { id: 'a', name: 'f', input: { a: 1 } }, written: 'f{"a":1}' }],
  server_tool_use: [
    { fields: { id: 'a', name: 'web_search', input: { query: 'q' } }, written: 'web_search{"query":"q"}' },
  ],
  mcp_tool_use: [{ fields: { id: 'a', name: 'f', server_name: 's', input: {} }, written: 'f' }],
  compaction: [
    { fields: { content: 'summed up', encrypted_content: null }, written: 'summed up' },
    { fields: { content: 'summed up', encrypted_content: SECRET }, written: 'summed up', unseenTokens: 291 },
    { fields: { content: null, encrypted_content: null } },
  ],
  advisor_tool_result: [
    { fields: { content: { type: 'advisor_result', text: 'advice' } }, written: 'advice' },
    { fields: { content: { type: 'advisor_redacted_result', encrypted_content: SECRET } }, unseenTokens: 300 },
    { fields: { content: { type: 'advisor_tool_result_error', error_code: 'unavailable' } } },
  ],
  // What tools bring in is input, and so is what MCP servers list.
  web_search_tool_result: [{ fields: FOUND }],
  web_fetch_tool_result: [{ fields: FOUND }],
  code_execution_tool_result: [{ fields: RAN }],
  bash_code_execution_tool_result: [{ fields: RAN }],
  text_editor_code_execution_tool_result: [{ fields: RAN }],
  tool_search_tool_result: [{ fields: { tool_use_id: 'a', content: { tool_references: [{ tool_name: 'f' }] } } }],
  mcp_tool_result: [{ fields: { tool_use_id: 'a', content: 'found' } }],
  mcp_tool_listing: [{ fields: { mcp_server_name: 's', tools: [{ name: 'f' }] } }],
  // The usage says what the other model has written.
  fallback: [{ fields: { from: { model: 'a' }, to: { model: 'b' } } }],
  container_upload: [{ fields: { file_id: 'a' } }],
};

const DELTAS: Readonly<Record<BetaRawContentBlockDelta['type'], readonly Row[]>> = {
  text_delta: [{ fields: { text: 'said' }, written: 'said' }],
  input_json_delta: [{ fields: { partial_json: '{"a"' }, written: '{"a"' }],
  thinking_delta: [
    { fields: { thinking: 'thought', estimated_tokens: null }, written: 'thought' },
    { fields: { thinking: '', estimated_tokens: 50 }, unseenTokens: 50 },
    { fields: { thinking: '', estimated_tokens: -1 } },
  ],
  signature_delta: [{ fields: { signature: SECRET }, unseenTokens: 300 }],
  citations_delta: [{ fields: { citation: { cited_text: 'quoted' } }, unseenTokens: 18 }],
  compaction_delta: [
    { fields: { content: 'summed up', encrypted_content: null }, written: 'summed up' },
    { fields: { content: null, encrypted_content: SECRET }, unseenTokens: 300 },
  ],
};

const rowsOf = (table: Readonly<Record<string, readonly Row[]>>) =>
  Object.entries(table).flatMap(([type, rows]) => rows.map((row) => [{ type, ...row.fields }, row] as const));

describe('a model has written in a block', () => {
  for (const [block, { written = '', unseenTokens = 0 }] of rowsOf(BLOCKS)) {
    test(`${JSON.stringify(block).slice(0, 100)} ${written.slice(0, 20)} and ${unseenTokens} unseen tokens`, () => {
      const output = outputOfBlock(block);
      assert.deepEqual([output.written.join(''), output.unseenTokens], [written, unseenTokens]);
    });
  }
});

/** Reads deltas of one block, the last of which is looked at. */
function lastOf(...deltas: readonly Fields[]) {
  const stream = MESSAGES.startStream('req_1');
  const reads = deltas.map((delta) => {
    const data = JSON.stringify({ type: 'content_block_delta', index: 0, delta });
    return stream.judge({ bytes: Buffer.from(''), data, name: 'content_block_delta', complete: true });
  });
  const read = reads.at(-1);
  assert.ok(read?.kind === 'part');
  const [progress = { written: [], unseenTokens: 0 }] = read.facts.progress;
  return [progress.written.join(''), progress.unseenTokens];
}

describe('a model has written in a delta', () => {
  for (const [delta, { written = '', unseenTokens = 0 }] of rowsOf(DELTAS)) {
    test(`${JSON.stringify(delta).slice(0, 100)} ${written} and ${unseenTokens} unseen tokens`, () => {
      assert.deepEqual(lastOf(delta), [written, unseenTokens]);
    });
  }

  test('a signature stands for the thinking that was neither shown nor estimated before it', () => {
    const shown = { type: 'thinking_delta', thinking: 'x'.repeat(100), estimated_tokens: null };
    const estimated = { type: 'thinking_delta', thinking: '', estimated_tokens: 50 };
    const signature = { type: 'signature_delta', signature: SECRET };
    assert.deepEqual(lastOf(shown, signature), ['', 200]);
    assert.deepEqual(lastOf(shown, shown, shown, signature), ['', 0]);
    assert.deepEqual(lastOf(estimated, signature), ['', 0]);
  });
});
