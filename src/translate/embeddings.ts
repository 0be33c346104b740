/**
 * Translates embeddings. Their neutral form is texts and vectors, with one reader per client dialect and one writer per host
 * dialect.
 */
import type { DialectName } from '../core/dialects.ts';
import { isObject, objectOf } from '../core/json.ts';
import { counted } from '../core/plural.ts';
import type { TokenUsage } from '../core/usage.ts';
import { isEmbeddedAlone } from '../core/vertex.ts';
import type { Fields, ModelRequest } from '../dialects/dialect.ts';
import { DIALECTS } from '../dialects/dialects.ts';
import { base64Of, numbersIn } from '../dialects/embeddings/vector.ts';
import { embeddingConfigOf, embeddingRequestsOf, isBatch, textsOf } from '../dialects/gemini/gemini-embeddings.ts';
import { Findings, isEmptyValue, present } from './findings.ts';
import type { HostTerms, TranslatedRequest } from './translation.ts';

/** A request for embeddings in neutral form. */
interface Wanted {
  readonly texts: readonly WantedText[];
  /** The client's field with the texts. */
  readonly field: string;
  /** Undefined for the model's default. */
  readonly dimensions: unknown;
}

/** A text with hints that influence its vector on Google's hosts. Other hosts have no such hints. */
interface WantedText {
  readonly text: string;
  readonly taskType?: unknown;
  readonly title?: unknown;
  readonly autoTruncate?: unknown;
}

interface Answered {
  readonly vectors: readonly (readonly number[])[];
  readonly usage: TokenUsage | undefined;
}

interface EmbeddingClient {
  /** Reads a valid request. Untranslatable fields are added to `findings`. */
  read(fields: Fields, findings: Findings): Wanted;
  /** Writes the answer to a client's request. */
  writeAnswer(answered: Answered, asked: ModelRequest): Fields;
}

interface EmbeddingHost {
  /** Writes the body without `model`. Untranslatable fields are added to `findings`. */
  write(wanted: Wanted, findings: Findings, terms: HostTerms): Fields;
  /** Returns the vectors of a valid answer. */
  readAnswer(answer: Fields): Answered['vectors'];
}

const OPENAI: EmbeddingClient & EmbeddingHost = {
  read({ input, dimensions, ...others }, findings) {
    findings.expectOnly(new Set(['model', 'stream', 'user', 'encoding_format']), others, '');
    if (others.user !== undefined) findings.ignore('user');
    const inputs: readonly unknown[] = Array.isArray(input) ? input : [input];
    const texts = inputs.filter((each) => typeof each === 'string').map((text) => ({ text }));
    if (texts.length < inputs.length) {
      findings.refuse('input', 'tokens are of another model than that of this provider; send texts');
    }
    return { texts, field: 'input', dimensions };
  },
  write({ texts, dimensions }, findings) {
    for (const hint of HINTS) if (!texts.every((each) => isEmptyValue(each[hint]))) findings.ignore(hint);
    return {
      input: texts.map(({ text }) => text),
      ...(dimensions != null && { dimensions }),
      encoding_format: 'float',
    };
  },
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

const HINTS = ['taskType', 'title', 'autoTruncate'] as const;
const OF_REQUEST = new Set(['model', 'stream', 'content', 'outputDimensionality', 'embedContentConfig', ...HINTS]);
const OF_CONFIG = new Set(['outputDimensionality', ...HINTS]);

const GOOGLE: EmbeddingClient & EmbeddingHost = {
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
    return { texts: wanted, field: 'requests', dimensions: first?.dimensions };
  },
  write: ({ texts, dimensions }) => ({
    requests: texts.map(({ text }) => ({
      content: { parts: [{ text }] },
      ...(dimensions != null && { outputDimensionality: dimensions }),
    })),
  }),
  readAnswer: ({ embedding, embeddings = [embedding] }) => entriesIn(embeddings).map(({ values }) => vectorOf(values)),
  writeAnswer({ vectors, usage }, { body }) {
    const embeddings = vectors.map((values) => ({ values }));
    return {
      ...(isBatch(body.fields) ? { embeddings } : { embedding: embeddings[0] }),
      ...(usage && { usageMetadata: { promptTokenCount: usage.promptTokens, totalTokenCount: usage.promptTokens } }),
    };
  },
};

