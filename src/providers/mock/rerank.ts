/** The mock's rerank dialect: the score of a document depends on the query's words in it. */
import { isObject } from '../../core/json.ts';
import { type Answer, errorJson, type MockDialect } from './answer.ts';
import { promptAlone } from './reading.ts';

export const RERANK_MOCK: MockDialect = {
  idPrefix: 'rerank-',
  read: ({ query }) => promptAlone(query),
  errorBody: errorJson,
  wholeBody,
  startStream: undefined,
};

/** Reports usage in the fields of both Cohere and Jina. */
function wholeBody({ request, context, usage }: Answer): string {
  const { query, documents, top_n: most, return_documents: shown } = request.body.fields;
  const words = wordsOf(query);
  const results = (documents as readonly unknown[])
    .map((document, index) => ({
      index,
      relevance_score: scoreOf(words, document),
      ...(shown === true && { document: isObject(document) ? document : { text: document } }),
    }))
    .toSorted((a, b) => b.relevance_score - a.relevance_score)
    .slice(0, typeof most === 'number' ? most : undefined);
  const [{ calls = 1 } = {}] = request.hostTools;
  return JSON.stringify({
    id: context.id,
    model: request.model,
    results,
    ...(usage && {
      meta: { api_version: { version: '2' }, billed_units: { search_units: calls } },
      usage: { prompt_tokens: usage.input, total_tokens: usage.input },
    }),
  });
}

function scoreOf(words: ReadonlySet<string>, document: unknown): number {
  const own = wordsOf(isObject(document) ? Object.values(document).join(' ') : document);
  const found = [...words].filter((word) => own.has(word)).length;
  return words.size === 0 ? 0 : found / words.size;
}

function wordsOf(text: unknown): ReadonlySet<string> {
  return new Set(
    String(text)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu),
  );
}
