/** The Converse dialect of Amazon Bedrock: `POST /model/{model}/converse` and `/converse-stream`. Only hosts use it. */
import { type ClientError, errorBody } from '../../core/errors.ts';
import { isObject, objectOf, objectsIn, parseJson } from '../../core/json.ts';
import type { JsonBody } from '../../wire/body.ts';
import { dataEvent, MAX_EVENT_BYTES, type SseEvent } from '../../wire/sse.ts';
import { isErrorValue } from '../../wire/upstream-error.ts';
import { type AnswerFacts, countOf, isOutput, NO_FACTS, NO_OUTPUT, type Output } from '../answer.ts';
import { type Reading, readData } from '../attachments.ts';
import { longestLifetime } from '../cache-lifetime.ts';
import type {
  Checked,
  Dialect,
  Fields,
  InputVisitor,
  Judgement,
  ModelRequest,
  StreamReader,
  UpstreamFields,
} from '../dialect.ts';
import { errorFacts } from '../error-facts.ts';
import { type FieldKinds, walkFields, walkMessage } from '../input.ts';
import { textRequest } from '../text-request.ts';
import { hiddenThinkingOfMessages } from '../thinking.ts';
import { BlockReader, readConverse, tierOf, usageFacts } from './converse-answer.ts';

export const CONVERSE: Dialect = {
  name: 'converse',
  title: 'Converse',
  path: '/model',
  pathFor: ({ stream }, model) => `/model/${encodeURIComponent(model)}/${stream ? 'converse-stream' : 'converse'}`,
  headers: [],
  // Within `inferenceConfig`: see `edit`.
  maximumField: 'maxTokens',
  maxEventBytes: MAX_EVENT_BYTES,
  answerFields: new Set(
    'output stopReason usage metrics messageStart contentBlockStart contentBlockDelta contentBlockStop messageStop metadata'.split(
      ' ',
    ),
  ),
  check: (body, model) => checkConverse(CONVERSE, body, model),
  walkInput: walkConverse,
  edit,
  readAnswer: readConverse,
  startStream: () => new ConverseStream(),
  errorBody,
};

/** Returns the body for a host, which takes model and stream from the path. A translation created the request. */
function edit({ body: { fields } }: ModelRequest, { cap }: UpstreamFields): string {
  const { model: _, stream: __, inferenceConfig, ...others } = fields;
  const config = { ...(cap && { [cap.field]: cap.tokens }), ...(isObject(inferenceConfig) && inferenceConfig) };
  return JSON.stringify({ ...others, ...(Object.keys(config).length > 0 && { inferenceConfig: config }) });
}

/** Reads events of one member, which names them: `{contentBlockDelta: …}`. The last event has the usage. */
class ConverseStream implements StreamReader {
  readonly #blocks = new BlockReader();
  #hasFinished = false;

  judge({ data = '', name }: SseEvent): Judgement {
    const value = parseJson(data)?.value;
    if (name === 'error' || isErrorValue(value)) {
      return { kind: 'error', value: value ?? data, facts: errorFacts(value, readConverse) };
    }
    if (!isObject(value)) return { kind: 'invalid' };
    const facts = this.#factsOf(value);
    const isLast = this.#hasFinished && isObject(value.metadata);
    return isLast ? { kind: 'end', value, facts } : { kind: 'part', value, facts, isHidden: false };
  }

  #factsOf({
    messageStart,
    contentBlockStart: start,
    contentBlockDelta: delta,
    messageStop,
    metadata,
  }: Fields): AnswerFacts {
    if (isObject(messageStart)) return progressOf(NO_OUTPUT, false);
    if (isObject(start)) return written(this.#blocks.begin(start.start));
    if (isObject(delta)) return written(this.#blocks.add(delta.delta));
    if (isObject(messageStop) && typeof messageStop.stopReason === 'string') {
      this.#hasFinished = true;
      return progressOf(NO_OUTPUT, true);
    }
    if (!isObject(metadata) || !isObject(metadata.usage)) return NO_FACTS;
    return { ...NO_FACTS, ...usageFacts(metadata.usage), serviceTier: tierOf(metadata) };
  }

  failure(error: ClientError): string {
    return dataEvent(errorBody(error));
  }

  completion(): string {
    return '';
  }
}

function progressOf(output: Output, finished: boolean): AnswerFacts {
  return { ...NO_FACTS, progress: [{ index: 0, finished, ...output }] };
}

function written(output: Output): AnswerFacts {
  return isOutput(output) ? progressOf(output, false) : NO_FACTS;
}

function checkConverse(dialect: Dialect, body: JsonBody, model: string): Checked {
  const { fields } = body;
  const maximum = countOf(objectOf(fields.inferenceConfig).maxTokens);
  const { type: tier } = objectOf(fields.serviceTier);
  const { thinking } = objectOf(fields.additionalModelRequestFields);
  return {
    ok: true,
    request: textRequest(dialect, body, model, maximum, {
      serviceTier: typeof tier === 'string' ? tier : undefined,
      hiddenThinking: hiddenThinkingOfMessages({ thinking, output_config: fields.outputConfig }),
      cacheWrite: longestLifetime(fields, ['cachepoint'], '5m'),
      hostTools: [],
    }),
  };
}

const FIELDS: FieldKinds = {
  settings: new Set(['model', 'stream', 'inferenceConfig', 'serviceTier', 'additionalModelRequestFields']),
  unnamed: new Set(['toolConfig', 'outputConfig']),
  walked: new Set(['messages', 'system']),
};

function walkConverse({ body: { fields } }: ModelRequest, visit: InputVisitor): number {
  walkFields(fields, FIELDS, visit);
  const system = fields.system === undefined ? [] : [{ content: fields.system }];
  const messages = objectsIn(fields.messages);
  return [...system, ...messages].reduce((tokens, message) => tokens + walkMessage(message, readObject, visit), 0);
}

/** The input of a tool call counts as text, whatever it contains. */
function readObject(name: string, value: Fields): Reading | undefined {
  switch (name) {
    case 'image':
      return readSource(value, 'image', `image/${value.format}`);
    case 'document':
      return readSource(value, 'file', value.format === 'pdf' ? 'application/pdf' : undefined);
    case 'toolUse':
      return { attachments: [], texts: [JSON.stringify(value.input ?? {})], others: { name: value.name } };
    default:
      return undefined;
  }
}

function readSource(value: Fields, expected: 'image' | 'file', mediaType: string | undefined): Reading | undefined {
  if (!isObject(value.source)) return undefined;
  const { source, ...others } = value;
  const reading = readData({ holder: value.source, field: 'bytes' }, expected, mediaType);
  return { ...reading, others };
}
