/** The cost of calls of the host's own tools, and tools without prices. Pure. */

import type { HostTool, ToolCalls, ToolSetting, ToolUse } from '../core/host-tools.ts';
import { unexpectedTag } from '../core/host-tools.ts';
import { MAX_TPM } from '../core/limits.ts';
import type { CallPrice, ModelTerms, Prices, ToolPrice, ToolVariant } from '../core/model-terms.ts';
import { isUnit, unitText } from '../core/units.ts';
import { traitsOf } from './model-traits.ts';

/**
 * The tools that a request may call: the tools in the request, and the model's default tools. `prices`: of the request's
 * service tier.
 */
export function toolsFor(
  model: Pick<ModelTerms, 'upstream'>,
  { tools: prices }: Pick<Prices, 'tools'>,
  asked: readonly HostTool[],
): readonly HostTool[] {
  const unasked = traitsOf(model).tools;
  if (asked.length === 0) return withMaxima(unasked, prices);
  // Requests billed only by tokens have no prices of units.
  const billed = asked.some(isUnit) ? asked.filter((tool) => !isUnit(tool) || prices.has(tool.name)) : asked;
  const others = unasked.filter(({ calledAs }) => !billed.some((tool) => tool.calledAs === calledAs));
  return withMaxima(others.length === 0 ? billed : [...billed, ...others], prices);
}

/** Tools with the maximum of calls from their prices, if no field of the request sets one. */
function withMaxima(tools: readonly HostTool[], prices: Prices['tools']): readonly HostTool[] {
  const maximumOf = (tool: HostTool) => (tool.isUnbounded ? prices.get(tool.name)?.maxCalls : undefined);
  if (tools.every((tool) => maximumOf(tool) === undefined)) return tools;
  return tools.map((tool) => ({ ...tool, calls: maximumOf(tool) ?? tool.calls }));
}

/** Many times the number at any host. */
const MAX_TOOLS = 100;

/** The first tool, or field of a tool, without a price. Undefined if all have one. */
export function toolProblem(prices: Prices, tools: readonly HostTool[]): string | undefined {
  const excess = tools[MAX_TOOLS];
  if (excess !== undefined) return `${excess.where}: expected at most ${MAX_TOOLS} of the provider's own tools`;
  for (const { name, where, tag, settings } of tools) {
    const price = prices.tools.get(name);
    if (price === undefined) {
      const found = tag === undefined ? '' : `${unexpectedTag(tag)}: `;
      return `${where}: ${found}this model has no price for a call of ${name}; leave the tool out, or have its price set`;
    }
    if (price.lacksWindow) {
      return `${where}: ${name} may fill the context window of this model, which is not known; leave the tool out, or have context_window of the model set, or tokens of the tool`;
    }
    if (fittingPrices(price, settings).length > 0) continue;
    const { field, value, where: at } = unpricedSetting(price, settings);
    const what = isUnit({ name }) ? unitText(name) : `for ${name}`;
    return `${at}: this model has no price ${what} with ${field} ${value}; leave it out, or have its price set`;
  }
  return undefined;
}

/** The setting to report: one that no variant has, otherwise the last of a combination that no variant has. */
function unpricedSetting({ variants }: ToolPrice, settings: readonly ToolSetting[]): ToolSetting {
  const unusual = settings.filter(({ value, isUsual }) => value !== undefined && !isUsual);
  const unknown = unusual.find(({ field, value }) => !variants.some(({ fields }) => fields.get(field) === value));
  return (unknown ?? unusual.at(-1)) as ToolSetting;
}

/** The possible prices of calls with these settings; empty if no price matches. */
function fittingPrices(price: ToolPrice, settings: readonly ToolSetting[]): readonly ToolVariant[] {
  const all = allPrices(price);
  if (price.isFlat) return all;
  // A tool without cost is free in all variants.
  if (all.every(({ call, tokens }) => call === 0n && tokens === 0)) return all;
  const unusual = settings.filter(({ value, isUsual }) => value !== undefined && !isUsual);
  const has = (field: string, value: string | undefined) =>
    settings.some((each) => each.field === field && each.value === value);
  const fitting = all.filter(
    ({ fields }) =>
      unusual.every(({ field, value }) => fields.get(field) === value) &&
      [...fields].every(([field, value]) => has(field, value) || has(field, undefined)),
  );
  const certain = fitting.filter(({ fields }) => [...fields].every(([field, value]) => has(field, value)));
  return fitting.filter((each) => !certain.some((other) => isNarrower(other, each)));
}

/** Whether a price covers the same calls as another one and is more specific. */
function isNarrower({ fields }: ToolVariant, { fields: wider }: ToolVariant): boolean {
  return fields.size > wider.size && [...wider].every(([field, value]) => fields.get(field) === value);
}

