/** An example request for a new key. Pure. */

/** Lines for a shell, short enough for narrow terminals. `origin`: the URL of the gateway. */
export function firstRequest(origin: string, model: string): readonly string[] {
  return [
    'export INF_GW_KEY=PUT-THE-KEY-HERE',
    `curl ${origin}/v1/chat/completions \\`,
    '  -H "Authorization: Bearer $INF_GW_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '{"model": "${model}",`,
    `    "messages": [{"role": "user", "content": "Hello!"}]}'`,
  ];
}
