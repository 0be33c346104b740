/**
 * Embeddings have a waist of their own: texts, and vectors. Each of the two dialects is read in one place here and written
 * in one.
 */
import type { DialectName } from '../core/dialects.ts';
import { isObject } from '../core/json.ts';
import type { TokenUsage } from '../core/usage.ts';
import type { Fields, ModelRequest } from '../dialects/dialect.ts';
import { DIALECTS } from '../dialects/dialects.ts';
import { base64Of, numbersIn } from '../dialects/embeddings/vector.ts';
import { embeddingConfigOf, embeddingRequestsOf, isBatch, textsOf } from '../dialects/gemini/gemini-embeddings.ts';
import { Findings, saysNothing } from './findings.ts';
import type { TranslatedRequest } from './translation.ts';

/** What is to be embedded. */
interface Wanted {
  readonly texts: readonly string[];
  /** Undefined where the model decides. */
  readonly dimensions: unknown;
}

interface Answered {
  readonly vectors: readonly (readonly number[])[];
  readonly usage: TokenUsage | undefined;
}

interface EmbeddingFormat {
  /** Reads a valid request of a client. What cannot be said is in `findings`. */
  read(fields: Fields, findings: Findings): Wanted;
  /** The body for a host, but for `model`. */
  write(wanted: Wanted): Fields;
  /** The vectors of a valid answer. */
  readAnswer(answer: Fields): Answered['vectors'];
  /** The answer for a client that has asked so. */
  writeAnswer(answered: Answered, asked: ModelRequest): Fields;
}

const OPENAI: EmbeddingFormat = {
  read({ input, dimensions, ...others }, findings) {
    findings.expectOnly(new Set(['model', 'stream', 'user', 'encoding_format']), others, '');
    if (others.user !== undefined) findings.ignore('user');
    const inputs: readonly unknown[] = Array.isArray(input) ? input : [input];
    if (inputs.every((each) => typeof each === 'string')) return { texts: inputs, dimensions };
    findings.refuse('input', 'tokens are of another model than that of this provider; send texts');
    return { texts: [], dimensions };
  },
  write: ({ texts, dimensions }) => ({
    input: texts,
    ...(dimensions != null && { dimensions }),
    encoding_format: 'float',
  }),
  readAnswer: ({ data }) => inOrder(data).map(({ embedding }) => vectorOf(embedding)),
  writeAnswer: ({ vectors, usage }, { model, body }) => ({
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: body.fields.encoding_format === 'base64' ? base64Of(vector) : vector,
    })),
    model,
    ...(usage && { usage: { prompt_tokens: usage.promptTokens, total_tokens: usage.promptTokens } }),
  }),
};

/** What it is for makes other vectors of a text at Google's hosts, and elsewhere there is no such choice. */
const HINTS = ['taskType', 'title', 'autoTruncate'];
const OF_REQUEST = new Set(['model', 'stream', 'content', 'outputDimensionality', 'embedContentConfig', ...HINTS]);
const OF_CONFIG = new Set(['outputDimensionality', ...HINTS]);

const GOOGLE: EmbeddingFormat = {
  read(fields, findings) {
    if (isBatch(fields)) findings.expectOnly(new Set(['model', 'stream', 'requests']), fields, '');
    const wanted = embeddingRequestsOf(fields).map((request, index) => {
      const where = isBatch(fields) ? `requests[${index}]` : '';
      return readRequest(request, where, findings);
    });
    const [first] = wanted;
    if (wanted.some(({ dimensions }) => dimensions !== first?.dimensions)) {
      findings.refuse('outputDimensionality', 'expected the same in all requests: the host takes one for all');
    }
    return { texts: wanted.map(({ text }) => text), dimensions: first?.dimensions };
  },
  write: ({ texts, dimensions }) => ({
    requests: texts.map((text) => ({
      content: { parts: [{ text }] },
      ...(dimensions != null && { outputDimensionality: dimensions }),
    })),
  }),
  readAnswer: ({ embedding, embeddings = [embedding] }) => objectsIn(embeddings).map(({ values }) => vectorOf(values)),
  writeAnswer({ vectors, usage }, { body }) {
    const embeddings = vectors.map((values) => ({ values }));
    return {
      ...(isBatch(body.fields) ? { embeddings } : { embedding: embeddings[0] }),
      ...(usage && { usageMetadata: { promptTokenCount: usage.promptTokens, totalTokenCount: usage.promptTokens } }),
    };
  },
};

function readRequest(request: Fields, where: string, findings: Findings): { text: string; dimensions: unknown } {
  const config = embeddingConfigOf(request);
  findings.expectOnly(OF_REQUEST, request, where);
  findings.expectOnly(OF_CONFIG, config, where === '' ? 'embedContentConfig' : `${where}.embedContentConfig`);
  for (const hint of HINTS) {
    if (!saysNothing(request[hint]) || !saysNothing(config[hint])) findings.ignore(hint);
  }
  const [text = '', ...more] = textsOf(request);
  if (more.length > 0) {
    findings.refuse(
      where === '' ? 'content.parts' : `${where}.content.parts`,
      'expected one: the host embeds each text by itself',
    );
  }
  return { text, dimensions: request.outputDimensionality ?? config.outputDimensionality };
}

const FORMATS: Readonly<Partial<Record<DialectName, EmbeddingFormat>>> = {
  embeddings: OPENAI,
  gemini_embeddings: GOOGLE,
};

/** The dialect among those of a host in which a client of another one can have embeddings; undefined if there is none. */
export function embeddingHostOf(from: DialectName, dialects: readonly DialectName[]): DialectName | undefined {
  return FORMATS[from] && dialects.find((name) => FORMATS[name] !== undefined);
}

export function isOfEmbeddings(dialect: DialectName): boolean {
  return FORMATS[dialect] !== undefined;
}

/** Translates a valid request between the two dialects. */
export function translateEmbeddings(asked: ModelRequest, to: DialectName): TranslatedRequest {
  const client = FORMATS[asked.dialect.name] as EmbeddingFormat;
  const host = FORMATS[to] as EmbeddingFormat;
  const findings = new Findings();
  const wanted = client.read(asked.body.fields, findings);
  if (findings.problem !== undefined) return { ok: false, problem: findings.problem };
  return {
    ok: true,
    fields: { model: asked.body.fields.model, ...host.write(wanted) },
    ignored: findings.ignored,
    response: {
      answer(answer) {
        const { usage } = DIALECTS[to].readAnswer(answer);
        return client.writeAnswer({ vectors: host.readAnswer(answer), usage }, asked);
      },
      stream: () => {
        throw new Error('embeddings are not streamed');
      },
    },
  };
}

/** Hosts say for which text each vector is. */
function inOrder(data: unknown): readonly Fields[] {
  const place = ({ index }: Fields) => (typeof index === 'number' ? index : 0);
  return objectsIn(data).toSorted((a, b) => place(a) - place(b));
}

function objectsIn(list: unknown): readonly Fields[] {
  return Array.isArray(list) ? list.map((item) => (isObject(item) ? item : {})) : [];
}

/** Some hosts write base64 whatever is asked for. */
function vectorOf(value: unknown): readonly number[] {
  if (typeof value === 'string') return numbersIn(value);
  return Array.isArray(value) ? value : [];
}
