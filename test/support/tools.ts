/** The host's own tools, their prices and their calls, for tests of parts that need them. */

import type { HostTool, ToolCall, ToolSetting } from '../../src/core/host-tools.ts';
import type { ToolPrice } from '../../src/core/model-terms.ts';
import { callsMade } from '../../src/proxy/tool-calls.ts';
import type { Metered } from '../../src/relay/meter.ts';

/** A tool that a request may call once. */
export function hostTool(name: string, more: Partial<HostTool> = {}): HostTool {
  return { name, calledAs: name, where: 'tools[0]', calls: 1, isReported: true, settings: [], tokens: 0, ...more };
}

/** A field that a request sets; without a value, it leaves it to the host. */
export function setting(field: string, value?: string, isUsual = value === undefined): ToolSetting {
  return { field, value, isUsual, where: `tools[0].${field}` };
}

export function toolPrice(call: bigint, more: Partial<ToolPrice> = {}): ToolPrice {
  return { call, tokens: 0, variants: [], ...more };
}

export function toolCall(name: string, id: string, more: Partial<ToolCall> = {}): ToolCall {
  return { name, id, reported: {}, isBilled: true, ...more };
}

/** How many calls of each tool are charged where none was asked for. */
export function countsOf({ calls, usage }: Pick<Metered, 'calls' | 'usage'>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { count, of } of callsMade([], calls, usage)) {
    const name = of[0]?.name ?? '';
    counts[name] = (counts[name] ?? 0) + count;
  }
  return counts;
}
