/** The tools that hosts run themselves: which a request may call, and which were called. */

/** A field of a tool that can change the price of its calls. */
export interface ToolSetting {
  /** The name that variants of a price have for it: `memory_limit`. */
  readonly field: string;
  /** Undefined where the request leaves it to the host. */
  readonly value: string | undefined;
  /** Whether a price that says nothing of the field is for this value. */
  readonly isUsual: boolean;
  /** Such as `tools[0].container.memory_limit`. */
  readonly where: string;
}

/** A tool by its name in prices, and how it is set. */
export interface ToolUse {
  readonly name: string;
  readonly settings: readonly ToolSetting[];
  /** Input tokens that the request lets a call bring in; 0 where it does not say. */
  readonly tokens: number;
  /** No field of its format sets a maximum of calls: the `max_calls` of its price does, or a default. */
  readonly isUnbounded?: true;
}

/** A tool of the host that a request may call. */
export interface HostTool extends ToolUse {
  /** Where the request asks for it, such as `tools[0]`. */
  readonly where: string;
  /** Its type with the version, where the dialect names tools by such tags: `advisor_20260301`. */
  readonly tag?: string;
  /** The name that its calls have in answers. */
  readonly calledAs: string;
  /** The most calls. */
  readonly calls: number;
  /** Whether answers show its calls. Where they do not, all calls are charged that a request may make. */
  readonly isReported: boolean;
  /** The calls to charge for an answer that shows no calls; all that the request allows unless set. */
  readonly callsUnlessShown?: number;
}

/** The words of Anthropic's API for a tool that it does not take. Claude Code repeats the request without the tool. */
export function unexpectedTag(tag: string): string {
  return `Input tag '${tag}' found using 'type' does not match any of the expected tags`;
}

/** A call that an answer shows. */
export interface ToolCall {
  /** The same call may be shown several times, with what is known of it then. */
  readonly id: string;
  /** The container that it ran in, which is billed once. */
  readonly container?: string;
  readonly name: string;
  /** The values that the host says the fields of the tool had. */
  readonly reported: Readonly<Record<string, string>>;
  /** Whether the host bills it: a page that is opened is no search. */
  readonly isBilled: boolean;
}

/** Calls that cost the same. */
export interface ToolCalls extends Pick<ToolCall, 'reported'> {
  readonly count: number;
  /** What they may be calls of: the dearest counts. */
  readonly of: readonly ToolUse[];
}

/** The most calls of one tool to hold money for, where a request sets no maximum. It is written where its format has one. */
export const DEFAULT_CALLS = 10;
/** A larger maximum counts as this. */
export const MAX_CALLS = 10_000;

/** The calls of a tool that a request allows. `maximum`: what it says, of any type. */
export function mostCalls(maximum: unknown): number {
  const isMaximum = typeof maximum === 'number' && maximum >= 1;
  return isMaximum ? Math.min(Math.ceil(maximum), MAX_CALLS) : DEFAULT_CALLS;
}

/**
 * How often a host reads the input again for so many calls of a tool. It makes several calls in one step, such as searches
 * for several words, so a tool without a maximum does not lead to as many steps as calls.
 */
export function rereadsFor({ isUnbounded }: ToolUse, calls: number): number {
  return isUnbounded ? Math.min(calls, DEFAULT_CALLS) : calls;
}

/** What is billed of the calls of an answer: one of those that share a container. All of them bring something in. */
export function billedCalls(calls: readonly ToolCall[]): readonly ToolCall[] {
  // Most answers have none.
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
