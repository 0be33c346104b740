/** The checks of a messages request that money depends on: host tools, files and servers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HostTool } from '../../../../src/core/host-tools.ts';
import { MESSAGES } from '../../../../src/dialects/messages/messages.ts';
import { toolReferences } from '../../../../src/dialects/messages/messages-tools.ts';
import { readJsonBody } from '../../../../src/wire/body.ts';
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
    test(what, () => {
      const counts: Record<string, number> = {};
      for (const tool of messagesRequest(fields).hostTools) counts[tool.name] = (counts[tool.name] ?? 0) + tool.calls;
      assert.deepEqual(counts, calls);
    });
  }
});

describe('the maximum of calls', () => {
  const sent = (fields: object) => {
    const request = messagesRequest(fields);
    return MESSAGES.edit(request, { model: 'm', askForUsage: false, cap: undefined });
  };
  const fetch = { type: 'web_fetch_20250910', name: 'web_fetch' };

  test('is written where a tool of the host has none, and all else keeps its bytes', () => {
    const body =
      '{"model":"anthropic/echo","max_tokens":1e1, "tools":[ { } ,{"name" : "a\\u0062", "type":"web_search_20250305"},' +
      '{"type":"bash_20250124"}],"messages":[{"role":"user","content":[{"type":"tool_addition","tool":' +
      '{"type":"tool_definition","definition":{"type":"web_fetch_20250910","max_uses":null}}}]}]}';
    const read = readJsonBody(Buffer.from(body));
    assert.ok(read.ok);
    const result = MESSAGES.check(read.body, 'anthropic/echo');
    assert.ok(result.ok);
    const expected = body
      .replace('anthropic/echo', 'm')
      .replace('{"name"', '{"max_uses":10,"name"')
      .replace('"max_uses":null', '"max_uses":10');
    assert.equal(MESSAGES.edit(result.request, { model: 'm', askForUsage: false, cap: undefined }), expected);
  });

  test('stays as the client wrote it', () => {
    for (const most of [1, 9, 1e6])
      assert.ok(sent({ tools: [{ ...fetch, max_uses: most }] }).includes(`"max_uses":${most}`));
  });

  test('is not written into tools that know none', () => {
    for (const type of ['code_execution_20250825', 'mcp_toolset', 'oracle_20270101']) {
      assert.ok(!sent({ tools: [{ type, name: 'x' }] }).includes('max_uses'), type);
    }
  });

  test('is a whole number', () => {
    for (const most of [0, -1, 1.5, '5', true]) {
      const result = checked({ tools: [CUSTOM, { ...fetch, max_uses: most }] });
      assert.match(result.ok ? '' : result.problem, /^tools\[1\]\.max_uses: expected a whole number/);
    }
  });
});

/** A tool, and the fields of it that a price must know. */
const SETTINGS: readonly (readonly [tool: object, settings: readonly string[]])[] = [
  [{ ...SEARCH, max_uses: 3, allowed_domains: ['a'], user_location: {}, cache_control: {}, defer_loading: true }, []],
  [{ ...SEARCH, Max_Uses: 70 }, ['Max_Uses=70']],
  [{ type: 'web_fetch_20260318', max_content_tokens: 5, citations: {}, use_cache: false, url_sources: {} }, []],
  [{ type: 'advisor_20260301', model: 'x', max_tokens: 5, caching: {} }, ['model=x', 'max_tokens=5', 'caching=set']],
  [{ type: 'code_execution_20260521', name: 'code_execution', memory: '8g' }, ['memory=8g']],
];

describe('the fields of a tool that decide on its price', () => {
  for (const [tool, settings] of SETTINGS) {
    test(JSON.stringify(tool), () => {
      const [{ settings: found }] = messagesRequest({ tools: [tool] }).hostTools as [HostTool];
      assert.deepEqual(
        found.map(({ field, value }) => `${field}=${value}`),
        settings,
      );
    });
  }
  test('say how much a page may bring in', () => {
    const [tool] = messagesRequest({ tools: [{ type: 'web_fetch_20250910', max_content_tokens: 70_000.5 }] }).hostTools;
    assert.equal(tool?.tokens, 70_001);
  });
});

test("the skills of a request's container, and files of its tools, are at the host", () => {
  const { body } = messagesRequest({
    container: { skills: [{ type: 'custom', skill_id: 's' }] },
    tools: [{ type: 'code_execution_20260521', file_ids: ['file_1'] }],
  });
  assert.deepEqual(
    toolReferences(body.fields).map(({ where }) => where),
    ['tools[0].file_ids', 'container.skills'],
  );
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
