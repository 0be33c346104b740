/** Tools of the client's own host that a translation leaves out, since no other host can run them. */

/** Agents send these with every request, whether or not they need them. */
const ALWAYS_SENT: readonly string[] = ['web_search', 'tool_search'];
/** What a client runs itself is no tool of its host, whatever the config says. */
const OF_CLIENTS: ReadonlySet<unknown> = new Set(['function', 'custom', 'namespace']);

/** The name by which a tool of this type is left out, to which dates and `preview` may follow; undefined if it is not. */
export function leftOutAs(type: unknown, ignoreTools: readonly string[]): string | undefined {
  if (typeof type !== 'string' || OF_CLIENTS.has(type)) return undefined;
  return [...ALWAYS_SENT, ...ignoreTools].find((name) => type === name || type.startsWith(`${name}_`));
}

/** For what is refused instead. */
export const UNRUNNABLE =
  'the provider of this model cannot run it; leave it out, or have it left out by ignore_tools in the config of the gateway';
