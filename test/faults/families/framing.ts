/** Responses with wrong framing, or that are not HTTP. */
import { chunk } from '../../support/answers.ts';
import { CONNECTION_LOST, cut, type Family, failed, fault, NOT_IN_TIME, NOT_THE_FORMAT, on, whole } from '../cell.ts';
import {
  ANSWER,
  answered,
  behind,
  CHUNKED,
  EVENTS,
  finishing,
  HELLO_EVENT,
  hangUp,
  inTurn,
  JSON_TYPE,
  lengthOf,
  midStream,
  raw,
  STREAM_TYPE,
  sending,
} from '../pieces.ts';

const broke = failed(CONNECTION_LOST);
const notTheFormat = failed(NOT_THE_FORMAT);
const TWICE = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${ANSWER.length}\r\n`;
const PAUSE_MS = 20;

/** Interim responses now and then, as long as the connection is open. */
const interimForEver = (call: Parameters<typeof hangUp>[0]) => {
  const timer = setInterval(() => call.raw('HTTP/1.1 102 Processing\r\n\r\n'), PAUSE_MS);
  void call.closed.finally(() => clearInterval(timer));
};

export const FRAMING: Family = {
  title: 'It lies about its length, or does not speak HTTP',
  about:
    'Charged as above: a response that cannot be read does not show how much work was done. One that a wrong length cuts short is judged by what is left of it.',
  faults: [
    fault(
      'gives neither a length nor chunks, and closes the connection at the end',
      on(inTurn(answered(JSON_TYPE, ANSWER), hangUp), whole()),
      on(inTurn(answered(STREAM_TYPE, EVENTS), hangUp), whole()),
    ),
    fault(
      'gives neither a length nor chunks, and closes the connection in the middle',
      on(inTurn(answered(JSON_TYPE, ANSWER.slice(0, 60)), hangUp), notTheFormat),
      on({ opening: answered(STREAM_TYPE, HELLO_EVENT), isRead: true, fault: hangUp }, cut(CONNECTION_LOST)),
    ),
    fault(
      'announces more bytes than it sends, and closes the connection',
      on(
        behind(answered({ ...JSON_TYPE, ...lengthOf(ANSWER, 10) }, ANSWER), hangUp),
        failed(CONNECTION_LOST, 'reported'),
      ),
      on(
        { opening: answered({ ...STREAM_TYPE, ...lengthOf(EVENTS) }, HELLO_EVENT), isRead: true, fault: hangUp },
        cut(CONNECTION_LOST),
      ),
    ),
    fault(
      'announces fewer bytes than it sends',
      on(answered({ ...JSON_TYPE, ...lengthOf(ANSWER, -10) }, ANSWER), notTheFormat),
      on(
        {
          opening: answered({ ...STREAM_TYPE, ...lengthOf(HELLO_EVENT, 20) }, HELLO_EVENT),
          isRead: true,
          fault: raw(chunk('', 'stop')),
        },
        cut(NOT_THE_FORMAT),
      ),
    ),
    fault(
      'gives both a length and chunks',
      on(inTurn(answered({ ...JSON_TYPE, ...CHUNKED, ...lengthOf(ANSWER) }, ''), sending(ANSWER)), broke),
      on(inTurn(answered({ ...STREAM_TYPE, ...CHUNKED, ...lengthOf(EVENTS) }, ''), sending(EVENTS)), broke),
    ),
    fault('gives two lengths that differ', on(raw(`${TWICE}content-length: 7\r\n\r\n${ANSWER}`), broke)),
    fault(
      'sends a chunk whose size is not a number',
      on(behind(answered({ ...JSON_TYPE, ...CHUNKED }, ''), raw('zz\r\n')), broke),
      on(midStream(raw('zz\r\n')), cut(CONNECTION_LOST)),
    ),
    fault('sends endless headers', on(raw(`HTTP/1.1 200 OK\r\nx-long: ${'x'.repeat(100_000)}`), broke)),
    fault('speaks another protocol', on(inTurn(raw('SSH-2.0-OpenSSH_9.2\r\n\r\n'), hangUp), broke)),
    fault(
      'switches protocols unasked',
      on(raw('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'), broke),
    ),
    fault('sends endless interim responses', on(interimForEver, failed(NOT_IN_TIME, 'held', 'first_byte'))),
    fault(
      'sends early hints before its response',
      on(
        inTurn(raw('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'), (call) => call.answer(200, ANSWER)),
        whole(),
      ),
      on(
        inTurn(
          raw('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'),
          (call) => call.stream(),
          sending(HELLO_EVENT),
          finishing,
        ),
        whole(),
      ),
    ),
    fault(
      'answers 204 No Content',
      on((call) => call.head(204, {}), notTheFormat),
    ),
  ],
};
