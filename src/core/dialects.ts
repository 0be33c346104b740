/** The dialects: the wire formats in which clients ask and hosts answer. */

export const DIALECT_NAMES = [
  'chat',
  'responses',
  'embeddings',
  'messages',
  'gemini',
  'images',
  'image_edits',
  'speech',
  'transcriptions',
  'translations',
  'moderations',
  'rerank',
] as const;

/** How hosts want their keys: `Authorization: Bearer`, or in Azure's, Anthropic's or Google's header of that name. */
export const AUTH_SCHEMES = ['bearer', 'api-key', 'x-api-key', 'x-goog-api-key'] as const;

export type AuthScheme = (typeof AUTH_SCHEMES)[number];

export type DialectName = (typeof DIALECT_NAMES)[number];

/** The headers of a client that reach a host of its dialect, in lower case. */
export const DIALECT_HEADERS: Readonly<Record<DialectName, readonly string[]>> = {
  chat: [],
  responses: ['openai-beta'],
  embeddings: [],
  messages: ['anthropic-version', 'anthropic-beta'],
  images: [],
  image_edits: [],
  speech: [],
  transcriptions: [],
  translations: [],
  moderations: [],
  rerank: [],
  gemini: [],
};

/** One of these headers that requests to a provider may not have. In lower case. */
export interface RefusedHeader {
  readonly name: string;
  /** Only with this value, or one that begins with it if it ends with `*`; undefined for any. */
  readonly value: string | undefined;
}
