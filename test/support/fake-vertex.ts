/**
 * A host of Google's Vertex AI: its paths, its errors, and the fields that it knows. They are those of the requests that
 * `@google/genai` 3.1.0 sends there, and of the parts of its discovery document that were read (`aiplatform` v1, in
 * 2026-11). Written without what the gateway has for them.
 */
import type { UpstreamCall } from './fake-upstream.ts';

/** What a message holds; `true` for anything, an array for a list. */
type Schema = true | readonly [Schema] | { readonly [field: string]: Schema };

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

/** The path of the first field that a schema does not have. */
function unknownField(value: unknown, schema: Schema, at = ''): string | undefined {
  if (schema === true) return undefined;
  if (Array.isArray(schema)) {
    const each = Array.isArray(value) ? value : [value];
    return each
      .map((item, index) => unknownField(item, schema[0], `${at}[${index}]`))
      .find((path) => path !== undefined);
  }
  const known = schema as { readonly [field: string]: Schema };
  return Object.entries(value as object)
    .map(([name, member]) => {
      const path = at === '' ? name : `${at}.${name}`;
      const expected = Object.hasOwn(known, name) ? known[name] : undefined;
      return expected === undefined ? path : unknownField(member, expected, path);
    })
    .find((path) => path !== undefined);
}

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
    const [, publisher, , method = '', isSse] = PATH.exec(call.path) ?? [];
    if (call.method !== 'POST' || publisher === undefined) return refuse(call, 404, 'NOT_FOUND', 'No such method.');
    const isProven = call.header('authorization')?.startsWith('Bearer ') || call.header('x-goog-api-key') !== undefined;
    if (!isProven) return refuse(call, 401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.');
    const body = JSON.parse(call.body);
    if (publisher === 'google') askedGemini(call, body, method, isSse !== undefined, answers.google);
    else askedClaude(call, body, method, answers.anthropic);
  };
}

function askedGemini(
  call: UpstreamCall,
  body: object,
  method: string,
  isSse: boolean,
  { whole, events }: Answers['google'],
): void {
  const unknown = unknownField(body, REQUEST);
  if (unknown !== undefined) {
    const message = `Invalid JSON payload received. Unknown name "${unknown}": Cannot find field.`;
    return refuse(call, 400, 'INVALID_ARGUMENT', message);
  }
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
