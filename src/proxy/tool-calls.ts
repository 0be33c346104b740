/** The calls of the host's own tools that a request has made. Pure. */
import type { HostTool, ToolCall, ToolCalls, ToolUse } from '../core/host-tools.ts';
import { NO_PARTS, type TokenUsage } from '../core/usage.ts';

/**
 * The visible calls of each tool, plus the calls that the host reports beyond them. If calls are neither reported nor visible,
 * all calls that the request allows are counted.
 */
export function callsMade(
  tools: readonly HostTool[],
  seen: readonly ToolCall[],
  { parts = NO_PARTS }: TokenUsage,
): readonly ToolCalls[] {
  if (tools.length === 0 && seen.length === 0 && parts === NO_PARTS) return [];
  const reported = new Map(Object.entries(parts.toolCalls));
  const shown = new Set([...reported.keys(), ...seen.map(nameOf)]);
  const unseen = tools.filter(({ isReported, calledAs }) => !isReported && !shown.has(calledAs));
  return [...shown, ...new Set(unseen.map(nameOf))].flatMap((name) => {
    const of = usesOf(name, tools);
    const own = seen.filter((call) => call.name === name);
    const allowed = unseen
      .filter(({ calledAs }) => calledAs === name)
      .reduce((sum, { calls, callsUnlessShown = calls }) => sum + callsUnlessShown, 0);
    const others = Math.max(reported.get(name) ?? 0, allowed) - own.length;
    const calls = own.map((call) => ({ count: 1, of, reported: call.reported }));
    return others > 0 ? [...calls, { count: others, of, reported: {} }] : calls;
  });
}

function nameOf(called: ToolCall | HostTool): string {
  return 'calledAs' in called ? called.calledAs : called.name;
}

/** The tools of a request that a call with this name may belong to. Hosts may also call tools that were not requested. */
function usesOf(name: string, tools: readonly HostTool[]): readonly ToolUse[] {
  const asked = tools.filter(({ calledAs }) => calledAs === name);
  return asked.length > 0 ? asked : [{ name, settings: [], tokens: 0 }];
}

/** The tools of a request, with at least the visible number of calls each. Returns the same array if they suffice. */
export function withCalls(tools: readonly HostTool[], seen: readonly ToolCall[]): readonly HostTool[] {
  // Called for every event of a stream.
  if (seen.length === 0) return tools;
  let raised = tools;
  for (const name of new Set(seen.map(nameOf))) {
    const calls = seen.filter((call) => call.name === name).length;
    const asked = raised.filter(({ calledAs }) => calledAs === name);
    const missing = calls - asked.reduce((sum, tool) => sum + tool.calls, 0);
    if (missing <= 0) continue;
    const [use] = usesOf(name, tools) as [ToolUse];
    raised = [...raised, { ...use, calledAs: name, where: 'tools', calls: missing, isReported: true }];
  }
  return raised;
}
