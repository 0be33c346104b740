/** Connections that break off at every stage of an answer. */
import { chunk, completion, DONE, usageChunk } from '../../support/answers.ts';
import { BROKE_OFF, cut, type Family, failed, fault, HELLO, on, whole } from '../cell.ts';
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

const broke = failed(BROKE_OFF);
const half = HELLO_EVENT.slice(0, 20);
const answerInChunks = inTurn(answered({ ...JSON_TYPE, ...CHUNKED }, ''), sending(ANSWER));

export const BREAKING: Family = {
  title: 'Its connection breaks off',
  about:
    'The request was sent, so that the provider may have worked: it is charged by what came, for its input and one token at least. A stream counts as complete once its finish reason is there.',
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
      'resets the connection behind its headers',
      on(behind(answered({ ...JSON_TYPE, ...lengthOf(ANSWER) }, ''), reset), broke),
      on(
        behind((call) => call.stream(), reset),
        broke,
      ),
    ),
    fault(
      'closes the connection behind its headers',
      on(behind(answered({ ...JSON_TYPE, ...lengthOf(ANSWER) }, ''), hangUp), broke),
      on(
        behind((call) => call.stream(), hangUp),
        broke,
      ),
    ),
    fault(
      'resets the connection in the middle of a line',
      on(behind(shortBy(60), reset), broke),
      on(midStream(sending(half), reset), cut(BROKE_OFF)),
    ),
    fault(
      'closes the connection in the middle of a line',
      on(behind(shortBy(60), hangUp), broke),
      on(midStream(sending(half), hangUp), cut(BROKE_OFF)),
    ),
    fault(
      'closes the connection in the middle of a character',
      on(behind(answered({ ...JSON_TYPE, ...lengthOf(ANSWER) }, insideCharacter(ANSWER)), hangUp), broke),
      on(midStream(sending(insideCharacter(HELLO_EVENT)), hangUp), cut(BROKE_OFF)),
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
      'sends all but the last chunk of the transfer, and closes the connection',
      on(behind(answerInChunks, hangUp), broke),
      on(midStream(sending(chunk('', 'stop') + usageChunk() + DONE), hangUp), whole()),
    ),
    fault(
      'closes the connection behind its finish reason',
      on(behind(answerInChunks, hangUp), broke),
      on(midStream(sending(chunk('', 'stop')), hangUp), whole('counted')),
    ),
    fault(
      'ends in order before any finish reason',
      on((call) => call.answer(200, completion(HELLO, { choices: [{ message: { content: HELLO } }] })), whole()),
      on(
        midStream((call) => call.end()),
        cut(BROKE_OFF),
      ),
    ),
    fault(
      'ends in order, but leaves out usage and the end of the stream',
      on((call) => call.answer(200, completion(HELLO, { usage: undefined })), whole('counted')),
      on(
        midStream(sending(chunk('', 'stop')), (call) => call.end()),
        whole('counted'),
      ),
    ),
    fault(
      'closes the connection in the middle of an error answer',
      on(behind(shortBy(30, JSON.stringify(SAID), 500), hangUp), broke),
    ),
    fault(
      'closes the connection behind a complete answer',
      on((call) => call.answer(200, ANSWER, { connection: 'close' }), whole()),
      on(midStream(finishing, hangUp), whole()),
    ),
  ],
};
