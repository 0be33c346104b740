/** What a model has written in each kind of item and event that the official library knows. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ResponseOutputItem, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { RESPONSES } from '../../../../src/dialects/responses/responses.ts';

/** 300 bytes of something encrypted, or of audio. */
const SECRET = 'S'.repeat(400);
type Fields = Readonly<Record<string, unknown>>;

interface Row {
  readonly fields: Fields;
  readonly written?: string;
  readonly unseenTokens?: number;
  readonly audioBytes?: number;
}

const NOTHING: readonly Row[] = [{ fields: { item_id: 'a' } }];
/** Results of tools are input. */
const FOUND: readonly Row[] = [{ fields: { call_id: 'a', output: 'found' } }];

const ITEMS: Readonly<Record<ResponseOutputItem['type'], readonly Row[]>> = {
  message: [
    { fields: { content: [{ type: 'output_text', text: 'said', annotations: [{ title: 'x' }] }] }, written: 'said' },
    { fields: { content: [{ type: 'refusal', refusal: 'no' }] }, written: 'no' },
  ],
  reasoning: [
    {
      fields: { summary: [{ text: 'summed up' }], encrypted_content: SECRET },
      written: 'summed up',
      unseenTokens: 291,
    },
    { fields: { summary: [], content: [{ text: 'thought' }] }, written: 'thought' },
    { fields: { summary: [], encrypted_content: SECRET }, unseenTokens: 300 },
  ],
  compaction: [{ fields: { encrypted_content: SECRET }, unseenTokens: 300 }],
  function_call: [{ fields: { name: 'f', arguments: '{}' }, written: 'f{}' }],
  custom_tool_call: [{ fields: { name: 'f', input: 'x' }, written: 'fx' }],
  mcp_call: [{ fields: { name: 'f', arguments: '{}', output: 'found' }, written: 'f{}' }],
  mcp_approval_request: [{ fields: { name: 'f', arguments: '{}' }, written: 'f{}' }],
  tool_search_call: [{ fields: { arguments: { q: 1 } }, written: '{"q":1}' }],
  program: [{ fields: { code: 'run()', fingerprint: SECRET }, written: 'run()' }],
  code_interpreter_call: [{ fields: { code: 'run()', outputs: [{ logs: 'found' }] }, written: 'run()' }],
  apply_patch_call: [{ fields: { operation: { diff: '+a' } }, written: '{"diff":"+a"}' }],
  computer_call: [
    { fields: { action: { type: 'wait' } }, written: '{"type":"wait"}' },
    { fields: { actions: [{ type: 'wait' }] }, written: '[{"type":"wait"}]' },
  ],
  local_shell_call: [{ fields: { action: { command: ['ls'] } }, written: '{"command":["ls"]}' }],
  shell_call: [{ fields: { action: { commands: ['ls'] } }, written: '{"commands":["ls"]}' }],
  file_search_call: [{ fields: { queries: ['q'], results: [{ text: 'found' }] }, written: '["q"]' }],
  web_search_call: [
    {
      fields: { action: { type: 'search', queries: ['q'], sources: [{ url: 'found' }] } },
      written: '{"type":"search","queries":["q"]}',
    },
  ],
  // The image is priced with its tool.
  image_generation_call: [{ fields: { result: SECRET, revised_prompt: 'a cat' }, written: 'a cat' }],
  function_call_output: FOUND,
  custom_tool_call_output: FOUND,
  computer_call_output: FOUND,
  program_output: [{ fields: { result: 'found' } }],
  tool_search_output: [{ fields: { tools: [{ name: 'f' }] } }],
  additional_tools: [{ fields: { role: 'developer', tools: [{ name: 'f' }] } }],
  local_shell_call_output: FOUND,
  shell_call_output: FOUND,
  apply_patch_call_output: FOUND,
  mcp_list_tools: [{ fields: { server_label: 's', tools: [{ name: 'f' }] } }],
  mcp_approval_response: [{ fields: { approve: true } }],
};

const said = (field: string): readonly Row[] => [{ fields: { [field]: 'said' }, written: 'said' }];

/** Events that hold a whole response are read as one. */
type Whole = 'response.completed' | 'response.incomplete' | 'response.failed' | 'error';

