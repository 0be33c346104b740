/** Which tools of a responses request are the host's own and need a price, and which calls count. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hostCallOfItem, toolReferences } from '../../../../src/dialects/responses/responses-tools.ts';
import { checked, responsesRequest } from './responses.ts';

const SEARCH = { type: 'web_search' };
const added = (tools: unknown) => ({ input: [{ type: 'additional_tools', role: 'developer', tools }] });
const inNamespace = (tool: object) => ({ type: 'namespace', name: 'n', tools: [tool] });
const shell = (environment: object) => ({ type: 'shell', environment });

const FREE: readonly object[] = [
  { type: 'function', name: 'f', parameters: { properties: { tools: [SEARCH], type: SEARCH } } },
  { type: 'custom', name: 'c' },
  { type: 'local_shell' },
  { type: 'apply_patch' },
  { type: 'computer' },
  { type: 'computer_use_preview' },
  { type: 'tool_search', execution: 'client' },
  shell({ type: 'local' }),
  inNamespace({ type: 'custom', name: 'c' }),
];

const BILLED: readonly (readonly [what: string, fields: object, names: readonly string[]])[] = [
  ['a tool', { tools: [SEARCH] }, ['web_search']],
  ['a date', { tools: [{ type: 'web_search_2025_08_26' }] }, ['web_search']],
  ['a preview, which has a price of its own', { tools: [{ type: 'web_search_preview' }] }, ['web_search_preview']],
  ['a preview with a date', { tools: [{ type: 'web_search_preview_2025_03_11' }] }, ['web_search_preview']],
  ['a date in one piece', { tools: [{ type: 'code_interpreter_20260101' }] }, ['code_interpreter']],
  ['a type in another case', { tools: [{ type: 'Web_Search' }] }, ['web_search']],
  ['a second type', { tools: [{ type: 'function', Type: 'web_search' }] }, ['web_search']],
  ['MCP', { tools: [{ type: 'mcp', server_url: 'https://a.example' }] }, ['mcp']],
  ['programs', { tools: [{ type: 'programmatic_tool_calling' }] }, ['programmatic_tool_calling']],
  ['a type that is not known', { tools: [{ type: 'oracle' }] }, ['oracle']],
  ['a shell in a container', { tools: [shell({ type: 'container_auto' })] }, ['shell']],
  ['a shell that does not say where', { tools: [{ type: 'shell' }] }, ['shell']],
  [
    'a shell that says it twice',
    { tools: [{ ...shell({ type: 'local' }), Environment: { type: 'container_auto' } }] },
    ['shell'],
  ],
  ['a tool in a namespace', { tools: [inNamespace(SEARCH)] }, ['web_search']],
  ['a tool in a namespace, in another case', { tools: [{ type: 'namespace', Tools: [SEARCH] }] }, ['web_search']],
  ['an item with tools', added([SEARCH]), ['web_search']],
  ['an item with one tool', added(SEARCH), ['web_search']],
  ['an item with a namespace', added([inNamespace(inNamespace(SEARCH))]), ['web_search']],
  ['tools that a search found', { input: [{ type: 'tool_search_output', tools: [SEARCH] }] }, ['web_search']],
  ['two places', { tools: [{ type: 'mcp' }], ...added([SEARCH]) }, ['mcp', 'web_search']],
];

describe('the tools of a responses request', () => {
  for (const tool of FREE) {
    test(`free: ${JSON.stringify(tool).slice(0, 70)}`, () => {
      for (const fields of [{ tools: [tool] }, added([tool])]) {
        assert.deepEqual(responsesRequest(fields).hostTools, []);
      }
    });
  }
  for (const [what, fields, names] of BILLED) {
    test(`billed: ${what}`, () =>
      assert.deepEqual(
        responsesRequest(fields).hostTools.map(({ name }) => name),
        names,
      ));
  }
});

/** A tool, and the fields of it that a price must know: those with values, and those that the host chooses. */
const SETTINGS: readonly (readonly [tool: object, settings: readonly string[]])[] = [
  [{ type: 'web_search' }, ['search_context_size=medium*', 'return_token_budget=default*']],
  [
    { type: 'web_search', search_context_size: 'high', user_location: {}, filters: {}, external_web_access: true },
    ['search_context_size=high', 'return_token_budget=default*'],
  ],
  [{ type: 'web_search_preview', search_context_size: 'low' }, ['search_context_size=low*']],
  [{ type: 'code_interpreter', container: { type: 'auto' } }, ['memory_limit=1g*']],
  [{ type: 'code_interpreter', container: { type: 'auto', memory_limit: '4g' } }, ['memory_limit=4g']],
  [{ type: 'code_interpreter', container: { type: 'auto', memory_limit: null } }, ['memory_limit=1g*']],
  [{ type: 'code_interpreter', container: { Memory_limit: '4g' } }, ['Memory_limit=4g', 'memory_limit=1g*']],
  [shell({ type: 'container_auto', memory_limit: '64g', gpu: {} }), ['memory_limit=64g', 'gpu=set']],
  [
    { type: 'image_generation', size: 'auto', quality: 'high', output_format: 'jpeg', svg: { model: 'x' } },
    [
      'quality=high',
      'output_format=jpeg*',
      'svg=set',
      'size?',
      'model?',
      'complexity?',
      'input_fidelity=low*',
      'partial_images=0*',
    ],
  ],
  [{ type: 'oracle', name: 'o', depth: 3, sides: ['a', 'b'] }, ['depth=3', 'sides=a+b']],
];

