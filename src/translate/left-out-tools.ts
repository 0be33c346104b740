/** Host-run tools that a translation drops, because other hosts cannot run them. */

/** Tools that agents send with every request. */
const ALWAYS_SENT: readonly string[] = ['web_search', 'tool_search'];
/** Client-run tools, which are never dropped. */
const OF_CLIENTS: ReadonlySet<unknown> = new Set(['function', 'custom', 'namespace']);

/**
 * Returns the name of the dropped tool that matches a type, which may have a date or `preview` as a suffix; undefined otherwise.
 */
export function leftOutAs(type: unknown, ignoreTools: readonly string[]): string | undefined {
  if (typeof type !== 'string' || OF_CLIENTS.has(type)) return undefined;
  return [...ALWAYS_SENT, ...ignoreTools].find((name) => type === name || type.startsWith(`${name}_`));
}

/** Error text for refused tools. */
export const UNRUNNABLE =
  'the provider of this model cannot run it; leave it out, or have it left out by ignore_tools in the config of the gateway';