const EVENTS: Readonly<Record<Exclude<ResponseStreamEvent['type'], Whole>, readonly Row[]>> = {
  'response.output_text.delta': said('delta'),
  'response.refusal.delta': said('delta'),
  'response.reasoning_text.delta': said('delta'),
  'response.reasoning_summary_text.delta': said('delta'),
  'response.function_call_arguments.delta': said('delta'),
  'response.custom_tool_call_input.delta': said('delta'),
  'response.mcp_call_arguments.delta': said('delta'),
  'response.code_interpreter_call_code.delta': said('delta'),
  'response.shell_call_command.delta': said('delta'),
  'response.audio.delta': [{ fields: { delta: SECRET }, audioBytes: 300 }],
  'response.audio.transcript.delta': said('delta'),
  // Of a host that sends no deltas.
  'response.output_text.done': said('text'),
  'response.refusal.done': said('refusal'),
  'response.reasoning_text.done': said('text'),
  'response.reasoning_summary_text.done': said('text'),
  'response.function_call_arguments.done': said('arguments'),
  'response.custom_tool_call_input.done': said('input'),
  'response.mcp_call_arguments.done': said('arguments'),
  'response.code_interpreter_call_code.done': said('code'),
  'response.shell_call_command.done': said('command'),
  'response.shell_call_command.added': said('command'),
  'response.content_part.added': [{ fields: { part: { text: 'said' } }, written: 'said' }],
  'response.content_part.done': [{ fields: { part: { text: 'said' } }, written: 'said' }],
  'response.reasoning_summary_part.added': [{ fields: { part: { text: 'said' } }, written: 'said' }],
  'response.reasoning_summary_part.done': [{ fields: { part: { text: 'said' } }, written: 'said' }],
  'response.output_item.added': [{ fields: { item: { type: 'function_call', name: 'f' } }, written: 'f' }],
  'response.output_item.done': [
    { fields: { item: { type: 'apply_patch_call', operation: { diff: '+a' } } }, written: '{"diff":"+a"}' },
    { fields: { item: { type: 'reasoning', summary: [], encrypted_content: SECRET } }, unseenTokens: 300 },
  ],
  // What tools bring in, and where they are.
  'response.shell_call_output_content.delta': [{ fields: { delta: { stdout: 'found' } } }],
  'response.shell_call_output_content.done': [{ fields: { output: [{ stdout: 'found' }] } }],
  'response.image_generation_call.partial_image': [{ fields: { partial_image_b64: SECRET } }],
  'response.output_text.annotation.added': [{ fields: { annotation: { title: 'found', text: 'found' } } }],
  'response.created': [{ fields: { response: { output: [] } } }],
  'response.in_progress': [{ fields: { response: { output: [] } } }],
  'response.queued': [{ fields: { response: { output: [] } } }],
  'response.audio.done': NOTHING,
  'response.audio.transcript.done': NOTHING,
  'response.compaction.compacting': NOTHING,
  'response.code_interpreter_call.completed': NOTHING,
  'response.code_interpreter_call.in_progress': NOTHING,
  'response.code_interpreter_call.interpreting': NOTHING,
  'response.file_search_call.completed': NOTHING,
  'response.file_search_call.in_progress': NOTHING,
  'response.file_search_call.searching': NOTHING,
  'response.web_search_call.completed': NOTHING,
  'response.web_search_call.in_progress': NOTHING,
  'response.web_search_call.searching': NOTHING,
  'response.image_generation_call.completed': NOTHING,
  'response.image_generation_call.generating': NOTHING,
  'response.image_generation_call.in_progress': NOTHING,
  'response.mcp_call.completed': NOTHING,
  'response.mcp_call.failed': NOTHING,
  'response.mcp_call.in_progress': NOTHING,
  'response.mcp_list_tools.completed': NOTHING,
  'response.mcp_list_tools.failed': NOTHING,
  'response.mcp_list_tools.in_progress': NOTHING,
};

const rowsOf = (table: Readonly<Record<string, readonly Row[]>>) =>
  Object.entries(table).flatMap(([type, rows]) => rows.map((row) => [{ type, ...row.fields }, row] as const));

/** What the events of a stream hold together, as the gateway reads it. */
function written(...events: readonly Fields[]) {
  const stream = RESPONSES.startStream('req_1');
  const progress = events.flatMap((event) => {
    const data = JSON.stringify({ output_index: 0, ...event });
    const read = stream.judge({ bytes: Buffer.from(''), data, name: undefined, complete: true });
    return ('facts' in read ? read.facts?.progress : undefined) ?? [];
  });
  const sum = (field: 'unseenTokens' | 'audioBytes') => progress.reduce((total, each) => total + each[field], 0);
  return [progress.flatMap((each) => each.written).join(''), sum('unseenTokens'), sum('audioBytes')];
}

const figuresOf = ({ written: text = '', unseenTokens = 0, audioBytes = 0 }: Row) => [text, unseenTokens, audioBytes];

describe('a model has written in an item', () => {
  for (const [item, row] of rowsOf(ITEMS)) {
    test(JSON.stringify(item).slice(0, 100), () => {
      const { progress } = RESPONSES.readAnswer({ status: 'completed', output: [item] });
      const [{ written: texts, unseenTokens, audioBytes } = { written: [], unseenTokens: 0, audioBytes: 0 }] = progress;
      assert.deepEqual([texts.join(''), unseenTokens, audioBytes], figuresOf(row));
    });
  }
});

describe('a model has written in an event', () => {
  for (const [event, row] of rowsOf(EVENTS)) {
    test(JSON.stringify(event).slice(0, 100), () => assert.deepEqual(written(event), figuresOf(row)));
  }

  test('what an item repeats of its deltas counts once, wherever else it is repeated', () => {
    const item = { type: 'message', content: [{ type: 'output_text', text: 'said twice' }, { text: ' and more' }] };
    const events = [
      { type: 'response.output_item.added', item: { type: 'message', content: [] } },
      { type: 'response.output_text.delta', delta: 'said ' },
      { type: 'response.output_text.delta', delta: 'twice' },
      { type: 'response.output_text.done', text: 'said twice' },
      { type: 'response.content_part.done', part: { type: 'output_text', text: 'said twice' } },
      { type: 'response.output_item.done', item },
      { type: 'response.completed', response: { status: 'completed', output: [item] } },
    ];
    assert.deepEqual(written(...events), ['said twice and more', 0, 0]);
  });

  test('items are told apart by their places', () => {
    const [first, second] = [0, 1].map((output_index) => ({
      output_index,
      type: 'response.output_text.done',
      text: 'ab',
    }));
    assert.deepEqual(written(first as Fields, second as Fields, first as Fields), ['abab', 0, 0]);
  });

  test('in a response that comes whole at its end', () => {
    const output = [
      { type: 'message', content: [{ text: 'said' }] },
      { type: 'reasoning', encrypted_content: SECRET },
    ];
    const end = { type: 'response.completed', response: { status: 'completed', output } };
    assert.deepEqual(written(end), ['said', 300, 0]);
  });
});
