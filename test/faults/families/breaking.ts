/** Connections that are lost at every stage of a response. */
import { chunk, completion, DONE, usageChunk } from '../../support/answers.ts';
import { CONNECTION_LOST, cut, type Family, failed, fault, HELLO, on, whole } from '../cell.ts';
import {
  ANSWER,
  answered,
  behind,
  CHUNKED,
  EVENTS,
  finishing,
  HELLO_EVENT,
  hangUp,
  insideCharacter,
  inTurn,
  JSON_TYPE,
  lengthOf,
  midStream,
  raw,
  reset,
  SAID,
  STREAM_TYPE,
  sending,
  shortBy,
} from '../pieces.ts';

const broke = failed(CONNECTION_LOST);
const half = HELLO_EVENT.slice(0, 20);
const answerInChunks = inTurn(answered({ ...JSON_TYPE, ...CHUNKED }, ''), sending(ANSWER));

export const BREAKING: Family = {
  title: 'Its connection breaks',
  about:
    'The request was sent, so the provider may have worked on, and bills that. What did not begin to arrive as a stream is charged as held, unless the JSON that arrived is complete and reports usage. The output of a stream that has begun is counted, and the reasoning that is held for it is added. A stream counts as complete once its finish reason has arrived.',
  faults: [
    fault('resets the connection before its headers', on(reset, broke)),
    fault('closes the connection before its headers', on(hangUp, broke)),
    fault('resets the connection after its first byte', on(behind(raw('H'), reset), broke)),
    fault('closes the connection after its first byte', on(behind(raw('H'), hangUp), broke)),
    fault(
      'closes the connection in the middle of its headers',
      on(behind(raw('HTTP/1.1 200 OK\r\ncontent-ty'), hangUp), broke),
    ),
    fault(
      'resets the connection after its headers',
      on(behind(answered({ ...JSON_TYPE, ...lengthOf(ANSWER) }, ''), reset), broke),
      on(
        behind((call) => call.stream(), reset),
        broke,
      ),
    ),
    fault(
      'closes the connection after its headers',
      on(behind(answered({ ...JSON_TYPE, ...lengthOf(ANSWER) }, ''), hangUp), broke),
      on(
        behind((call) => call.stream(), hangUp),
        broke,
      ),
    ),
    fault(
      'resets the connection in the middle of a line',
      on(behind(shortBy(60), reset), broke),
      on(midStream(sending(half), reset), cut(CONNECTION_LOST)),
    ),
    fault(
      'closes the connection in the middle of a line',
      on(behind(shortBy(60), hangUp), broke),
      on(midStream(sending(half), hangUp), cut(CONNECTION_LOST)),
    ),
    fault(
      'closes the connection in the middle of a character',
      on(behind(answered({ ...JSON_TYPE, ...lengthOf(ANSWER) }, insideCharacter(ANSWER)), hangUp), broke),
      on(midStream(sending(insideCharacter(HELLO_EVENT)), hangUp), cut(CONNECTION_LOST)),
    ),
    fault(
      'closes the connection one byte before the end',
      on(behind(shortBy(1), hangUp), broke),
      on(
        behind(answered({ ...STREAM_TYPE, ...lengthOf(EVENTS) }, EVENTS.slice(0, HELLO_EVENT.length)), (call) => {
          call.raw(EVENTS.slice(HELLO_EVENT.length, -1));
          call.hangUp();
        }),
        whole(),
      ),
    ),
    fault(
      'closes the connection before the last chunk of the transfer encoding',
      on(behind(answerInChunks, hangUp), failed(CONNECTION_LOST, 'reported')),
      on(midStream(sending(chunk('', 'stop') + usageChunk() + DONE), hangUp), whole()),
    ),
    fault(
      'closes the connection after its finish reason',
      on(behind(answerInChunks, hangUp), failed(CONNECTION_LOST, 'reported')),
      on(midStream(sending(chunk('', 'stop')), hangUp), whole('counted')),
    ),
    fault(
      'ends cleanly before any finish reason',
      on((call) => call.answer(200, completion(HELLO, { choices: [{ message: { content: HELLO } }] })), whole()),
      on(
        midStream((call) => call.end()),
        cut(CONNECTION_LOST),
      ),
    ),
    fault(
      'ends cleanly, but leaves out usage and `[DONE]`',
      on((call) => call.answer(200, completion(HELLO, { usage: undefined })), whole('counted')),
      on(
        midStream(sending(chunk('', 'stop')), (call) => call.end()),
        whole('counted'),
      ),
    ),
    fault(
      'closes the connection in the middle of an error response',
      on(behind(shortBy(30, JSON.stringify(SAID), 500), hangUp), broke),
    ),
    fault(
      'closes the connection after a complete response',
      on((call) => call.answer(200, ANSWER, { connection: 'close' }), whole()),
      on(midStream(finishing, hangUp), whole()),
    ),
  ],
};
