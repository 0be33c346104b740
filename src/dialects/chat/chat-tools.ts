/**
 * The tools that a chat request lets its host run: entries of `tools`, and fields that switch tools on. As the hosts
 * documented them in 2026-11.
 */
import { type HostTool, MAX_CALLS } from '../../core/host-tools.ts';
import { isObject, objectOf } from '../../core/json.ts';
import { foldCase } from '../../wire/names.ts';
import type { Fields } from '../dialect.ts';
import { googleToolsInChat, stateToolsIn } from '../gemini/gemini-tools.ts';
import {
  COMMON_FIELDS,
  type Path,
  pathText,
  readTool,
  type ToolFields,
  type ToolReference,
  toolFields,
} from '../host-tools.ts';

/** Tools that the client runs. */
const FREE_TOOLS: ReadonlySet<unknown> = new Set(['function', 'custom']);

const SEARCH = 'web_search';
const COMMON = toolFields(COMMON_FIELDS);

/** The fields of tools, by the names in prices. */
const KINDS: ReadonlyMap<string, ToolFields> = new Map([
  // Moonshot.
  ['$web_search', toolFields(`${COMMON_FIELDS} function.name`)],
  // Z.ai.
  [
    SEARCH,
    toolFields(
      `${COMMON_FIELDS} web_search.enable web_search.search_query web_search.search_result web_search.search_intent web_search.search_prompt web_search.result_sequence web_search.require_search web_search.search_domain_filter web_search.search_recency_filter`,
      { 'web_search.search_engine': 'search_std' },
    ),
  ],
  ['retrieval', toolFields(`${COMMON_FIELDS} retrieval.prompt_template`)],
  [
    'mcp',
    toolFields(`${COMMON_FIELDS} mcp.server_label mcp.transport_type mcp.allowed_tools mcp.headers mcp.authorization`),
  ],
  ['code_interpreter', toolFields(`${COMMON_FIELDS} container.type`)],
  [
    'openrouter:web_search',
    toolFields(
      `${COMMON_FIELDS} parameters.allowed_domains parameters.excluded_domains parameters.user_location parameters.max_total_results`,
      {
        'parameters.engine': '',
        'parameters.max_results': '5 4 3 2 1',
        'parameters.search_context_size': 'medium low',
      },
    ),
  ],
]);

/** The tool that a field switches on. */
interface Switch {
  readonly tool: string;
  /** The members of the field. */
  readonly kinds: ToolFields;
  /** Returns the maximum calls, if the value sets one. */
  readonly calls?: (value: unknown) => number;
}

const search = (free = '', priced = {}): Switch => ({ tool: SEARCH, kinds: toolFields(free, priced) });

const SWITCHES: ReadonlyMap<string, Switch> = new Map<string, Switch>([
  // OpenAI, Perplexity.
  [
    'web_search_options',
    search('user_location image_results_enhanced_relevance', { search_context_size: 'medium low' }),
  ],
  // xAI, which bills each source.
  [
    'search_parameters',
    {
      tool: 'live_search',
      kinds: toolFields('mode sources return_citations from_date to_date max_search_results'),
      calls: sourcesOf,
    },
  ],
  // Alibaba.
  ['enable_search', search()],
  [
    'search_options',
    search('forced_search enable_source enable_citation citation_format prepend_search_result freshness', {
      search_strategy: 'turbo',
    }),
  ],
  ['enable_code_interpreter', { tool: 'code_interpreter', kinds: COMMON }],
  // Baidu and others.
  ['web_search', search('enable enable_citation enable_trace enable_status')],
  ['enable_web_search', search()],
  // Baichuan, Tencent.
  ['with_search_enhance', search()],
  ['enable_enhancement', search()],
  ['force_search_enhancement', search()],
  ['enable_deep_search', search()],
  // Perplexity; the prefix `search_` covers its filters.
  ['return_images', search()],
  ['return_related_questions', search()],
  // Groq. The models in it change the price.
  ['compound_custom', { tool: 'compound', kinds: toolFields('tools') }],
  // Azure, Cohere.
  ['data_sources', { tool: 'data_sources', kinds: COMMON }],
  ['connectors', { tool: 'connectors', kinds: COMMON }],
]);

/** Fields in which Google's clients nest its own dialect. */
const GOOGLE_FIELDS: readonly string[] = ['google', 'extra_body'];

/** Prefix of search filters. */
const SEARCH_PREFIX = 'search_';
const PLUGINS = 'plugins';

/** The names of the fields that switch tools on. */
export const SWITCH_NAMES: readonly string[] = [...SWITCHES.keys(), PLUGINS, ...GOOGLE_FIELDS];

/** OpenRouter's plugins, by id. The price of a search depends on its results, five by default. */
const PLUGIN_KINDS: ReadonlyMap<string, ToolFields> = new Map([
  [
    'web',
    toolFields('id enabled search_prompt include_domains exclude_domains', { engine: '', max_results: '5 4 3 2 1' }),
  ],
  ['file-parser', toolFields('id enabled', { 'pdf.engine': '' })],
]);
const OTHER_PLUGIN = toolFields('id enabled');
const PLUGIN_TOOLS: ReadonlyMap<string, string> = new Map([['web', SEARCH]]);

/**
 * Returns the tools of a request. This format cannot bound the calls of a tool, and few hosts report them, so a price
 * covers all calls of a request unless it has `max_calls`.
 */
