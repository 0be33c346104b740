/** The dialects: the wire formats of clients and hosts. */

/** The dialects that clients can use. */
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
 * How a host expects its key: in `Authorization: Bearer`, or in the header of Azure, Anthropic or Google that has this name.
 * Azure also accepts a Microsoft Entra token in place of a key.
 */
export const AUTH_SCHEMES = ['bearer', 'api-key', 'x-api-key', 'x-goog-api-key', 'entra'] as const;

export type AuthScheme = (typeof AUTH_SCHEMES)[number];

export type ClientDialect = (typeof DIALECT_NAMES)[number];

/**
 * The dialects of hosts. Converse (Amazon Bedrock) and Vertex AI embeddings exist between gateway and host only: clients of these
 * APIs sign their requests or send tokens of the host, which the gateway does not accept.
 */
export type DialectName = ClientDialect | 'converse' | 'vertex_embeddings';

/** The dialects of the mock provider. Requests in other dialects are translated. */
export const MOCK_DIALECTS = [
  ...(['chat', 'embeddings', 'images', 'image_edits', 'speech', 'transcriptions', 'translations'] as const),
  ...(['moderations', 'rerank'] as const),
] as const satisfies readonly ClientDialect[];

/** The dialects of Amazon Bedrock: messages, by `InvokeModel`, for Claude only. */
export const BEDROCK_DIALECTS = ['messages', 'converse'] as const satisfies readonly DialectName[];

/** The dialects of Google's Vertex AI: messages for Claude only, `vertex_embeddings` for embedding models. */
export const VERTEX_DIALECTS = ['messages', 'gemini', 'vertex_embeddings'] as const satisfies readonly DialectName[];

/**
 * The path of each dialect, relative to the base URL of a host and to `/v1` here. Google's paths contain the model and are parsed
 * by the HTTP interface.
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

/** Client headers forwarded to hosts of the same dialect, in lower case. Most dialects forward no headers. */
export const DIALECT_HEADERS = {
  responses: ['openai-beta'],
  messages: ['anthropic-version', 'anthropic-beta'],
} as const satisfies Partial<Record<DialectName, readonly string[]>>;

/** A forwarded header that a provider is configured to refuse. Requests with it get an error. */
export interface RefusedHeader {
  readonly name: string;
  /** The refused value, or a prefix followed by `*`; undefined for any value. */
  readonly value: string | undefined;
}
