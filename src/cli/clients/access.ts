/** The variables that official client libraries, and most clients built on them, read for address and key. Pure. */
import { KEY_VARIABLE, type Setup } from './clients.ts';

/** Variables that conflict with these: with the first, Anthropic's clients would send two keys. */
export const NOT_BESIDE_ALL: readonly string[] = [
  'ANTHROPIC_AUTH_TOKEN',
  // Google's libraries prefer these.
  'GOOGLE_API_KEY',
  'GOOGLE_GENAI_USE_VERTEXAI',
];

/**
 * The variables for a gateway, except those in `without`. Some clients of Anthropic send both keys if both are set, which
 * the gateway refuses; others do not read the token.
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
