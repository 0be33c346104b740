/** One request with a text, an image, a tool and thinking, as clients of each dialect write it. */

export interface ClientRequest {
  readonly dialect: string;
  readonly path: string;
  readonly body: object;
  /** The same as a stream. */
  readonly streaming: { readonly path: string; readonly body: object };
}

const DATA = 'iVBORw0KGgo=';
const PNG = `data:image/png;base64,${DATA}`;
const SCHEMA = { type: 'object', properties: { at: { type: 'string' } } };

const CHAT = {
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look!' },
        { type: 'image_url', image_url: { url: PNG } },
      ],
    },
  ],
  tools: [{ type: 'function', function: { name: 'look', parameters: SCHEMA } }],
  reasoning_effort: 'low',
};
const MESSAGES = {
  max_tokens: 50,
  thinking: { type: 'enabled', budget_tokens: 2_000 },
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look!' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: DATA } },
      ],
    },
  ],
  tools: [{ name: 'look', input_schema: SCHEMA }],
};
const RESPONSES = {
  input: [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'Look!' },
        { type: 'input_image', image_url: PNG },
      ],
    },
  ],
  tools: [{ type: 'function', name: 'look', parameters: SCHEMA }],
  reasoning: { effort: 'low', summary: 'auto' },
};
const GEMINI = {
  contents: [{ role: 'user', parts: [{ text: 'Look!' }, { inlineData: { mimeType: 'image/png', data: DATA } }] }],
  tools: [{ functionDeclarations: [{ name: 'look', parameters: SCHEMA }] }],
};

/** `model`: as the gateway names it. */
export function clientRequests(model: string): readonly ClientRequest[] {
  const named = (dialect: string, path: string, fields: object): ClientRequest => {
    const body = { model, ...fields };
    return { dialect, path, body, streaming: { path, body: { ...body, stream: true } } };
  };
  const inPath = (method: string) => `/v1beta/models/${model}:${method}`;
  return [
    named('chat', '/v1/chat/completions', CHAT),
    named('messages', '/v1/messages', MESSAGES),
    named('responses', '/v1/responses', RESPONSES),
    {
      dialect: 'gemini',
      path: inPath('generateContent'),
      body: GEMINI,
      streaming: { path: inPath('streamGenerateContent?alt=sse'), body: GEMINI },
    },
  ];
}
