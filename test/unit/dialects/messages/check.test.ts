/** The checks of a messages request that money depends on: host tools, files and servers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checked, messagesRequest } from './messages.ts';

const user = (...content: object[]) => ({ messages: [{ role: 'user', content }] });
const SEARCH = { type: 'web_search_20250305', name: 'web_search' };
const CUSTOM = { name: 'read', input_schema: { type: 'object', properties: { tools: { type: 'array' } } } };
const adding = (definition: object) => ({ type: 'tool_addition', tool: { type: 'tool_definition', definition } });

/** The fields of a request, and the host's tools that it may call. */
const TOOLS: readonly (readonly [what: string, fields: object, calls: Readonly<Record<string, number>>])[] = [
  ['no tools', {}, {}],
  ['custom tools', { tools: [CUSTOM, { ...CUSTOM, type: 'custom', cache_control: { type: 'ephemeral' } }] }, {}],
  ['tools that the client runs', { tools: [{ type: 'bash_20250124', name: 'bash' }] }, {}],
  ['a search', { tools: [SEARCH] }, { web_search: 10 }],
  ['a search with a maximum', { tools: [{ ...SEARCH, max_uses: 3 }] }, { web_search: 3 }],
  ['maxima under names in two cases', { tools: [{ ...SEARCH, max_uses: 3, Max_Uses: 70 }] }, { web_search: 70 }],
  ['a maximum beyond reason', { tools: [{ ...SEARCH, max_uses: 1e9 }] }, { web_search: 10_000 }],
  ['two searches', { tools: [SEARCH, SEARCH] }, { web_search: 20 }],
  ['a fetch', { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] }, { web_fetch: 10 }],
  ['a type under a name in another case', { tools: [{ Type: 'web_search_20250305' }] }, { web_search: 10 }],
  ['a second type', { tools: [{ ...CUSTOM, type: 'custom', TYPE: 'web_search' }] }, { web_search: 10 }],
  ['a tool within a tool', { tools: [{ type: 'custom', name: 'a', Tools: [SEARCH] }] }, { web_search: 10 }],
  ['a search that a message adds', user(adding(SEARCH)), { web_search: 10 }],
  ['a tool that a message adds', user(adding(CUSTOM)), {}],
  ['a tool that a message refers to', user({ type: 'tool_removal', tool: { type: 'tool_reference', name: 'a' } }), {}],
  [
    'an added search in other letters',
    user({ type: 'tool_addition', Tool: { Definition: SEARCH } }),
    { web_search: 10 },
  ],
  ['an added search within a block', user({ type: 'compaction', content: [adding(SEARCH)] }), { web_search: 10 }],
  ['an added search in the system prompt', { system: [adding(SEARCH)] }, { web_search: 10 }],
  [
    'a definition in the input of a call',
    user({ type: 'tool_use', id: 'a', name: 'b', input: { tools: [SEARCH] } }),
    {},
  ],
];

describe("the host's tools in a messages request", () => {
  for (const [what, fields, calls] of TOOLS) {
    test(what, () => assert.deepEqual(Object.fromEntries(messagesRequest(fields).hostTools), calls));
  }
});

/** The fields of a request, and how its problem begins; undefined if it is valid. */
const PROBLEMS: readonly (readonly [what: string, fields: object, problem: RegExp | undefined])[] = [
  ['servers', { mcp_servers: [{ type: 'url', name: 'a', url: 'https://a.example' }] }, /^mcp_servers: /],
  ['servers that are no list', { mcp_servers: {} }, /^mcp_servers: /],
  ['no servers', { mcp_servers: [] }, undefined],
  ['servers of null', { mcp_servers: null }, undefined],
  ['servers in other letters', { MCP_servers: [{}] }, /^MCP_servers: /],
];

describe('a messages request', () => {
  for (const [what, fields, problem] of PROBLEMS) {
    test(`${what} is ${problem === undefined ? 'valid' : 'refused'}`, () => {
      const result = checked(fields);
      if (problem === undefined) assert.ok(result.ok, result.ok ? '' : result.problem);
      else assert.match(result.ok ? '' : result.problem, problem);
    });
  }
});
