/** Host-executed tools: the tools a request may call, and the calls in its answer. */

/** A field of a tool that can change the price of its calls. */
export interface ToolSetting {
  /** The name of the field in price variants: `memory_limit`. */
  readonly field: string;
  /** Undefined if the request leaves the choice to the host. */
  readonly value: string | undefined;
  /** Whether a price without this field applies to the value. */
  readonly isUsual: boolean;
  /** Its location in the request, such as `tools[0].container.memory_limit`. */
  readonly where: string;
}

/** A tool, by its name in the price list, and its settings. */
export interface ToolUse {
  readonly name: string;
  readonly settings: readonly ToolSetting[];
  /** Maximum input tokens that a call may add, as set by the request; 0 if it sets no maximum. */
  readonly tokens: number;
  /** The tool's format has no field for a maximum of calls. `max_calls` of its price, or a default, applies. */
  readonly isUnbounded?: true;
}

/** A tool of the host that a request may call. */
export interface HostTool extends ToolUse {
  /** Its location in the request, such as `tools[0]`. */
  readonly where: string;
  /** The versioned type, in dialects with versioned types: `advisor_20260301`. */
  readonly tag?: string;
  /** The name of its calls in answers. */
  readonly calledAs: string;
  /** Maximum number of calls. */
  readonly calls: number;
  /** Whether answers list its calls. Otherwise the maximum number of calls is charged. */
  readonly isReported: boolean;
  /** The number of calls to charge if the answer lists no calls; the maximum by default. */
  readonly callsUnlessShown?: number;
}

/** Anthropic's error message for an unsupported tool type. Claude Code repeats the request without the tool. */
export function unexpectedTag(tag: string): string {
  return `Input tag '${tag}' found using 'type' does not match any of the expected tags`;
}

/** A tool call listed in an answer. */
export interface ToolCall {
  /** An answer may list the same call several times, with the facts known at each point. */
  readonly id: string;
  /** The container of the call. A container is billed once. */
  readonly container?: string;
  readonly name: string;
  /** The settings of the tool as reported by the host. */
  readonly reported: Readonly<Record<string, string>>;
  /** Whether the host bills the call: opening a page is not billed as a search. */
  readonly isBilled: boolean;
}

/** Calls of equal cost. */
export interface ToolCalls extends Pick<ToolCall, 'reported'> {
  readonly count: number;
  /** The candidate tools, if the answer is ambiguous. The most expensive one is charged. */
  readonly of: readonly ToolUse[];
}

/** Default maximum of calls per tool to hold money for. It is added to the request if the tool's format has such a field. */
export const DEFAULT_CALLS = 10;
/** Larger maximums are clamped to this. */
export const MAX_CALLS = 10_000;

/** Returns the number of calls that a request permits. `maximum`: the value in the request, of any type. */
export function mostCalls(maximum: unknown): number {
  const isMaximum = typeof maximum === 'number' && maximum >= 1;
  return isMaximum ? Math.min(Math.ceil(maximum), MAX_CALLS) : DEFAULT_CALLS;
}

/**
 * Returns how often a host rereads the input for a number of calls. One step can contain several calls, such as searches for
 * several terms, so a tool without a maximum causes fewer steps than calls.
 */
export function rereadsFor({ isUnbounded }: ToolUse, calls: number): number {
  return isUnbounded ? Math.min(calls, DEFAULT_CALLS) : calls;
}

/** Returns the billed calls of an answer: one per container, but every call adds its input tokens. */
export function billedCalls(calls: readonly ToolCall[]): readonly ToolCall[] {
  // Fast path: most answers have no tool calls.
  if (calls.length === 0) return calls;
  const containers = new Set<string>();
  return calls.filter(({ name, container, isBilled }) => {
    if (container === undefined || !isBilled) return isBilled;
    const key = `${name} ${container}`;
    const isFirst = !containers.has(key);
    containers.add(key);
    return isFirst;
  });
}
