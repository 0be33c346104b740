/** Turns the models of a parsed file into those of the config. */
import type { Prices } from '../core/model-terms.ts';
import type { ModelConfig } from './config.ts';
import type { ParsedPrices, ParsedProvider } from './schema.ts';

const UNUSED_TOOLS: readonly (readonly [name: string, nanos: bigint])[] = [
  'web_search',
  'file_search',
  'code_interpreter',
  'code_execution',
  'image_generation',
  'web_fetch',
  'mcp',
  'shell',
  'programmatic_tool_calling',
  'advisor',
].map((name) => [name, 0n]);

export function toModel(
  name: string,
  fields: ParsedProvider['models'][string],
  kind: ParsedProvider['kind'],
): ModelConfig {
  const prices = toPrices(fields);
  // The mock provider never calls them.
  const tools = kind === 'mock' ? new Map([...UNUSED_TOOLS, ...prices.tools]) : prices.tools;
  // A tier changes the prices of tokens; a call of a tool costs the same unless it says otherwise.
  const tierPrices = (tier: ParsedPrices): Prices => ({
    ...toPrices(tier),
    tools: new Map([...tools, ...Object.entries(tier.tools)]),
  });
  return {
    name,
    upstream: fields.upstream ?? name,
    ...prices,
    tools,
    serviceTiers: new Map(Object.entries(fields.service_tiers).map(([name, tier]) => [name, tierPrices(tier)])),
    contextWindow: fields.context_window,
    maxOutput: fields.max_output,
    defaultOutput: Math.min(fields.default_output, fields.max_output ?? fields.default_output),
    fallback: fields.fallback,
    holdOutput: fields.hold_output,
    ignoreFields: fields.ignore_fields,
  };
}

/** A price that is not set is that of ordinary input or output. */
function toPrices({ above, ...fields }: ParsedPrices): Prices {
  return {
    input: fields.input,
    cachedInput: fields.cached_input ?? fields.input,
    output: fields.output,
    cacheWrite: fields.cache_write ?? fields.input,
    cacheWrite1h: fields.cache_write_1h ?? fields.cache_write ?? fields.input,
    tools: new Map(Object.entries(fields.tools)),
    audioInput: fields.audio_input ?? fields.input,
    audioOutput: fields.audio_output ?? fields.output,
    above: above && {
      tokens: above.tokens,
      input: above.input,
      cachedInput: above.cached_input ?? above.input,
      output: above.output,
    },
  };
}
