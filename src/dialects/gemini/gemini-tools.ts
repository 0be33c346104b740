/** The tools that a request has Google run, as it documented them in 2026-11, and their calls in answers. */
import { DEFAULT_CALLS, type HostTool, type ToolCall } from '../../core/host-tools.ts';
import { isObject, objectOf } from '../../core/json.ts';
import type { Fields } from '../dialect.ts';
import { type Path, pathText, readTool, type ToolFields, toolFields } from '../host-tools.ts';
import { listOf } from './gemini-fields.ts';
import { snakeCase } from './gemini-names.ts';

/** Members of a tool that the client runs. */
const FREE_TOOLS: ReadonlySet<string> = new Set(['functionDeclarations', 'computerUse']);

/** What these read is at the host, where all keys would share it, or is fetched from servers that the request names. */
const STATE_TOOLS: ReadonlySet<string> = new Set(['fileSearch', 'retrieval', 'mcpServers']);

/** The fields of tools, by the names that their prices have. */
const KINDS: ReadonlyMap<string, ToolFields> = new Map([
  ['google_search', toolFields('timeRangeFilter excludeDomains')],
  ['google_search_retrieval', toolFields('dynamicRetrievalConfig')],
  ['google_maps', toolFields('enableWidget')],
]);
const OTHERS = toolFields('');

const SEARCHES: ReadonlySet<string> = new Set(['google_search', 'google_search_retrieval']);
/** Those whose calls answers show. */
const SHOWN: ReadonlySet<string> = new Set([...SEARCHES, 'url_context', 'code_execution']);

interface FoundTool {
  readonly member: string;
  readonly value: unknown;
  readonly path: Path;
}

function findTools({ tools }: Fields): readonly FoundTool[] {
  return listOf(tools).flatMap((tool, index) =>
    Object.entries(objectOf(tool))
      .filter(([member, value]) => !FREE_TOOLS.has(member) && value !== null)
      .map(([member, value]) => ({ member, value, path: ['tools', index, member] })),
  );
}

/** Tools whose queries answers show among those of a search, if they show them. */
const QUERYING: ReadonlySet<string> = new Set([
  'google_maps',
  'enterprise_web_search',
  'exa_ai_search',
  'parallel_ai_search',
]);

/** No field bounds the calls of a tool. */
export function hostToolsOf(fields: Fields): readonly HostTool[] {
  const found = findTools(fields);
  const hasSearch = found.some(({ member }) => SEARCHES.has(snakeCase(member)));
  return found.map(({ member, value, path }) => {
    const name = snakeCase(member);
    const isReported = SHOWN.has(name);
    return {
      name,
      calledAs: SEARCHES.has(name) || (QUERYING.has(name) && !hasSearch) ? 'google_search' : name,
      where: pathText(path),
      calls: isReported ? DEFAULT_CALLS : 1,
      isReported,
      settings: isObject(value) ? readTool(value, path, KINDS.get(name) ?? OTHERS).settings : [],
      tokens: 0,
    };
  });
}

/** The problem with a tool that reads what is kept for no key alone. */
export function toolProblem(fields: Fields): string | undefined {
  const found = findTools(fields).find(({ member }) => STATE_TOOLS.has(member));
  return (
    found && `${pathText(found.path)}: it reads what this gateway cannot see, and all keys would share; leave it out`
  );
}

/** The calls that a candidate shows: a search is a query, a page an address, and code a part of the content. */
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
