/** The prices of the host's own tools, from the config or the price file. */
import type { CallPrice, ToolPrice, ToolVariant } from '../core/model-terms.ts';
import type { ParsedTool } from './price-schema.ts';

/** The input tokens of one call, and of all calls of a request. */
type Found = Pick<CallPrice, 'tokens' | 'mostTokens'>;

/** The default for a price without `tokens`: more than a search returns (OpenAI's smaller models have a fixed 8,000). */
const DEFAULT_TOKENS = 10_000;
/** A request makes many Google searches, and each returns little. */
const OF_GOOGLES_SEARCHES: Found = { tokens: DEFAULT_TOKENS, mostTokens: 100_000 };
/** The defaults of other tools. */
const FOUND: ReadonlyMap<string, Found> = new Map([
  // A paper of 500 kB, by Anthropic's documentation.
  ['web_fetch', { tokens: 125_000 }],
  ...[
    'google_search',
    'google_search_retrieval',
    'google_maps',
    'enterprise_web_search',
    'exa_ai_search',
    'parallel_ai_search',
  ].map((name) => [name, OF_GOOGLES_SEARCHES] as const),
]);
/** The pages of a request may have up to 34 MB each, by Google's documentation. Only the context window bounds them. */
const FILLING: ReadonlySet<string> = new Set(['url_context']);

/** `contextWindow`: of the model, in tokens. */
export function toolPrices(
  tools: Readonly<Record<string, ParsedTool>>,
  contextWindow: number | undefined,
): ReadonlyMap<string, ToolPrice> {
  return new Map(Object.entries(tools).map(([name, tool]) => [name, toolPrice(name, tool, contextWindow)]));
}

function toolPrice(
  name: string,
  { call, tokens, variants, max_calls: maxCalls }: ParsedTool,
  contextWindow: number | undefined,
): ToolPrice {
  const found = tokens === undefined ? foundByDefault(name, contextWindow) : { tokens };
  return {
    call,
    ...(found ?? { tokens: 0, lacksWindow: true }),
    ...(maxCalls !== undefined && { maxCalls }),
    variants: variants.map((variant) => toolVariant(variant, found ?? { tokens: 0 })),
  };
}

/** Undefined for a tool that only the context window bounds, if the config has no context window. */
function foundByDefault(name: string, contextWindow: number | undefined): Found | undefined {
  if (!FILLING.has(name)) return FOUND.get(name) ?? { tokens: DEFAULT_TOKENS };
  return contextWindow === undefined ? undefined : { tokens: contextWindow, mostTokens: contextWindow };
}

function toolVariant({ call, tokens, ...fields }: ParsedTool['variants'][number], found: Found): ToolVariant {
  const own = tokens === undefined ? found : { tokens };
  return { call, ...own, fields: new Map(Object.entries(fields as Record<string, string>)) };
}

const UNUSED: ToolPrice = { call: 0n, tokens: 0, variants: [] };

/** The mock provider never calls tools. */
export const UNUSED_TOOLS: ReadonlyMap<string, ToolPrice> = new Map(
  [
    'web_search',
    'web_search_preview',
    'file_search',
    'code_interpreter',
    'code_execution',
    'image_generation',
    'web_fetch',
    'mcp',
    'shell',
    'programmatic_tool_calling',
    'advisor',
  ].map((name) => [name, UNUSED]),
);
