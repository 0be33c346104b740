/** The rerank dialect: `POST /v1/rerank`, in the format of Cohere (v2), Jina and compatible hosts. */
import { DIALECT_PATHS } from '../core/dialects.ts';
import { isObject, objectOf } from '../core/json.ts';
import { type Unit, unitName, unitsOf } from '../core/units.ts';
import { MAX_REPORTED_TOKENS, NO_PARTS, type TokenUsage } from '../core/usage.ts';
import type { JsonBody } from '../wire/body.ts';
import { estimateTokensOf } from '../wire/token-estimate.ts';
import { type AnswerFacts, countOf } from './answer.ts';
import { flag, serviceTier, wholeNumber } from './checks.ts';
import type { Checked, Dialect, Fields, InputVisitor, ModelRequest } from './dialect.ts';
import { type FieldKinds, walkFields } from './input.ts';
import { bodyProblem, checksWithoutText, requestWithoutText, unstreamed, WITHOUT_TEXT } from './without-text.ts';

const SEARCH: Unit = 'search';

export const RERANK: Dialect = {
  ...WITHOUT_TEXT,
  name: 'rerank',
  title: 'rerank',
  path: DIALECT_PATHS.rerank,
  answerFields: new Set(['id', 'model', 'object', 'results', 'usage', 'meta']),
  check: checkRerank,
  walkInput,
  readAnswer,
};

const CHECKS = checksWithoutText({
  query: (value) => (typeof value === 'string' && value !== '' ? undefined : 'query: expected a string'),
  documents: checkDocuments,
  top_n: wholeNumber('top_n', 1),
  max_tokens_per_doc: wholeNumber('max_tokens_per_doc', 1),
  max_chunks_per_doc: wholeNumber('max_chunks_per_doc', 1),
  return_documents: flag('return_documents'),
  service_tier: serviceTier,
  stream: unstreamed('rankings'),
});

interface RerankFields extends Fields {
  readonly query: string;
  readonly documents: readonly (string | Fields)[];
}

function checkRerank(body: JsonBody, model: string): Checked {
  const problem = bodyProblem(body, CHECKS);
  if (problem !== undefined) return problem;
  const most = searchesOf(body.fields as RerankFields);
  const request = requestWithoutText(RERANK, body, model);
  return { ok: true, request: { ...request, hostTools: [unitsOf(SEARCH, most, 'documents')] } };
}

const DOCUMENT_EXPECTED = 'expected a non-empty array of strings, or of objects whose fields are texts';

/** Refuses images and addresses of images, for which this dialect has no price. */
function checkDocuments(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length === 0) return `documents: ${DOCUMENT_EXPECTED}`;
  const bad = value.findIndex((each) => typeof each !== 'string' && !(isObject(each) && isOfTexts(each)));
  return bad < 0 ? undefined : `documents[${bad}]: ${DOCUMENT_EXPECTED}`;
}

const NAMES_OF_OTHERS = /image|video|audio|file|ur[li]/i;

function isOfTexts(document: Fields): boolean {
  return Object.entries(document).every(
    ([name, value]) => !NAMES_OF_OTHERS.test(name) && ['string', 'number', 'boolean'].includes(typeof value),
  );
}

/**
 * Cohere's documentation (2026-11): a search has up to 100 documents. A document longer than this, with the query, counts
 * as several.
 */
const DOCUMENTS_PER_SEARCH = 100;
const TOKENS_PER_CHUNK = 500;
/** Hosts truncate longer queries, so at least half of a chunk is left to the document. */
const LEAST_OF_CHUNK = TOKENS_PER_CHUNK / 2;

/** Returns the maximum searches of a request. A token estimate may be a tenth below the count. */
function searchesOf({ query, documents }: RerankFields): number {
  const left = Math.max(LEAST_OF_CHUNK, TOKENS_PER_CHUNK - tokensOf([query]));
  const chunks = documents.reduce((sum, each) => sum + Math.max(1, Math.ceil(tokensOf(textsOf(each)) / left)), 0);
  return Math.ceil(chunks / DOCUMENTS_PER_SEARCH);
}

function tokensOf(texts: readonly string[]): number {
  return estimateTokensOf(texts) / 0.9;
}

function textsOf(document: string | Fields): readonly string[] {
  return typeof document === 'string' ? [document] : Object.entries(document).flat().map(String);
}

const FIELDS: FieldKinds = {
  settings: new Set([
    ...['model', 'top_n', 'return_documents', 'max_tokens_per_doc', 'max_chunks_per_doc', 'rank_fields', 'priority'],
    ...['user', 'service_tier', 'stream'],
  ]),
  unnamed: new Set(),
  walked: new Set(['query', 'documents']),
};

/** Delimiters around query and document. */
const TOKENS_PER_PAIR = 4;

/** The model reads the query again with each document. */
function walkInput({ body }: ModelRequest, visit: InputVisitor): number {
  const { query, documents, ...others } = body.fields as RerankFields;
  walkFields(others, FIELDS, visit);
  visit.text(query);
  for (const document of documents) for (const each of textsOf(document)) visit.text(each);
  return (documents.length - 1) * estimateTokensOf([query]) + documents.length * TOKENS_PER_PAIR;
}

function readAnswer({ results, usage, meta, id, model }: Fields): AnswerFacts {
  const billed = objectOf(objectOf(meta).billed_units);
  const reported = objectOf(usage);
  const searches = searchesIn(billed.search_units) ?? searchesIn(reported.search_units);
  const tokens = tokensIn(reported) ?? tokensIn(billed);
  return {
    usage: searches === undefined && tokens === undefined ? undefined : usageOf(tokens ?? 0, searches),
    hasUsage: usage !== undefined || meta !== undefined,
    choices: Array.isArray(results) ? results.length : undefined,
    progress: [],
    id,
    serviceTier: undefined,
    model,
    isWithoutOutput: true,
  };
}

function usageOf(promptTokens: number, searches: number | undefined): TokenUsage {
  const toolCalls = { [unitName(SEARCH)]: searches ?? 0 };
  return {
    promptTokens,
    cachedTokens: 0,
    completionTokens: 0,
    ...(searches !== undefined && { parts: { ...NO_PARTS, toolCalls } }),
  };
}

/** Jina reports the total, other hosts the same number as input. */
function tokensIn({ total_tokens, prompt_tokens, input_tokens }: Fields): number | undefined {
  const counts = [total_tokens, prompt_tokens, input_tokens].map(countOf).filter((each) => each !== undefined);
  return counts.length === 0 ? undefined : Math.max(...counts);
}

/** Rounds up, since some hosts report fractions of a search. */
function searchesIn(value: unknown): number | undefined {
  const isCount = typeof value === 'number' && value >= 0 && value <= MAX_REPORTED_TOKENS;
  return isCount ? Math.ceil(value) : undefined;
}
