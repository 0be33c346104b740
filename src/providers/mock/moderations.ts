/** The mock's moderations dialect. It flags no input. */
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

/** OpenAI's category names. */
const CATEGORIES = [
  ...['harassment', 'harassment/threatening', 'hate', 'hate/threatening', 'illicit', 'illicit/violent'],
  ...['self-harm', 'self-harm/instructions', 'self-harm/intent', 'sexual', 'sexual/minors'],
  ...['violence', 'violence/graphic'],
];

function wholeBody({ request, context }: Answer): string {
  const { input } = request.body.fields;
  // The parts of one multimodal input get a single result.
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
