/** The variables by which any client may find the gateway: official libraries, and most that are built on them. Pure. */
import { KEY_VARIABLE, type Setup } from './clients.ts';

/** What must not be set beside all of these: with the first, clients of Anthropic would send two keys. */
export const NOT_BESIDE_ALL: readonly string[] = [
  'ANTHROPIC_AUTH_TOKEN',
  // Google's libraries take these first.
  'GOOGLE_API_KEY',
  'GOOGLE_GENAI_USE_VERTEXAI',
];

/**
 * By which clients find a gateway, less those of `without`. Some of Anthropic send both keys where both are set, which the
 * gateway refuses; not all of them read the token.
 */
export function accessVariables(
  { url, key }: Pick<Setup, 'url' | 'key'>,
  without: readonly string[] = [],
): Record<string, string> {
  const variables = {
    INF_GW_URL: url,
    [KEY_VARIABLE]: key,
    OPENAI_API_KEY: key,
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_BASE: `${url}/v1`,
    OPENAI_API_BASE_URL: `${url}/v1`,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_BASE: url,
    ANTHROPIC_API_KEY: key,
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_API_KEY: key,
  };
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !without.includes(name)));
}