export function hostToolsOf(fields: Fields): readonly HostTool[] {
  return [
    ...toolsIn(fields.tools).map(({ name, tool, path }) => hostTool(name, tool, path, KINDS.get(name) ?? COMMON)),
    ...pluginsIn(fields[PLUGINS]),
    ...switchedOn(fields),
    ...googlesIn(fields).flatMap(({ tools, path }) => googleToolsInChat(tools, path)),
  ];
}

/** Returns the references of the host's tools in a request. */
export function toolReferences(fields: Fields): readonly ToolReference[] {
  const { tools, container } = fields;
  return [
    ...toolsIn(tools).flatMap(({ name, tool, path }) => readTool(tool, path, KINDS.get(name) ?? COMMON).references),
    ...(container === undefined ? [] : readTool({ container }, [], COMMON).references),
    ...googlesIn(fields).flatMap(({ tools, path }) =>
      stateToolsIn(tools, path).map((where) => ({ where, what: 'state at the provider' })),
    ),
  ];
}

/** `most`: the maximum calls by its fields; undefined without one. */
function hostTool(name: string, value: unknown, path: Path, kinds: ToolFields, most?: number): HostTool {
  return {
    name,
    calledAs: name.replace(/^openrouter:/, ''),
    where: pathText(path),
    ...(most === undefined ? { calls: 1, isUnbounded: true } : { calls: most }),
    isReported: false,
    settings: isObject(value) ? readTool(value, path, kinds).settings : [],
    tokens: 0,
  };
}

function toolsIn(tools: unknown): readonly { readonly name: string; readonly tool: Fields; readonly path: Path }[] {
  return (Array.isArray(tools) ? tools : []).flatMap((tool, index) =>
    typesOf(tool)
      .filter((type) => !FREE_TOOLS.has(type))
      .map((type) => ({ name: toolName(tool, type), tool, path: ['tools', index] })),
  );
}

/** Returns the types of a tool, under `type` in any letter case. */
function typesOf(tool: unknown): readonly string[] {
  if (!isObject(tool)) return [];
  const types = Object.keys(tool).filter((name) => foldCase(name) === 'type');
  return types.map((name) => tool[name]).filter((type) => typeof type === 'string');
}

/** Moonshot's tools have the type of a function. */
function toolName({ function: definition }: Fields, type: string): string {
  const name = isObject(definition) ? definition.name : undefined;
  return type === 'builtin_function' && typeof name === 'string' ? name : foldCase(type);
}

function pluginsIn(plugins: unknown): readonly HostTool[] {
  if (plugins === undefined || plugins === null) return [];
  if (!Array.isArray(plugins)) return [hostTool(PLUGINS, plugins, [PLUGINS], OTHER_PLUGIN)];
  return plugins.flatMap((plugin, index) => {
    const { id, enabled } = objectOf(plugin);
    if (enabled === false) return [];
    const name = typeof id === 'string' ? (PLUGIN_TOOLS.get(id) ?? id) : PLUGINS;
    return [hostTool(name, plugin, [PLUGINS, index], PLUGIN_KINDS.get(String(id)) ?? OTHER_PLUGIN)];
  });
}

/** Several fields for the same tool count as one call. */
function switchedOn(fields: Fields): readonly HostTool[] {
  let tools: Map<string, HostTool> | undefined;
  for (const name in fields) {
    const value = fields[name];
    const on = switchOf(name);
    if (on === undefined || isOff(value)) continue;
    const { tool, kinds, calls } = on;
    const found = hostTool(tool, on === FILTER ? undefined : value, [name], kinds, calls?.(value));
    tools ??= new Map();
    const known = tools.get(tool);
    if (found.calls === 0) continue;
    tools.set(tool, known === undefined ? found : { ...known, settings: [...known.settings, ...found.settings] });
  }
  return tools === undefined ? [] : [...tools.values()];
}

function switchOf(name: string): Switch | undefined {
  return SWITCHES.get(name) ?? (foldCase(name).startsWith(SEARCH_PREFIX) ? FILTER : undefined);
}

/** A search filter does not change the price. */
const FILTER = search();

function isOff(value: unknown): boolean {
  if (isObject(value)) return value.enable === false;
  return value === undefined || value === null || value === false || (Array.isArray(value) && value.length === 0);
}

/** Returns the maximum sources of a search, twenty by default. */
function sourcesOf(parameters: unknown): number {
  const { mode, max_search_results: most = 20 } = objectOf(parameters);
  if (mode === 'off') return 0;
  return typeof most === 'number' ? Math.min(Math.max(1, Math.ceil(most)), MAX_CALLS) : MAX_CALLS;
}

/** A `tools` field of Google's dialect and its path. */
interface GoogleTools {
  readonly tools: unknown;
  readonly path: Path;
}

function googlesIn(fields: Fields): readonly GoogleTools[] {
  return GOOGLE_FIELDS.flatMap((name) => googlesWithin(fields[name], [name]));
}

/** Searches at any depth. MAX_JSON_DEPTH bounds the recursion. */
function googlesWithin(value: unknown, path: Path): readonly GoogleTools[] {
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, item]) => {
    const at = [...path, name];
    if (foldCase(name) !== 'tools') return googlesWithin(item, at);
    return isOff(item) ? [] : [{ tools: item, path: at }];
  });
}
