/** The mock's embeddings dialect. */
import { createHash } from 'node:crypto';
import type { Fields } from '../../dialects/dialect.ts';
import { base64Of } from '../../dialects/embeddings/vector.ts';
import { type Answer, errorJson, type MockDialect } from './answer.ts';
import { promptAlone, type Reading } from './reading.ts';

export const EMBEDDINGS_MOCK: MockDialect = {
  idPrefix: 'emb-',
  read,
  errorBody: errorJson,
  wholeBody,
  startStream: undefined,
};

const DEFAULT_DIMENSIONS = 8;
/** Maximum numbers in all vectors of a response, which is built in memory: about 20 MB of JSON. */
const MAX_NUMBERS = 1_000_000;
const BYTES_PER_NUMBER = 4;

function read(fields: Fields): Reading {
  const problem = problemWith(fields);
  return { ...promptAlone(fields.input), ...(problem !== undefined && { problem }) };
}

function problemWith(fields: Fields): string | undefined {
  const dimensions = dimensionsIn(fields);
  if (typeof dimensions !== 'number' || !Number.isInteger(dimensions) || dimensions < 1)
    return 'dimensions: expected a whole number of at least 1';
  const numbers = dimensions * inputsOf(fields).length;
  if (numbers > MAX_NUMBERS)
    return `dimensions: expected at most ${MAX_NUMBERS} numbers in all vectors of an answer, not ${numbers}`;
  const { encoding_format: format } = fields;
  const isKnown = (format ?? undefined) === undefined || format === 'float' || format === 'base64';
  return isKnown ? undefined : 'encoding_format: expected float or base64';
}

function dimensionsIn({ dimensions }: Fields): unknown {
  return dimensions ?? DEFAULT_DIMENSIONS;
}

/** Splits the input: a text, an array of texts, an array of tokens, or an array of token arrays. */
function inputsOf({ input }: Fields): readonly unknown[] {
  const isList = Array.isArray(input) && typeof input[0] !== 'number';
  return isList ? input : [input];
}

function wholeBody({ request, usage }: Answer): string {
  const { fields } = request.body;
  const data = inputsOf(fields).map((input, index) => {
    const vector = vectorFor(input, dimensionsIn(fields) as number);
    const embedding = fields.encoding_format === 'base64' ? base64Of(vector) : [...vector];
    return { object: 'embedding', index, embedding };
  });
  return JSON.stringify({
    object: 'list',
    data,
    model: request.model,
    ...(usage && { usage: { prompt_tokens: usage.input, total_tokens: usage.input } }),
  });
}

/** Returns a unit vector derived from a hash, so that equal inputs get equal vectors. */
function vectorFor(input: unknown, dimensions: number): Float32Array {
  const bytes = createHash('shake256', { outputLength: dimensions * BYTES_PER_NUMBER })
    .update(JSON.stringify(input) ?? '')
    .digest();
  const numbers = Array.from({ length: dimensions }, (_, at) => bytes.readInt32LE(at * BYTES_PER_NUMBER));
  const length = Math.sqrt(numbers.reduce((sum, number) => sum + number * number, 0));
  return Float32Array.from(numbers, (number) => number / length);
}
