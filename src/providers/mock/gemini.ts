/** The mock provider's requests and answers in Google's dialect. */
import { isObject, objectOf, objectsIn, parseJson } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { statusNameOf } from '../../dialects/gemini/gemini-errors.ts';
import { dataEvent } from '../../wire/sse.ts';
import type { Answer, MockDialect, MockUsage, Part, StreamWriter } from './answer.ts';
import { type MockTool, promptsIn, RESULT, type Reading, readTurns, type ToolChoice } from './reading.ts';

export const GEMINI_MOCK: MockDialect = { idPrefix: 'gemini-', read, errorBody, wholeBody, startStream };

const FINISH_REASONS = { stop: 'STOP', length: 'MAX_TOKENS', call: 'STOP' } as const;

function read(fields: Fields): Reading {
  const contents = objectsIn(fields.contents);
  const turns = contents.flatMap(({ role, parts }) => {
    if (role === 'model') return [];
    const results = objectsIn(parts).flatMap(({ functionResponse }) => (isObject(functionResponse) ? [RESULT] : []));
    return results.length > 0 ? results : promptsIn(parts);
  });
  const config = objectOf(fields.generationConfig);
  const tools = objectsIn(fields.tools).flatMap(toolsIn);
  const isJson = config.responseMimeType === 'application/json';
  const schema = config.responseJsonSchema ?? lowerTypes(config.responseSchema) ?? { type: 'object' };
  return {
    ...readTurns(turns),
    messages: contents.length,
    tools,
    choice: readChoice(fields.toolConfig),
    ...(isJson && { json: { schema } }),
  };
}

function toolsIn({ functionDeclarations, ...others }: Fields): MockTool[] {
  const functions = objectsIn(functionDeclarations).map(
    ({ name, parameters, parametersJsonSchema }): MockTool => ({
      name: String(name),
      kind: 'function',
      schema: parametersJsonSchema ?? lowerTypes(parameters),
    }),
  );
  return [...functions, ...Object.keys(others).map((name): MockTool => ({ name, kind: 'host' }))];
}

/** Google's form of schemas has its types in capitals. */
function lowerTypes(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const lower = (name: string, value: unknown) =>
    name === 'type' && typeof value === 'string' ? value.toLowerCase() : value;
  return JSON.parse(JSON.stringify(schema), lower);
}

function readChoice(config: unknown): ToolChoice {
  const calling = objectOf(objectOf(config).functionCallingConfig);
  const names = Array.isArray(calling.allowedFunctionNames) ? { names: calling.allowedFunctionNames.map(String) } : {};
  if (calling.mode === 'NONE') return { kind: 'none' };
  return { kind: calling.mode === 'ANY' ? 'any' : 'auto', ...names };
}

function errorBody(code: number, message: string): string {
  return JSON.stringify({ error: { code, message, status: statusNameOf(code) } });
}

function wholeBody(answer: Answer): string {
  const parts = answer.parts.map((part) => partOf(part, part.pieces.join(''), answer));
  return JSON.stringify(answerOf(answer, parts, FINISH_REASONS[answer.ending]));
}

function answerOf(answer: Answer, parts: readonly Fields[], finishReason?: string): Fields {
  const { request, context, usage } = answer;
  const content = { role: 'model', parts };
  return {
    candidates: Array.from({ length: request.choices }, (_, index) => ({
      content,
      ...(finishReason !== undefined && { finishReason }),
      index,
    })),
    ...(usage && { usageMetadata: usageFields(usage) }),
    modelVersion: request.model,
    responseId: context.id,
  };
}

function partOf(part: Part, text: string, { context }: Answer): Fields {
  if (part.kind === 'thinking') return { text, thought: true };
  if (part.kind === 'text') return { text };
  const args = text === '' ? {} : parseJson(text)?.value;
  return {
    functionCall: { id: `call_${context.id}`, name: part.tool.name, args },
    thoughtSignature: Buffer.from(`reasoning of ${context.id}`).toString('base64'),
  };
}

function usageFields({ input, output, cacheRead, reasoning }: MockUsage): Fields {
  return {
    promptTokenCount: input,
    candidatesTokenCount: output - reasoning,
    totalTokenCount: input + output,
    ...(cacheRead > 0 && { cachedContentTokenCount: cacheRead }),
    ...(reasoning > 0 && { thoughtsTokenCount: reasoning }),
  };
}

/** Calls come whole. */
function startStream(answer: Answer): StreamWriter {
  const event = (parts: readonly Fields[], finishReason?: string) =>
    dataEvent(
      JSON.stringify(
        answerOf({ ...answer, usage: finishReason === undefined ? undefined : answer.usage }, parts, finishReason),
      ),
    );
  return {
    start: () => '',
    open: () => '',
    piece: (part, text) => (part.kind === 'call' ? '' : event([partOf(part, text, answer)])),
    close: (part) => (part.kind === 'call' ? event([partOf(part, part.pieces.join(''), answer)]) : ''),
    // Google's clients keep no answer that ends without a part.
    end: () => event([{ text: '' }], FINISH_REASONS[answer.ending]),
    failure: (message) => dataEvent(errorBody(500, message)),
  };
}
