/** Which tools a chat request has its host run: those of `tools`, and those that its other fields switch on. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readCompletion } from '../../../../src/dialects/chat/chat-answer.ts';
import { SWITCH_NAMES, toolReferences } from '../../../../src/dialects/chat/chat-tools.ts';
import { chatRequest, checked } from './chat.ts';

const BODY = { model: 'a/b', messages: [{ role: 'user', content: 'x' }] };
const toolsOf = (fields: object) =>
  chatRequest({ ...BODY, ...fields }).hostTools.map(({ name, where, calls, settings }) => {
    const given = settings.map(({ field, value = '?', isUsual }) => `${field}=${value}${isUsual ? '*' : ''}`);
    return [`${where}: ${calls} ${name}`, ...given].join(' ');
  });

/** The fields of a request, and its tools: where, the most calls, and the fields that their prices must know. */
const ROWS: readonly (readonly [fields: object, tools: readonly string[]])[] = [
  [{}, []],
  [
    {
      tools: [
        { type: 'function', function: { name: 'web_search' } },
        { type: 'custom', custom: { name: 'c' } },
      ],
    },
    [],
  ],
  [{ tools: [{ function: { name: 'f' } }] }, []],
  [{ tools: [{ type: 'web_search' }] }, ['tools[0]: 1 web_search search_engine=search_std*']],
  [
    { tools: [{ type: 'web_search', web_search: { enable: true, search_engine: 'search_pro', count: 50 } }] },
    ['tools[0]: 1 web_search search_engine=search_pro count=50'],
  ],
  [
    { tools: [{ type: 'function', function: { name: 'f' }, Type: 'browser_search' }] },
    ['tools[0]: 1 browser_search function=set Type=browser_search'],
  ],
  [{ tools: [{ type: 'builtin_function', function: { name: '$web_search' } }] }, ['tools[0]: 1 $web_search']],
  [
    { tools: [{ type: 'openrouter:web_search', parameters: { max_results: 20 } }] },
    ['tools[0]: 1 openrouter:web_search max_results=20 engine=?* search_context_size=medium*'],
  ],
  [{ web_search_options: {} }, ['web_search_options: 1 web_search search_context_size=medium*']],
  [
    { web_search_options: { search_context_size: 'high', search_type: 'pro', user_location: {} } },
    ['web_search_options: 1 web_search search_context_size=high search_type=pro'],
  ],
  [{ search_parameters: { mode: 'auto' } }, ['search_parameters: 20 live_search']],
  [{ search_parameters: { max_search_results: 7, sources: [{ type: 'x' }] } }, ['search_parameters: 7 live_search']],
  [{ search_parameters: { mode: 'off' } }, []],
  [{ enable_search: true }, ['enable_search: 1 web_search']],
  [{ enable_search: false, web_search_options: null, plugins: [], data_sources: [] }, []],
  [
    { enable_search: true, search_options: { search_strategy: 'agent', forced_search: true } },
    ['enable_search: 1 web_search search_strategy=agent'],
  ],
  [{ search_domain_filter: ['a.example'], search_settings: { b: 1 } }, ['search_domain_filter: 1 web_search']],
  [{ return_images: true }, ['return_images: 1 web_search']],
  [{ web_search: { enable: false } }, []],
  [{ enable_code_interpreter: 1 }, ['enable_code_interpreter: 1 code_interpreter']],
  [{ compound_custom: { tools: {}, models: { answering_model: 'x' } } }, ['compound_custom: 1 compound models=set']],
  [{ data_sources: [{ type: 'azure_search' }] }, ['data_sources: 1 data_sources']],
  [
    { plugins: [{ id: 'web', max_results: 9 }, { id: 'file-parser', pdf: { engine: 'mistral-ocr' } }, { id: 'new' }] },
    [
      'plugins[0]: 1 web_search max_results=9 engine=?*',
      'plugins[1]: 1 file-parser engine=mistral-ocr',
      'plugins[2]: 1 new',
    ],
  ],
  [{ plugins: [{ id: 'web', enabled: false }] }, []],
  [{ plugins: ['web'] }, ['plugins[0]: 1 plugins']],
  [{ plugins: { web: {} } }, ['plugins: 1 plugins web=set']],
  [{ google: { tools: [{ google_search: {} }] } }, ['google.tools[0].google_search: 1 google_search']],
  [
    { extra_body: { google: { tools: [{ google_search: {} }, { url_context: {} }], thinking_config: {} } } },
    [
      'extra_body.google.tools[0].google_search: 1 google_search',
      'extra_body.google.tools[1].url_context: 1 url_context',
    ],
  ],
  [{ extra_body: { google: { thinking_config: {}, tools: [] } } }, []],
  [
    { google: { Tools: [{ googleSearch: { time_range_filter: {}, engine: 'x' } }, 'google_search'] } },
    ['google.Tools[0].googleSearch: 1 google_search engine=x', 'google.Tools[1]: 1 google_search'],
  ],
  [
    { google: { tools: { function_declarations: [], codeExecution: {} } } },
    ['google.tools[0].codeExecution: 1 code_execution'],
  ],
];

describe('the tools of a chat request', () => {
  for (const [fields, tools] of ROWS) {
    test(JSON.stringify(fields), () => assert.deepEqual(toolsOf(fields), tools));
  }

  test('are named in the letters that hosts know, or the request is refused', () => {
    for (const name of SWITCH_NAMES) {
      const result = checked(JSON.stringify({ ...BODY, [name.toUpperCase()]: {} }));
      assert.match(result.ok ? '' : result.problem, /differs from .* only by letter case/, name);
    }
    assert.deepEqual(toolsOf({ Search_After_Date: 'x' }), ['Search_After_Date: 1 web_search']);
  });

  test('refer to what is at the host', () => {
    const tools = [
      { type: 'retrieval', retrieval: { knowledge_id: 'k', prompt_template: 't' } },
      { type: 'mcp', mcp: { server_label: 'l', server_url: 'https://a.example' } },
      { type: 'function', function: { name: 'f', parameters: { file_id: 'x' } } },
    ];
    assert.deepEqual(
      toolReferences(chatRequest({ ...BODY, tools, container: 'c' }).body.fields).map(({ where }) => where),
      ['tools[0].retrieval.knowledge_id', 'tools[1].mcp.server_url', 'container'],
    );
  });

  test('are counted where a host does', () => {
    const usage = { prompt_tokens: 5, completion_tokens: 1, server_tool_use: { web_search_requests: 3 } };
    assert.deepEqual(readCompletion({ choices: [], usage }).usage?.parts?.toolCalls, { web_search: 3 });
  });
});
