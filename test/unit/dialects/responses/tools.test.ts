/** Which tools of a responses request are the host's own and need a price, and which calls count. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hostToolOfItem } from '../../../../src/dialects/responses/tools.ts';
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
  ['a preview with a date', { tools: [{ type: 'web_search_preview_2025_03_11' }] }, ['web_search']],
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
        assert.deepEqual([...responsesRequest(fields).hostTools], []);
      }
    });
  }
  for (const [what, fields, names] of BILLED) {
    test(`billed: ${what}`, () => assert.deepEqual([...responsesRequest(fields).hostTools.keys()], names));
  }
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
      const { hostTools } = responsesRequest({ tools: [SEARCH], max_tool_calls: maximum });
      assert.equal(hostTools.get('web_search'), calls);
    });
  }
  for (const fields of [{ max_tool_calls: '50' }, { max_tool_calls: 1.5 }, { Max_Tool_Calls: 50 }]) {
    test(`refused: ${JSON.stringify(fields)}`, () => assert.equal(checked(fields).ok, false));
  }
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
    test(JSON.stringify(item), () => assert.equal(hostToolOfItem(item as Record<string, unknown>), tool));
  }
});