function readRequest(request: Fields, where: string, findings: Findings): WantedText & Pick<Wanted, 'dimensions'> {
  const config = embeddingConfigOf(request);
  findings.expectOnly(OF_REQUEST, request, where);
  findings.expectOnly(OF_CONFIG, config, where === '' ? 'embedContentConfig' : `${where}.embedContentConfig`);
  const [text = '', ...more] = textsOf(request);
  if (more.length > 0) {
    findings.refuse(
      where === '' ? 'content.parts' : `${where}.content.parts`,
      'expected one: the host embeds each text by itself',
    );
  }
  const { taskType, title, autoTruncate, outputDimensionality }: Fields = { ...present(config), ...present(request) };
  return { text, taskType, title, autoTruncate, dimensions: outputDimensionality };
}

/** Vertex AI. With several texts per request, it uses different names for the hints. */
const VERTEX: EmbeddingHost = {
  write({ texts, field, dimensions }, findings, { upstream = '' }) {
    const [first = { text: '' }] = texts;
    if (texts.some(({ autoTruncate }) => autoTruncate !== first.autoTruncate)) {
      findings.refuse('autoTruncate', 'expected the same in all requests: the host takes one for all');
    }
    const settings = present({ outputDimensionality: dimensions, autoTruncate: first.autoTruncate });
    if (!isEmbeddedAlone(upstream)) {
      const instances = texts.map(({ text, taskType, title }) =>
        present({ content: text, task_type: taskType, title }),
      );
      return { instances, parameters: settings };
    }
    if (texts.length > 1)
      findings.refuse(field, 'expected one text: the host embeds one with each request to this model');
    const { text, taskType, title } = first;
    return {
      content: { role: 'user', parts: [{ text }] },
      embedContentConfig: present({ taskType, title, ...settings }),
    };
  },
  readAnswer: ({ predictions, embedding }) =>
    predictions === undefined
      ? GOOGLE.readAnswer({ embedding })
      : entriesIn(predictions).map(({ embeddings }) => vectorOf(isObject(embeddings) ? embeddings.values : undefined)),
};

type Among<Format> = Readonly<Partial<Record<DialectName, Format>>>;

const CLIENTS: Among<EmbeddingClient> = { embeddings: OPENAI, gemini_embeddings: GOOGLE };
const HOSTS: Among<EmbeddingHost> = { embeddings: OPENAI, gemini_embeddings: GOOGLE, vertex_embeddings: VERTEX };

/** Returns the host's dialect for embeddings of a client of another dialect; undefined if it has none. */
export function embeddingHostOf(from: DialectName, dialects: readonly DialectName[]): DialectName | undefined {
  return CLIENTS[from] && dialects.find((name) => HOSTS[name] !== undefined);
}

export function isOfEmbeddings(dialect: DialectName): boolean {
  return HOSTS[dialect] !== undefined;
}

/** Translates a valid request. */
export function translateEmbeddings(asked: ModelRequest, to: DialectName, terms: HostTerms): TranslatedRequest {
  const client = CLIENTS[asked.dialect.name] as EmbeddingClient;
  const host = HOSTS[to] as EmbeddingHost;
  const findings = new Findings();
  const wanted = client.read(asked.body.fields, findings);
  const fields = { model: asked.body.fields.model, ...host.write(wanted, findings, terms) };
  if (findings.problem !== undefined) return { ok: false, problem: findings.problem };
  return {
    ok: true,
    fields,
    ignored: findings.ignored,
    response: {
      answer(answer) {
        const { usage } = DIALECTS[to].readAnswer(answer);
        return client.writeAnswer({ vectors: host.readAnswer(answer), usage }, asked);
      },
      mismatch: (answer) => mismatchOf(host.readAnswer(answer), wanted.texts.length),
      stream: () => {
        throw new Error('embeddings are not streamed');
      },
    },
  };
}

/** Reports a wrong number of vectors: they could not be assigned to the texts. */
function mismatchOf(vectors: Answered['vectors'], texts: number): string | undefined {
  const count = vectors.length > texts ? vectors.length : vectors.filter(({ length }) => length > 0).length;
  if (count === texts) return undefined;
  return `${counted(count, 'vector')} for ${counted(texts, 'text')}`;
}

/** Sorts vectors by their index. */
function inOrder(data: unknown): readonly Fields[] {
  const place = ({ index }: Fields) => (typeof index === 'number' ? index : 0);
  return entriesIn(data).toSorted((a, b) => place(a) - place(b));
}

/** Keeps positions: an entry that is not an object becomes an empty one. */
function entriesIn(list: unknown): readonly Fields[] {
  return Array.isArray(list) ? list.map((item) => objectOf(item)) : [];
}

/** Parses a vector. Some hosts send base64 regardless of the request. Returns an empty vector for an invalid value. */
function vectorOf(value: unknown): readonly number[] {
  const numbers: unknown = typeof value === 'string' ? numbersIn(value) : value;
  return Array.isArray(numbers) && numbers.every(Number.isFinite) ? numbers : [];
}
