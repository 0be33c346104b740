/** The mock provider's requests and answers in the moderations dialect: it flags nothing. */
import { isObject } from '../../core/json.ts';
import { type Answer, errorJson, type MockDialect } from './answer.ts';
import { promptAlone } from './reading.ts';

export const MODERATIONS_MOCK: MockDialect = {
  idPrefix: 'modr-',
  read: ({ input }) => promptAlone(input),
  errorBody: errorJson,
  wholeBody,
  startStream: undefined,
};

/** As OpenAI names them. */
const CATEGORIES = [
  ...['harassment', 'harassment/threatening', 'hate', 'hate/threatening', 'illicit', 'illicit/violent'],
  ...['self-harm', 'self-harm/instructions', 'self-harm/intent', 'sexual', 'sexual/minors'],
  ...['violence', 'violence/graphic'],
];

function wholeBody({ request, context }: Answer): string {
  const { input } = request.body.fields;
  // Parts are judged together.
  const inputs = Array.isArray(input) && !input.some(isObject) ? input.length : 1;
  return JSON.stringify({
    id: context.id,
    model: request.model,
    results: Array.from({ length: inputs }, () => ({
      flagged: false,
      categories: ofEach(false),
      category_scores: ofEach(0),
      category_applied_input_types: ofEach(['text']),
    })),
  });
}

function ofEach<Value>(value: Value): Record<string, Value> {
  return Object.fromEntries(CATEGORIES.map((category) => [category, value]));
}
