/** The dialects: the wire formats in which clients ask and hosts answer. */

export const DIALECT_NAMES = [
  'chat',
  'responses',
  'embeddings',
  'messages',
  'images',
  'image_edits',
  'speech',
  'transcriptions',
  'translations',
  'moderations',
  'rerank',
] as const;

/** How a host wants its key: `Authorization: Bearer`, Azure's `api-key`, or Anthropic's `x-api-key`. */
export type AuthScheme = 'bearer' | 'api-key' | 'x-api-key';

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
};

/** One of these headers that requests to a provider may not have. In lower case. */
export interface RefusedHeader {
  readonly name: string;
  /** Only with this value, or one that begins with it if it ends with `*`; undefined for any. */
  readonly value: string | undefined;
}