const settingsOf = (tool: object) =>
  responsesRequest({ tools: [tool] }).hostTools.flatMap(({ settings }) =>
    settings.map(({ field, value, isUsual }) =>
      value === undefined ? `${field}?` : `${field}=${value}${isUsual ? '*' : ''}`,
    ),
  );

describe('the fields of a tool that decide on its price', () => {
  for (const [tool, settings] of SETTINGS) {
    test(JSON.stringify(tool), () => assert.deepEqual(settingsOf(tool), settings));
  }
  test('are named by their place', () => {
    const fields = added([inNamespace({ type: 'code_interpreter', container: { memory_limit: '4g' } })]);
    const [tool] = responsesRequest(fields).hostTools;
    assert.equal(tool?.where, 'input[0].tools[0].tools[0]');
    assert.equal(tool?.settings[0]?.where, 'input[0].tools[0].tools[0].container.memory_limit');
  });
});

/** A tool, and the fields of it that refer to what the host keeps or fetches. */
const REFERENCES: readonly (readonly [tool: object, fields: readonly string[]])[] = [
  [{ type: 'code_interpreter', container: 'cntr_1' }, ['container']],
  [{ type: 'code_interpreter', container: { type: 'auto', file_ids: ['file_1'] } }, ['container.file_ids']],
  [{ type: 'code_interpreter', container: { type: 'auto', file_ids: [] } }, []],
  [shell({ type: 'container_reference', container_id: 'cntr_1' }), ['environment.container_id']],
  [shell({ type: 'container_auto', skills: [{ type: 'skill_reference', skill_id: 's' }] }), ['environment.skills']],
  [shell({ type: 'local', skills: [{ name: 's', path: '/s' }] }), []],
  [{ type: 'file_search', vector_store_ids: ['vs_1'] }, ['vector_store_ids']],
  [{ type: 'image_generation', input_image_mask: { file_id: 'file_1' } }, ['input_image_mask.file_id']],
  [
    { type: 'image_generation', input_image_mask: { image_url: 'https://a.example/m' } },
    ['input_image_mask.image_url'],
  ],
  [{ type: 'image_generation', input_image_mask: { image_url: 'data:image/png;base64,AAAA' } }, []],
  [{ type: 'mcp', server_label: 'a', server_url: 'https://a.example' }, ['server_url']],
  [{ type: 'mcp', server_label: 'a', connector_id: 'connector_gmail' }, ['connector_id']],
  [{ type: 'function', name: 'f', file_ids: ['x'] }, []],
];

