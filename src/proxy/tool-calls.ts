/** The calls of the host's own tools that a request has made. Pure. */
import type { HostTool, ToolCall, ToolCalls, ToolUse } from '../core/host-tools.ts';
import { NO_PARTS, type TokenUsage } from '../core/usage.ts';

/**
 * For each tool the calls that were seen, and as many more as the host reports. Where it reports none and its answers
 * do not show them, all that the request allows.
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

/** The tools of a request that a call of this name may be of. A host may call one unasked. */
function usesOf(name: string, tools: readonly HostTool[]): readonly ToolUse[] {
  const asked = tools.filter(({ calledAs }) => calledAs === name);
  return asked.length > 0 ? asked : [{ name, settings: [], tokens: 0 }];
}

/** The tools of a request, with at least as many calls of each as were seen; the same ones if these are enough. */
export function withCalls(tools: readonly HostTool[], seen: readonly ToolCall[]): readonly HostTool[] {
  // Asked with every event of a stream.
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
