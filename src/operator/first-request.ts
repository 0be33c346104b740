/** The first request to type, for somebody who has just got a key. Pure. */

/** Lines for a shell, short enough for the narrowest terminals. `origin`: the URL of the gateway. */
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
