/** The prices of the host's own tools, from the config or the price file. */
import type { ToolPrice, ToolVariant } from '../core/model-terms.ts';
import type { ParsedTool } from './price-schema.ts';

/**
 * The input tokens to expect of one call where the price does not say: more than a search brings in (8,000 at OpenAI's
 * smaller models, which have a fixed figure).
 */
const DEFAULT_TOKENS = 10_000;
/** Where one call can bring in more: a paper of 500 kB, by Anthropic's documentation. */
const TOKENS: ReadonlyMap<string, number> = new Map([['web_fetch', 125_000]]);

export function toolPrices(tools: Readonly<Record<string, ParsedTool>>): ReadonlyMap<string, ToolPrice> {
  return new Map(Object.entries(tools).map(([name, tool]) => [name, toolPrice(name, tool)]));
}

function toolPrice(name: string, { call, variants, ...tool }: ParsedTool): ToolPrice {
  const tokens = tool.tokens ?? TOKENS.get(name) ?? DEFAULT_TOKENS;
  return { call, tokens, variants: variants.map((variant) => toolVariant(variant, tokens)) };
}

function toolVariant({ call, tokens, ...fields }: ParsedTool['variants'][number], defaultTokens: number): ToolVariant {
  return { call, tokens: tokens ?? defaultTokens, fields: new Map(Object.entries(fields as Record<string, string>)) };
}

const UNUSED: ToolPrice = { call: 0n, tokens: 0, variants: [] };

/** The mock provider never calls them. */
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
