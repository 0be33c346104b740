/** Converse, as hosts of Amazon Bedrock speak it: `POST /model/{model}/converse`, and `/converse-stream`. Clients do not. */
import { type ClientError, errorBody } from '../../core/errors.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { dataEvent, MAX_EVENT_BYTES, type SseEvent } from '../../wire/sse.ts';
import { isErrorValue } from '../../wire/upstream-error.ts';
import { type AnswerFacts, NO_FACTS, NO_OUTPUT, type Output } from '../answer.ts';
import type { Dialect, Fields, Judgement, ModelRequest, StreamReader, UpstreamFields } from '../dialect.ts';
import { errorFacts } from '../error-facts.ts';
import { BlockReader, readConverse, readUsage, tierOf } from './converse-answer.ts';
import { checkConverse } from './converse-check.ts';
import { walkConverse } from './converse-input.ts';

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

/** The body for a host, which reads model and stream in the path. A translation has written it. */
function edit({ body: { fields } }: ModelRequest, { cap }: UpstreamFields): string {
  const { model: _, stream: __, inferenceConfig, ...others } = fields;
  const config = { ...(cap && { [cap.field]: cap.tokens }), ...(isObject(inferenceConfig) && inferenceConfig) };
  return JSON.stringify({ ...others, ...(Object.keys(config).length > 0 && { inferenceConfig: config }) });
}

/** Events are objects with one member, which names them: `{contentBlockDelta: …}`. The last has the usage. */
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
    return { ...NO_FACTS, usage: readUsage(metadata.usage), hasUsage: true, serviceTier: tierOf(metadata) };
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
  return output.written.length === 0 && output.unseenTokens === 0 ? NO_FACTS : progressOf(output, false);
}
