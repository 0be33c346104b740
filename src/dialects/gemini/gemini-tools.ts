/** Google's own tools in a request, as documented in 2026-11, and their calls in answers. */
import { DEFAULT_CALLS, type HostTool, type ToolCall } from '../../core/host-tools.ts';
import { isObject, objectOf } from '../../core/json.ts';
import type { Fields } from '../dialect.ts';
import { type Path, pathText, readTool, type ToolFields, toolFields } from '../host-tools.ts';
import { listOf } from './gemini-fields.ts';
import { camelCase, snakeCase } from './gemini-names.ts';

/** Members of a tool that the client runs. */
const FREE_TOOLS: ReadonlySet<string> = new Set(['functionDeclarations', 'computerUse']);

/** Tools that read state at the host, which all keys would share, or data from servers in the request. */
const STATE_TOOLS: ReadonlySet<string> = new Set(['fileSearch', 'retrieval', 'mcpServers']);

/** The fields of tools, by the names in prices. */
const KINDS: ReadonlyMap<string, ToolFields> = new Map([
  ['google_search', toolFields('timeRangeFilter excludeDomains')],
  ['google_search_retrieval', toolFields('dynamicRetrievalConfig')],
  ['google_maps', toolFields('enableWidget')],
]);
const OTHERS = toolFields('');

const SEARCHES: ReadonlySet<string> = new Set(['google_search', 'google_search_retrieval']);
/** Maximum searches of a request without `max_calls`. Google documents none; for research a model makes dozens. */
const MOST_SEARCHES = 50;
/** Maximum pages of a request, by Google's documentation. */
const MOST_PAGES = 20;
/** Tools whose calls appear in answers, with the maximum calls of each. Models rewrite failing code up to five times. */
const SHOWN: ReadonlyMap<string, number> = new Map([
  ...[...SEARCHES].map((name) => [name, MOST_SEARCHES] as const),
  ['url_context', MOST_PAGES],
  ['code_execution', DEFAULT_CALLS],
]);

interface FoundTool {
  readonly member: string;
  readonly value: unknown;
  readonly path: Path;
}

function findTools(tools: unknown, path: Path = ['tools']): readonly FoundTool[] {
  return listOf(tools).flatMap((tool, index) =>
    Object.entries(objectOf(tool))
      .map(([member, value]) => ({ member: camelCase(member), value, path: [...path, index, member] }))
      .filter(({ member, value }) => !FREE_TOOLS.has(member) && value !== null),
  );
}

/** Tools whose queries, if visible, appear in answers among the search queries. */
const QUERYING: ReadonlySet<string> = new Set([
  'google_maps',
  'enterprise_web_search',
  'exa_ai_search',
  'parallel_ai_search',
]);

/** Returns the host's tools in a request. The format cannot bound their calls. */
export function hostToolsOf({ tools }: Fields): readonly HostTool[] {
  const found = findTools(tools);
  const hasSearch = found.some(({ member }) => SEARCHES.has(snakeCase(member)));
  return found.map((each) => {
    const { name, ...tool } = hostTool(each);
    const shown = SHOWN.get(name);
    if (shown !== undefined) {
      return { ...tool, name, calledAs: SEARCHES.has(name) ? 'google_search' : name, calls: shown, isReported: true };
    }
    const isSearching = QUERYING.has(name);
    return {
      ...tool,
      name,
      calledAs: isSearching && !hasSearch ? 'google_search' : name,
      ...(isSearching && { calls: MOST_SEARCHES, callsUnlessShown: 1 }),
    };
  });
}

/**
 * Returns the tools in a `tools` field of a chat request, which hosts read as in Google's dialect. Chat answers do not show
 * their calls, so a price covers all calls of a request. `path`: of the field.
 */
export function googleToolsInChat(tools: unknown, path: Path): readonly HostTool[] {
  const named = listOf(tools).flatMap((tool, index) =>
    isObject(tool) ? [] : [{ ...UNNAMED, path: [...path, index] }],
  );
  return [...findTools(tools, path), ...named].map(hostTool);
}

/** A value other than an object names an unknown tool. It is priced as a search. */
const UNNAMED: Pick<FoundTool, 'member' | 'value'> = { member: 'googleSearch', value: undefined };

function hostTool({ member, value, path }: FoundTool): HostTool {
  const name = snakeCase(member);
  return {
    name,
    calledAs: name,
    where: pathText(path),
    calls: 1,
    isUnbounded: true,
    isReported: false,
    settings: isObject(value) ? readTool(withCamelCase(value), path, KINDS.get(name) ?? OTHERS).settings : [],
    tokens: 0,
  };
}

/** Normalizes names, since chat clients use either spelling. */
function withCamelCase(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [camelCase(name), value]));
}

/** Returns the paths of tools that read state at the host, which all keys share. `path`: of the field `tools`. */
export function stateToolsIn(tools: unknown, path?: Path): readonly string[] {
  return findTools(tools, path)
    .filter(({ member }) => STATE_TOOLS.has(member))
    .map((tool) => pathText(tool.path));
}

export function toolProblem({ tools }: Fields): string | undefined {
  const [where] = stateToolsIn(tools);
  return where && `${where}: it reads what this gateway cannot see, and all keys would share; leave it out`;
}

/** Returns the calls visible in a candidate: queries are searches, addresses are pages, and content parts contain code. */
export function hostCallsOf(candidate: Fields, index: number): readonly ToolCall[] {
  const { groundingMetadata: grounding, urlContextMetadata: pages, content } = candidate;
  const searches: Fields = objectOf(grounding);
  const images = listOf(searches.imageSearchQueries);
  const urls = isObject(pages) ? listOf(pages.urlMetadata) : [];
  const code = (isObject(content) ? listOf(content.parts) : []).filter(
    (part) => isObject(part) && isObject(part.executableCode),
  );
  const call = (name: string, what: unknown): ToolCall => ({
    id: `${index} ${name} ${JSON.stringify(what)}`,
    name,
    reported: {},
    isBilled: true,
  });
  return [
    ...listOf(searches.webSearchQueries).map((query) => call('google_search', query)),
    ...images.map((image) => call('google_search', { image })),
    ...urls.map((url) => call('url_context', isObject(url) ? url.retrievedUrl : url)),
    ...code.map((part) => call('code_execution', part)),
  ];
}
