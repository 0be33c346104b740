/**
 * Embeddings of Google's Vertex AI, used only by hosts: `:predict` for several texts, and `:embedContent` for one content
 * at newer models.
 */
import { isObject, objectOf } from '../../core/json.ts';
import { type Unit, unitName, unitsOf } from '../../core/units.ts';
import { MAX_REPORTED_TOKENS, NO_PARTS, type TokenUsage } from '../../core/usage.ts';
import type { JsonBody } from '../../wire/body.ts';
import { countOf } from '../answer.ts';
import type { Checked, Dialect, Fields, InputVisitor, ModelRequest } from '../dialect.ts';
import { TOKENS_AROUND_TEXT } from '../embeddings/embeddings.ts';
import { requestWithoutText, WITHOUT_TEXT } from '../without-text.ts';
import { readUsage } from './gemini-answer.ts';
import { embeddingConfigOf, textsOf } from './gemini-embeddings.ts';

const CHARACTER: Unit = 'character';

export const VERTEX_EMBEDDINGS: Dialect = {
  ...WITHOUT_TEXT,
  name: 'vertex_embeddings',
  title: 'Vertex AI embeddings',
  path: '/publishers/google/models',
  answerFields: new Set(['predictions', 'metadata', 'embedding', 'usageMetadata', 'truncated']),
  check,
  walkInput,
  edit: ({ body: { fields } }) => JSON.stringify(withoutModel(fields)),
  readAnswer: ({ predictions, embedding, metadata, usageMetadata }: Fields) => {
    const usage = readUsage(usageMetadata) ?? usageOf(tokensIn(predictions), charactersIn(metadata));
    return {
      usage,
      hasUsage: usage !== undefined || isObject(usageMetadata),
      choices: Array.isArray(predictions) ? predictions.length : isObject(embedding) ? 1 : undefined,
      progress: [],
      id: undefined,
      serviceTier: undefined,
      model: undefined,
    };
  },
};

/** Whether a body is for `:predict`, with a text in each instance. */
export function isPrediction({ instances }: Fields): boolean {
  return instances !== undefined;
}

/** Removes the model, which is in the path. */
function withoutModel({ model: _, ...fields }: Fields): Fields {
  return fields;
}

/** Accepts every body, since a translation creates them. Google bills older models by characters. */
function check(body: JsonBody, model: string): Checked {
  const characters = inputOf(body.fields).reduce((sum, { length }) => sum + length, 0);
  const hostTools = [unitsOf(CHARACTER, characters, 'input')];
  return { ok: true, request: { ...requestWithoutText(VERTEX_EMBEDDINGS, body, model), hostTools } };
}

interface Instance {
  readonly content: string;
  readonly title?: string;
}

/** Returns all texts and titles. */
function inputOf(fields: Fields): readonly string[] {
  const texts = isPrediction(fields)
    ? (fields.instances as readonly Instance[]).flatMap(({ content, title }) => [content, title])
    : [...textsOf(fields), embeddingConfigOf(fields).title as string | undefined];
  return texts.filter((text) => text !== undefined);
}

function walkInput({ body: { fields } }: ModelRequest, visit: InputVisitor): number {
  for (const text of inputOf(fields)) visit.text(text);
  return (isPrediction(fields) ? (fields.instances as readonly Instance[]).length : 1) * TOKENS_AROUND_TEXT;
}

/** Returns the tokens of all texts; undefined if any text lacks its count. */
function tokensIn(predictions: unknown): number | undefined {
  if (!Array.isArray(predictions)) return undefined;
  const counts = predictions.map((each) => {
    const embeddings = objectOf(objectOf(each).embeddings);
    return isObject(embeddings.statistics) ? countOf(embeddings.statistics.token_count) : undefined;
  });
  const sum = counts.reduce<number>((total, count) => total + (count ?? Number.NaN), 0);
  return sum <= MAX_REPORTED_TOKENS ? sum : undefined;
}

function charactersIn(metadata: unknown): number | undefined {
  return isObject(metadata) ? countOf(metadata.billableCharacterCount) : undefined;
}

function usageOf(tokens: number | undefined, characters: number | undefined): TokenUsage | undefined {
  if ((tokens ?? 0) + (characters ?? 0) === 0) return undefined;
  const toolCalls = { [unitName(CHARACTER)]: characters ?? 0 };
  return {
    promptTokens: tokens ?? 0,
    cachedTokens: 0,
    completionTokens: 0,
    ...(characters !== undefined && { parts: { ...NO_PARTS, toolCalls } }),
  };
}
