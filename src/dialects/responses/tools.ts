/** The tools of the responses format that the host runs itself, and bills by the call. */

/** By their types in requests, in which dates and `preview` may follow. */
const HOST_TOOLS = ['web_search', 'file_search', 'code_interpreter', 'image_generation'] as const;

/** The name of a host's tool, as prices have it, by its type in a request. */
export function hostToolOfType(type: unknown): string | undefined {
  return typeof type === 'string' ? HOST_TOOLS.find((tool) => type === tool || type.startsWith(`${tool}_`)) : undefined;
}

/** The same by the type of the item that stands for a call: `web_search_call`. */
export function hostToolOfItem(type: unknown): string | undefined {
  return typeof type === 'string' ? HOST_TOOLS.find((tool) => type === `${tool}_call`) : undefined;
}
