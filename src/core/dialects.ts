/** The dialects: the wire formats in which clients ask and hosts answer. */

export const DIALECT_NAMES = ['chat', 'responses', 'embeddings', 'messages'] as const;

/** How a host wants its key: `Authorization: Bearer`, Azure's `api-key`, or Anthropic's `x-api-key`. */
export type AuthScheme = 'bearer' | 'api-key' | 'x-api-key';

export type DialectName = (typeof DIALECT_NAMES)[number];
