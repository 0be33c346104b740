/**
 * A host of Google's Vertex AI: its paths, its errors, and the fields that it knows. They are those of the requests that
 * `@google/genai` 3.1.0 sends there, and of the parts of its discovery document that were read (`aiplatform` v1, in
 * 2026-11). Written without what the gateway has for them.
 */
import type { UpstreamCall } from './fake-upstream.ts';
import { type Schema, unknownField } from './known-fields.ts';

const CONTENT: Schema = {
  role: true,
  parts: [
    {
      ...{ text: true, thought: true, thoughtSignature: true, videoMetadata: true, mediaResolution: true },
      inlineData: { mimeType: true, data: true, displayName: true },
      fileData: { mimeType: true, fileUri: true, displayName: true },
      functionCall: { id: true, name: true, args: true },
      functionResponse: { id: true, name: true, response: true, parts: true },
      executableCode: true,
      codeExecutionResult: true,
    },
  ],
};
const FUNCTION: Schema = {
  ...{ name: true, description: true, response: true, responseJsonSchema: true },
  ...{ parameters: true, parametersJsonSchema: true },
};
const REQUEST: Schema = {
  contents: [CONTENT],
  systemInstruction: CONTENT,
  tools: [{ functionDeclarations: [FUNCTION], googleSearch: true, urlContext: true, codeExecution: true }],
  toolConfig: { functionCallingConfig: { mode: true, allowedFunctionNames: [true] }, retrievalConfig: true },
  generationConfig: {
    ...{
      temperature: true,
      topP: true,
      topK: true,
      candidateCount: true,
      maxOutputTokens: true,
      stopSequences: [true],
    },
    ...{ presencePenalty: true, frequencyPenalty: true, seed: true, responseLogprobs: true, logprobs: true },
    ...{ responseMimeType: true, responseSchema: true, responseJsonSchema: true, responseModalities: [true] },
    ...{ mediaResolution: true, speechConfig: true, audioTimestamp: true },
    thinkingConfig: { includeThoughts: true, thinkingBudget: true, thinkingLevel: true },
  },
  safetySettings: [{ category: true, threshold: true, method: true }],
  labels: true,
  serviceTier: true,
};

/** What `:embedContent` takes, and `:predict` of a model that embeds. */
const EMBED_CONTENT: Schema = {
  content: { role: true, parts: [{ text: true }] },
  embedContentConfig: { taskType: true, title: true, outputDimensionality: true, autoTruncate: true },
};
const PREDICT: Schema = {
  instances: [{ content: true, task_type: true, title: true }],
  parameters: { outputDimensionality: true, autoTruncate: true },
};

/** An error as Google's front has it. */
export function refuse(call: UpstreamCall, code: number, status: string, message: string): void {
  call.answer(code, { error: { code, message, status } });
}

/** What the two publishers answer: whole, and as the events of a stream. */
export interface Answers {
  readonly google: { readonly whole: object; readonly events: readonly object[] };
  readonly anthropic: { readonly whole: object; readonly events: readonly { readonly type: string }[] };
}

const PATH =
  /^\/v1\/projects\/my-project\/locations\/europe-west1\/publishers\/(google|anthropic)\/models\/([^/:?]+):(\w+)(\?alt=sse)?$/;

export function vertex(answers: Answers): (call: UpstreamCall) => void {
  return (call) => {
    const [, publisher, model = '', method = '', isSse] = PATH.exec(call.path) ?? [];
    if (call.method !== 'POST' || publisher === undefined) return refuse(call, 404, 'NOT_FOUND', 'No such method.');
    const isProven = call.header('authorization')?.startsWith('Bearer ') || call.header('x-goog-api-key') !== undefined;
    if (!isProven) return refuse(call, 401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.');
    const body = JSON.parse(call.body);
    if (model.includes('embedding')) askedToEmbed(call, body, model, method);
    else if (publisher === 'google') askedGemini(call, body, method, isSse !== undefined, answers.google);
    else askedClaude(call, body, method, answers.anthropic);
  };
}

function isRefused(call: UpstreamCall, body: object, schema: Schema): boolean {
  const unknown = unknownField(body, schema);
  if (unknown === undefined) return false;
  const message = `Invalid JSON payload received. Unknown name "${unknown}": Cannot find field.`;
  refuse(call, 400, 'INVALID_ARGUMENT', message);
  return true;
}

/** A vector has the length of its text; a token is a letter, and white space is no billable character. */
function askedToEmbed(call: UpstreamCall, body: object, model: string, method: string): void {
  const isAlone = model.startsWith('gemini-embedding-2');
  if (method !== (isAlone ? 'embedContent' : 'predict')) return refuse(call, 404, 'NOT_FOUND', 'No such method.');
  if (isRefused(call, body, isAlone ? EMBED_CONTENT : PREDICT)) return;
  if (isAlone) {
    const { content } = body as { content: { parts: readonly { text: string }[] } };
    const [{ length } = { length: 0 }] = content.parts.map(({ text }) => text);
    return call.answer(200, { embedding: { values: [length] }, usageMetadata: { promptTokenCount: length } });
  }
  const texts = (body as { instances: readonly { content: string }[] }).instances.map(({ content }) => content);
  const predictions = texts.map(({ length }) => ({
    embeddings: { values: [length], statistics: { token_count: length, truncated: false } },
  }));
  const billableCharacterCount = texts.join('').replace(/\s/g, '').length;
  call.answer(200, { predictions, metadata: { billableCharacterCount } });
}

/** A host of Google's dialect, wherever it is. */
export function askedGemini(
  call: UpstreamCall,
  body: object,
  method: string,
  isSse: boolean,
  { whole, events }: Answers['google'],
): void {
  if (isRefused(call, body, REQUEST)) return;
  if (method === 'generateContent') return call.answer(200, whole);
  if (method !== 'streamGenerateContent') return refuse(call, 404, 'NOT_FOUND', 'No such method.');
  // Without `alt=sse` a stream is one array.
  if (!isSse) return call.answer(200, events);
  call.stream();
  for (const event of events) call.send(`data: ${JSON.stringify(event)}\r\n\r\n`);
  call.end();
}

/** The later one is what `@anthropic-ai/vertex-sdk` 1.1.3 sends. */
const VERSIONS: readonly unknown[] = ['vertex-2023-10-16', '2026-10-21'];

function askedClaude(
  call: UpstreamCall,
  body: Readonly<Record<string, unknown>>,
  method: string,
  { whole, events }: Answers['anthropic'],
): void {
  const wrong = (message: string) =>
    call.answer(400, { type: 'error', error: { type: 'invalid_request_error', message }, request_id: 'req_vrtx_1' });
  if (!VERSIONS.includes(body.anthropic_version)) return wrong('anthropic_version: Field required');
  if (body.model !== undefined) return wrong('model: Extra inputs are not permitted');
  if (method !== (body.stream === true ? 'streamRawPredict' : 'rawPredict')) return wrong('stream: wrong method');
  if (body.stream !== true) return call.answer(200, whole);
  call.stream();
  for (const event of events) call.send(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  call.end();
}