/** The price without variants first. */
function allPrices({ variants, ...base }: ToolPrice): readonly ToolVariant[] {
  return [{ ...base, fields: NO_FIELDS }, ...variants];
}

const NO_FIELDS: ReadonlyMap<string, string> = new Map();

/** The maximum cost of a call, and of its result in tokens. */
export interface DearestCall extends CallPrice {
  readonly mostTokens: number;
  /** `web_search`, or for a variant `image_generation(quality:high,size:1024x1024)`. */
  readonly text: string;
}

/**
 * The highest cost of a call of one of these tools. `reported`: the settings that the host reports. If no price matches
 * them, any price of the tool may apply. A tool without a price is free.
 */
export function dearestCall(
  prices: Prices,
  uses: readonly ToolUse[],
  reported: ToolCalls['reported'] = {},
): DearestCall {
  let dearest: DearestCall = { call: 0n, tokens: 0, mostTokens: 0, text: '' };
  for (const { name, settings, tokens: asked } of uses) {
    const price = prices.tools.get(name);
    if (price === undefined) continue;
    const fitting = fittingPrices(price, asReported(price, settings, reported));
    for (const { call, tokens, mostTokens, fields } of fitting.length > 0 ? fitting : allPrices(price)) {
      const isDearer = dearest.text === '' || call > dearest.call;
      dearest = {
        call: isDearer ? call : dearest.call,
        tokens: Math.max(dearest.tokens, tokens, asked),
        mostTokens: Math.max(dearest.mostTokens, mostTokens ?? Number.POSITIVE_INFINITY),
        text: isDearer ? variantText(name, fields) : dearest.text,
      };
    }
  }
  return dearest;
}

/** The settings, overridden by reported ones that determine the price. */
function asReported(
  { variants }: ToolPrice,
  settings: readonly ToolSetting[],
  reported: ToolCalls['reported'],
): readonly ToolSetting[] {
  const changed = Object.entries(reported)
    .filter(([field]) => variants.some(({ fields }) => fields.has(field)))
    .filter(([field, value]) => !settings.some((each) => each.field === field && each.value === value))
    .map(([field, value]) => ({ field, value, isUsual: false, where: field }));
  return [...settings.filter(({ field }) => !changed.some((each) => each.field === field)), ...changed];
}

function variantText(name: string, fields: ReadonlyMap<string, string>): string {
  if (fields.size === 0) return name;
  const values = [...fields].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([field, value]) => `${field}:${value}`);
  return `${name}(${values.join(',')})`;
}

/**
 * The billed calls and units of a request. A unit with a minimum is billed at least this often, even if it did not occur.
 */
export function withLeast(
  prices: Prices,
  tools: readonly HostTool[],
  made: readonly ToolCalls[],
): readonly ToolCalls[] {
  if (!tools.some((tool) => leastOf(prices, [tool]) > 0)) return made;
  const unmade = tools.filter((tool) => !made.some(({ of }) => of.includes(tool)));
  return [...made, ...unmade.map((tool) => ({ count: 0, of: [tool], reported: {} }))]
    .map((each) => ({ ...each, count: Math.max(each.count, leastOf(prices, each.of)) }))
    .filter(({ count }) => count > 0);
}

/** The minimum number of billed units; 0 without one. */
export function leastOf({ tools }: Prices, uses: readonly ToolUse[]): number {
  return Math.max(0, ...uses.map(({ name }) => tools.get(name)?.least ?? 0));
}

/** The maximum of input tokens from a request's tools. */
export function foundTokens(prices: Prices, tools: readonly HostTool[]): number {
  const calls = tools.map((tool) => ({ count: tool.calls, of: [tool], reported: {} }));
  // More than any limit admits.
  return Math.min(foundByCalls(prices, calls), MAX_TPM);
}

/** The maximum of input tokens from past calls. `mostTokens` of a price bounds all calls of a tool together. */
export function foundByCalls(prices: Prices, calls: readonly ToolCalls[]): number {
  if (calls.length === 0) return 0;
  const found = new Map<string, { tokens: number; most: number }>();
  for (const { count, of, reported } of calls) {
    const { tokens, mostTokens } = dearestCall(prices, of, reported);
    const key = of.map(({ name }) => name).join(' ');
    const { tokens: before, most } = found.get(key) ?? { tokens: 0, most: 0 };
    found.set(key, { tokens: before + count * tokens, most: Math.max(most, mostTokens) });
  }
  return [...found.values()].reduce((sum, { tokens, most }) => sum + Math.min(tokens, most), 0);
}
