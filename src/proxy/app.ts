/** The app that a request comes from, by its User-Agent. */

/** Clients whose product token is not their name, or that are named behind others. The first that matches counts. */
const FAMILIES: readonly (readonly [agent: RegExp, app: string])[] = [
  [/^(?:async)?(?:azure)?openai\/js\b/i, 'openai-node'],
  [/^(?:async)?(?:azure)?openai[\w:]*\/(python|go|java|kotlin|ruby|php)\b/i, 'openai-$1'],
  [/^anthropic\w*\/js\b/i, 'anthropic-sdk-typescript'],
  [/^(?:async)?anthropic[\w:]*\/(python|go|java|kotlin|ruby|php)\b/i, 'anthropic-sdk-$1'],
  [/\bclaude-(?:cli|code)\//i, 'claude-cli'],
  [/\b(aider|opencode|cline|roo-?code|kilo-?code|codex_cli_rs|gemini-cli|litellm|langchain)\//i, '$1'],
  [/^geminicli\b/i, 'gemini-cli'],
  [/\bai-sdk\//i, 'ai-sdk'],
  [/\baiohttp\//i, 'aiohttp'],
  // An app in Electron names itself between the engine and Chrome.
  [/^mozilla\/.*\) ([\w.-]{1,40})\/\S+ (?:\S+ )*chrome\/\S+ electron\//i, '$1'],
  [/^mozilla\/.*\b(?:firefox|edg|opr|chrome|crios|fxios|safari)\//i, 'browser'],
];

/** What is left of a product token that is not in the table. */
const MAX_TOKEN_CHARACTERS = 40;
const MAX_READ = 512;

/** What was found for an agent. Clients are few; whoever sends a new one each time empties this again and again. */
const known = new Map<string, string>();
const MAX_KNOWN = 256;

/** Empty if the User-Agent names none. */
export function appOf(agent: string): string {
  const head = agent.slice(0, MAX_READ);
  const found = known.get(head);
  if (found !== undefined) return found;
  const app = familyOf(head) ?? productOf(head);
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(head, app);
  return app;
}

function familyOf(agent: string): string | undefined {
  for (const [pattern, app] of FAMILIES) {
    const match = pattern.exec(agent);
    if (match !== null) return app.replace('$1', (match[1] ?? '').toLowerCase());
  }
  return undefined;
}

/** The product token before the first slash. */
function productOf(agent: string): string {
  const [token = ''] = agent.trim().split(/[/\s;(]/, 1);
  return token.replace(/[^\w.+-]/g, '').slice(0, MAX_TOKEN_CHARACTERS);
}
