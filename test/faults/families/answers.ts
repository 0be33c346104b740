/** Responses with status 200 that are not what was requested, or are disproportionate. */
import { gzipSync } from 'node:zlib';
import { answering, chunk, completion, DONE, event } from '../../support/answers.ts';
import type { Script } from '../../support/fake-upstream.ts';
import {
  CONNECTION_LOST,
  cut,
  type Family,
  failed,
  fault,
  HELLO,
  NOT_THE_FORMAT,
  on,
  streamFault,
  whole,
} from '../cell.ts';
import {
  ANSWER,
  answered,
  EVENTS,
  events,
  finishing,
  inTurn,
  JSON_TYPE,
  lengthOf,
  midStream,
  STREAM_TYPE,
  sending,
} from '../pieces.ts';

const notTheFormat = failed(NOT_THE_FORMAT);
const PAGE = '<!doctype html><html><body>Welcome to nginx!</body></html>';
const GZIP = { 'content-encoding': 'gzip' };
const LONG_BYTES = 10 * 1024 * 1024;
const MIB = 1024 * 1024;

const inOrder: Script = (call) => call.end();
const page = on(answering(PAGE, 200, { 'content-type': 'text/html' }), notTheFormat);

/** A gibibyte of zeros as 1 MB: a gzip stream may have several members in a row. */
function bomb(): Buffer {
  return Buffer.concat(
    Array.from(
      { length: 1024 },
      (
        (member) => () =>
          member
      )(gzipSync(Buffer.alloc(MIB))),
    ),
  );
}

const longAnswer: Script = (call) => call.answer(200, completion('x'.repeat(LONG_BYTES)));
const longEvent: Script = (call) => call.send(chunk('x'.repeat(LONG_BYTES)));
const compressed = (type: Record<string, string>, body: () => Buffer, headers: Record<string, string>): Script => {
  return (call) => {
    const bytes = body();
    answered({ ...type, ...lengthOf(bytes), ...headers }, bytes)(call);
  };
};

export const ANSWERS: Family = {
  title: 'It answers with something else',
  about:
    'The response may be the product of work, and does not show how much: it is charged as held, and a stream by its output. A compressed response is not unpacked: the gateway did not ask for compression, and it could be a decompression bomb.',
  faults: [
    fault('answers with a web page', page),
    fault(
      'sends truncated JSON',
      on(answering(ANSWER.slice(0, -10)), notTheFormat),
      on(midStream(sending('data: {"choices":[\n\n'), inOrder), cut(NOT_THE_FORMAT)),
    ),
    streamFault('sends a first event that is not JSON', on(events('oops'), notTheFormat)),
    fault(
      'sends a list where an object should be',
      on(answering([completion(HELLO)]), notTheFormat),
      on(midStream(sending(event([1])), inOrder), cut(NOT_THE_FORMAT)),
    ),
    fault(
      'sends an empty response',
      on(answering(''), notTheFormat),
      on(
        inTurn((call) => call.stream(), inOrder),
        failed(CONNECTION_LOST),
      ),
    ),
    fault(
      'sends no choices',
      on(answering({ id: 'chatcmpl-1', object: 'chat.completion' }), notTheFormat),
      on(events({ id: 'chatcmpl-1', object: 'chat.completion.chunk' }), cut(CONNECTION_LOST)),
    ),
    streamFault(
      'sends only `[DONE]`',
      on(
        inTurn((call) => call.stream(), sending(DONE), inOrder),
        whole('counted'),
      ),
    ),
    fault(
      'sends a stream when asked for JSON, and JSON when asked for a stream',
      on(answered({ ...STREAM_TYPE, ...lengthOf(EVENTS) }, EVENTS), failed(NOT_THE_FORMAT, 'reported')),
      on(answering(ANSWER), failed(NOT_THE_FORMAT, 'reported')),
    ),
    fault(
      'compresses its response',
      on(
        compressed(JSON_TYPE, () => gzipSync(ANSWER), GZIP),
        notTheFormat,
      ),
      on(
        compressed(STREAM_TYPE, () => gzipSync(EVENTS), GZIP),
        notTheFormat,
      ),
    ),
    fault(
      'sends 1 GB, compressed to 1 MB',
      on(compressed(JSON_TYPE, bomb, GZIP), notTheFormat),
      on(compressed(STREAM_TYPE, bomb, GZIP), notTheFormat),
    ),
    fault(
      'compresses its response without saying so',
      on(
        compressed(JSON_TYPE, () => gzipSync(ANSWER), {}),
        notTheFormat,
      ),
      on(
        compressed(STREAM_TYPE, () => gzipSync(EVENTS), {}),
        failed(CONNECTION_LOST),
      ),
    ),
    fault(
      'sends 10 MB in one line',
      on(longAnswer, whole('reported', 'after its answer', LONG_BYTES)),
      on(midStream(longEvent, finishing), whole('reported', 'after its answer', LONG_BYTES)),
    ),
  ],
};
