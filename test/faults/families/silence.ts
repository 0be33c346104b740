/** Hosts that stall, and hosts that are slow. */
import { setTimeout as pause } from 'node:timers/promises';
import { chunk, DONE, usageChunk } from '../../support/answers.ts';
import type { Script } from '../../support/fake-upstream.ts';
import {
  cut,
  type Family,
  failed,
  fault,
  NO_PROGRESS,
  NOT_IN_TIME,
  on,
  STOPPED_SENDING,
  streamFault,
  whole,
} from '../cell.ts';
import {
  ANSWER,
  answered,
  behind,
  CHUNKED,
  EVENTS,
  HELLO_EVENT,
  inTurn,
  JSON_TYPE,
  lengthOf,
  midStream,
  raw,
  SAID,
  STREAM_TYPE,
  sending,
  shortBy,
  silence,
} from '../pieces.ts';

const late = failed(NOT_IN_TIME, 'held', 'first_byte');
const stalled = failed(STOPPED_SENDING, 'held', 'idle');

/**
 * The pieces of a slow response and the pause between them: together longer than the idle timeout,
 * each much shorter.
 */
const PIECES = 12;
const BETWEEN_MS = 200;

/** Sends these bytes slowly. */
function drip(text: string): Script {
  return async (call) => {
    const bytes = Buffer.from(text);
    const size = Math.ceil(bytes.length / PIECES);
    for (let at = 0; at < bytes.length; at += size) {
      await pause(BETWEEN_MS);
      call.raw(bytes.subarray(at, at + size));
    }
  };
}

/** Sends the same again and again for as long as the connection is open. */
function endless(text: string): Script {
  const bytes = Buffer.from(text.repeat(1_000));
  return async (call) => {
    while (await call.pour(bytes)) {}
  };
}

const EMPTY = 'data: {"choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}\n\n';

const jsonHead = (text: string) => answered({ ...JSON_TYPE, ...lengthOf(text) }, '');
const streamHead = (text: string) => answered({ ...STREAM_TYPE, ...lengthOf(text) }, '');
const BLANKS = `${'\n'.repeat(PIECES * 4)}${ANSWER}`;
const COMMENTS = ': keep-alive\n\n'.repeat(PIECES);
/** All but the first event: a report may come no more than 2 s after a finish reason, however busy the machine is. */
const REST = EVENTS.slice(HELLO_EVENT.length);
const dripping = (slowly: string) => behind(streamHead(slowly + REST), inTurn(drip(slowly), raw(REST)));

export const SILENCE: Family = {
  title: 'It stalls, or is slow',
  about:
    'Each timeout covers one kind of silence: `first_byte` the one before the headers, `idle` the one between any two bytes. The gateway waits for a provider that keeps sending something, however long its response takes, until 10,000 events or 64 MB in a row bring nothing of it.',
  faults: [
    fault('falls silent before its headers', on(silence, late)),
    fault('falls silent within its headers', on(behind(raw('HTTP/1.1 200 OK\r\n'), silence), late)),
    fault(
      'falls silent after its headers',
      on(behind(jsonHead(ANSWER), silence), stalled),
      on(
        behind((call) => call.stream(), silence),
        stalled,
      ),
    ),
    fault(
      'falls silent in the middle',
      on(behind(shortBy(60), silence), stalled),
      on(midStream(sending(HELLO_EVENT.slice(0, 20)), silence), cut(STOPPED_SENDING, 'idle')),
    ),
    fault(
      'falls silent one byte before the end',
      on(behind(shortBy(1), silence), stalled),
      on(midStream(sending(chunk('', 'stop') + usageChunk() + DONE.slice(0, -1)), silence), whole('reported', 'idle')),
    ),
    fault(
      'falls silent after its finish reason',
      on(
        behind(inTurn(answered({ ...JSON_TYPE, ...CHUNKED }, ''), sending(ANSWER)), silence),
        failed(STOPPED_SENDING, 'reported', 'idle'),
      ),
      on(midStream(sending(chunk('', 'stop')), silence), whole('counted', 'idle')),
    ),
    fault(
      'falls silent after the end of its response, and keeps the connection open',
      on((call) => call.answer(200, ANSWER), whole()),
      on(midStream(sending(chunk('', 'stop') + usageChunk() + DONE), silence), whole()),
    ),
    fault(
      'sends only comments, and then falls silent',
      on(behind(inTurn(jsonHead(ANSWER), raw('\n\n')), silence), stalled),
      on(
        behind(
          inTurn((call) => call.stream(), sending(': keep-alive\n\n')),
          silence,
        ),
        stalled,
      ),
    ),
    fault(
      'falls silent within an error response',
      on(behind(shortBy(30, JSON.stringify(SAID), 500), silence), stalled),
    ),
    fault(
      'sends a few bytes at a time',
      on(behind(jsonHead(ANSWER), drip(ANSWER)), whole('reported', 'after its answer')),
      on(dripping(HELLO_EVENT), whole('reported', 'after its answer')),
    ),
    fault(
      'sends blank lines or comments for a long time before its response',
      on(behind(jsonHead(BLANKS), drip(BLANKS)), whole('reported', 'after its answer')),
      on(dripping(COMMENTS + HELLO_EVENT), whole('reported', 'after its answer')),
    ),
    streamFault(
      'sends comments without end instead of its response',
      on(behind(answered(STREAM_TYPE, ''), endless(': processing\n\n')), failed(NO_PROGRESS)),
    ),
    streamFault(
      'sends empty events without end in the middle',
      on({ opening: answered(STREAM_TYPE, HELLO_EVENT), isRead: true, fault: endless(EMPTY) }, cut(NO_PROGRESS)),
    ),
  ],
};
