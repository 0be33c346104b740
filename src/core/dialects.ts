/** The dialects: the wire formats in which clients ask and hosts answer. */

/** In these clients may ask. */
export const DIALECT_NAMES = [
  'chat',
  'responses',
  'embeddings',
  'messages',
  'gemini',
  'gemini_embeddings',
  'images',
  'image_edits',
  'speech',
  'transcriptions',
  'translations',
  'moderations',
  'rerank',
] as const;

/**
 * How hosts want their keys: `Authorization: Bearer`, or in Azure's, Anthropic's or Google's header of that name. Hosts of
 * Azure take tokens of Microsoft Entra in place of a key.
 */
export const AUTH_SCHEMES = ['bearer', 'api-key', 'x-api-key', 'x-goog-api-key', 'entra'] as const;

export type AuthScheme = (typeof AUTH_SCHEMES)[number];

export type ClientDialect = (typeof DIALECT_NAMES)[number];

/**
 * Hosts of Amazon Bedrock speak Converse, and those of Google's Vertex AI have embeddings of their own. Nobody asks in these
 * here: their clients sign what they send, or carry tokens of those hosts.
 */
export type DialectName = ClientDialect | 'converse' | 'vertex_embeddings';

/** The dialects of the mock provider. Clients of the others are translated. */
export const MOCK_DIALECTS = [
  ...(['chat', 'embeddings', 'images', 'image_edits', 'speech', 'transcriptions', 'translations'] as const),
  ...(['moderations', 'rerank'] as const),
] as const satisfies readonly ClientDialect[];

/** What hosts of Amazon Bedrock speak: messages, by `InvokeModel`, to Claude alone. */
export const BEDROCK_DIALECTS = ['messages', 'converse'] as const satisfies readonly DialectName[];

/** What hosts of Google's Vertex AI speak: messages to Claude alone, and the last to models that embed. */
export const VERTEX_DIALECTS = ['messages', 'gemini', 'vertex_embeddings'] as const satisfies readonly DialectName[];

/**
 * Where requests of a dialect go: at a host below its base URL, and here below `/v1`. Google's have the model in their paths,
 * which the HTTP interface reads.
 */
export const DIALECT_PATHS: Readonly<Record<Exclude<ClientDialect, 'gemini' | 'gemini_embeddings'>, string>> = {
  chat: '/chat/completions',
  responses: '/responses',
  embeddings: '/embeddings',
  messages: '/messages',
  images: '/images/generations',
  image_edits: '/images/edits',
  speech: '/audio/speech',
  transcriptions: '/audio/transcriptions',
  translations: '/audio/translations',
  moderations: '/moderations',
  rerank: '/rerank',
};

/** The headers of a client that reach a host of its dialect, in lower case. Most dialects have none. */
export const DIALECT_HEADERS = {
  responses: ['openai-beta'],
  messages: ['anthropic-version', 'anthropic-beta'],
} as const satisfies Partial<Record<DialectName, readonly string[]>>;

/** One of these headers that requests to a provider may not have. In lower case. */
export interface RefusedHeader {
  readonly name: string;
  /** Only with this value, or one that begins with it if it ends with `*`; undefined for any. */
  readonly value: string | undefined;
}
