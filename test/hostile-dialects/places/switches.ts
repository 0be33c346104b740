/** How requests switch on tools of the host in chat: by fields that only some hosts know, and by types of tools. */
import type { Fields } from '../../hostile/names.ts';
import type { Place } from './texts.ts';

const tools = (...declared: readonly Fields[]): Fields => ({ tools: declared });
const own = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };

export const SWITCH_PLACES: readonly Place[] = [
  ['`search_parameters`', { search_parameters: { mode: 'on', max_search_results: 30 } }],
  ['`enable_search`', { enable_search: true, search_options: { forced_search: true } }],
  ['`web_search_options`', { web_search_options: { search_context_size: 'high' } }],
  ['`web_search`', { web_search: { enable: true, search_mode: 'performance_first' } }],
  ['`plugins`', { plugins: [{ id: 'web', max_results: 10 }] }],
  ['`compound_custom`', { compound_custom: { tools: { enabled_tools: ['web_search', 'code_interpreter'] } } }],
  ['`extra_body.google.tools`', { extra_body: { google: { tools: [{ google_search: {} }] } } }],
  ['`google.tools`', { google: { tools: [{ google_search: {} }] } }],
  ['`google.tools` with pages', { google: { tools: [{ google_search: {} }, { url_context: {} }] } }],
  [
    '`data_sources`',
    { data_sources: [{ type: 'azure_search', parameters: { index_name: 'a', top_n_documents: 20 } }] },
  ],
  ['`enable_enhancement`', { enable_enhancement: true, force_search_enhancement: true }],
  ['a tool `$web_search`', tools({ type: 'builtin_function', function: { name: '$web_search' } })],
  ['a tool `browser_search`', tools({ type: 'browser_search' })],
  ['a tool `code_interpreter`', tools(own, { type: 'code_interpreter', container: { type: 'auto' } })],
  ['a tool `web_search`', tools(own, { type: 'web_search', web_search: { enable: true } })],
  ['a tool `web_search_20250305`', tools({ type: 'web_search_20250305', name: 'web_search' })],
  ['a tool `openrouter:web_search`', tools({ type: 'openrouter:web_search', parameters: { max_results: 10 } })],
  ['a tool `x_search`', tools({ type: 'x_search' })],
  ['a tool `retrieval`', tools({ type: 'retrieval', retrieval: { knowledge_id: 'a' } })],
  ['a tool `mcp`', tools({ type: 'mcp', server_label: 'a', server_url: 'https://example.org/a' })],
  ['a tool of a type that nobody knows', tools({ type: 'unheard_of_20990101' })],
];
