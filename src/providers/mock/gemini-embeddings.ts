/** The mock provider's requests and answers in Google's dialect of embeddings. */
import type { Fields } from '../../dialects/dialect.ts';
import { embeddingConfigOf, embeddingRequestsOf, isBatch, textsOf } from '../../dialects/gemini/gemini-embeddings.ts';
import type { Answer, MockDialect } from './answer.ts';
import { dimensionsProblem, vectorFor } from './embeddings.ts';
import { GEMINI_MOCK } from './gemini.ts';
import { promptAlone, type Reading } from './reading.ts';

export const GEMINI_EMBEDDINGS_MOCK: MockDialect = { ...GEMINI_MOCK, read, wholeBody, startStream: undefined };

function read(fields: Fields): Reading {
  const requests = embeddingRequestsOf(fields);
  const problem = dimensionsProblem('outputDimensionality', requests.map(dimensionsOf));
  return { ...promptAlone(requests.flatMap(textsOf)), ...(problem !== undefined && { problem }) };
}

function dimensionsOf(request: Fields): unknown {
  return request.outputDimensionality ?? embeddingConfigOf(request).outputDimensionality;
}

function wholeBody({ request, usage }: Answer): string {
  const { fields } = request.body;
  const embeddings = embeddingRequestsOf(fields).map((each) => ({
    values: [...vectorFor(textsOf(each).join(''), dimensionsOf(each))],
  }));
  return JSON.stringify({
    ...(isBatch(fields) ? { embeddings } : { embedding: embeddings[0] }),
    ...(usage && { usageMetadata: { promptTokenCount: usage.input, totalTokenCount: usage.input } }),
  });
}