describe('what a tool refers to', () => {
  for (const [tool, fields] of REFERENCES) {
    test(JSON.stringify(tool), () => {
      const references = toolReferences(responsesRequest({ tools: [tool] }).body.fields);
      assert.deepEqual(
        references.map(({ where }) => where),
        fields.map((field) => `tools[0].${field}`),
      );
    });
  }
});

/** An item of the input, and the field of it that refers to something if the request has the tools. */
const PAST_CALLS: readonly (readonly [item: object, field: string | undefined])[] = [
  [{ type: 'code_interpreter_call', id: 'a', container_id: 'cntr_1' }, 'container_id'],
  [{ type: 'shell_call', environment: { container_id: 'cntr_1' } }, 'environment.container_id'],
  [{ type: 'shell_call', environment: { type: 'local', container_id: 'cntr_1' } }, undefined],
  [{ type: 'image_generation_call', id: 'ig_1', result: 'AAAA' }, undefined],
  [{ type: 'web_search_call', id: 'ws_1' }, undefined],
  [{ type: 'file_search_call', id: 'fs_1', results: [{ file_id: 'file_1' }] }, undefined],
];

describe('what a past call refers to', () => {
  const tools = [{ type: 'code_interpreter' }, { type: 'shell' }, SEARCH];
  const fieldsOf = (fields: object) => toolReferences(responsesRequest(fields).body.fields).map(({ where }) => where);
  for (const [item, field] of PAST_CALLS) {
    test(JSON.stringify(item), () => {
      assert.deepEqual(fieldsOf({ tools, input: [item] }), field === undefined ? [] : [`input[0].${field}`]);
    });
  }
  test('is nothing if no tool of the request goes on in its container', () => {
    assert.deepEqual(fieldsOf({ input: [{ type: 'code_interpreter_call', container_id: 'cntr_1' }] }), []);
  });
});

const MAXIMA: readonly (readonly [maximum: unknown, calls: number])[] = [
  [undefined, 10],
  [null, 10],
  [0, 10],
  [3, 3],
  [1e300, 10_000],
];

describe('the maximum of calls', () => {
  for (const [maximum, calls] of MAXIMA) {
    test(`${maximum}`, () => {
      const [search] = responsesRequest({ tools: [SEARCH], max_tool_calls: maximum }).hostTools;
      assert.equal(search?.calls, calls);
    });
  }
  for (const fields of [{ max_tool_calls: '50' }, { max_tool_calls: 1.5 }, { Max_Tool_Calls: 50 }]) {
    test(`refused: ${JSON.stringify(fields)}`, () => assert.equal(checked(fields).ok, false));
  }
});

describe('a search in an output', () => {
  const isBilled = (action: object | undefined) =>
    hostCallOfItem({ type: 'web_search_call', id: 'w', action }, 0)?.isBilled;
  test('is billed, and so is one that does not say what it did', () => {
    assert.deepEqual([isBilled({ type: 'search', query: 'x' }), isBilled(undefined)], [true, true]);
  });
  test('is none if it opens a page, or looks for a word in one', () => {
    assert.deepEqual([isBilled({ type: 'open_page' }), isBilled({ type: 'find_in_page' })], [false, false]);
  });
});

const ITEMS: readonly (readonly [item: object, tool: string | undefined])[] = [
  [{ type: 'web_search_call' }, 'web_search'],
  [{ type: 'mcp_call' }, 'mcp'],
  [{ type: 'program' }, 'programmatic_tool_calling'],
  [{ type: 'shell_call', environment: { type: 'container_reference' } }, 'shell'],
  [{ type: 'shell_call', environment: { type: 'local' } }, undefined],
  [{ type: 'function_call' }, undefined],
  [{ type: 'custom_tool_call' }, undefined],
  [{ type: 'tool_search_call' }, undefined],
  [{ type: 'local_shell_call' }, undefined],
  [{ type: 'constructor_call' }, undefined],
  [{ type: 'web_search_call_output' }, undefined],
  [{ type: 'message' }, undefined],
  [{}, undefined],
];

describe('the items of an output', () => {
  for (const [item, tool] of ITEMS) {
    test(JSON.stringify(item), () => assert.equal(hostCallOfItem(item as Record<string, unknown>, 0)?.name, tool));
  }
});
