/** Errors within responses with status 200, in the formats of hosts. */
import { answering, chunk, completion, DONE, event, usageChunk } from '../../support/answers.ts';
import {
  cutByError,
  type Family,
  type Fault,
  failed,
  fault,
  HELLO,
  OPERATOR_MUST,
  on,
  REPORTED,
  streamFault,
  told,
  WORDS,
  whole,
} from '../cell.ts';
import { answered, events, inTurn, JSON_TYPE, lengthOf, midStream, SAID, sending } from '../pieces.ts';

const inOrder = (call: { end(): void }) => call.end();

/** An error as the whole response, and as the first event of a stream. */
function first(what: string, value: unknown, words = true, says = REPORTED): Fault {
  const cell = told(says, words);
  return fault(what, on(answering(value), cell), on(events(value), cell));
}

/** An error after the first event of a stream, which then ends. */
function behindFirst(what: string, text: string, end = ''): Fault {
  return streamFault(what, on(midStream(sending(text + end), inOrder), cutByError(true)));
}

const FLAT = { object: 'error', message: WORDS, type: 'internal_error', param: null, code: '3700' };
const VLLM = { error: { object: 'error', message: WORDS, type: 'InternalServerError', param: null, code: 500 } };
const GROQ = `event: error\ndata: ${JSON.stringify({ error: { message: WORDS, type: 'internal_server_error' } })}\n\n`;
const XAI = { code: 'The service is currently unavailable', error: WORDS };
const OPENROUTER = {
  id: 'gen-1',
  object: 'chat.completion.chunk',
  error: { code: 502, message: WORDS },
  choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
};
const XAI_TEXT = JSON.stringify(XAI);

export const EVENTS_OF_ERROR: Family = {
  title: 'It reports an error with status 200',
  about:
    'An error that is the whole response, or the first event of a stream, is an ordinary 502 and costs nothing. After an event that the client has received, it becomes the error line, and what arrived before it is charged.',
  faults: [
    first('sends an error object', SAID),
    first('sends an error with a code that is a number, as vLLM does', VLLM),
    first('sends a flat error object, as Mistral does', FLAT),
    first('sends an error object in Anthropic’s format', {
      type: 'error',
      error: { type: 'overloaded_error', message: WORDS },
    }),
    first('sends an error with the code 404', { error: { message: WORDS, code: 404 } }, false, OPERATOR_MUST),
    first(
      'sends an error about the operator’s account',
      { error: { message: `${WORDS}: your account is not active` } },
      false,
    ),
    fault(
      'sends an error that is a string, as JSON even if a stream was asked for, as xAI does',
      on(answered({ ...JSON_TYPE, ...lengthOf(XAI_TEXT) }, XAI_TEXT), told(REPORTED, true)),
    ),
    streamFault(
      'sends a first event named `error`, and no `[DONE]`, as Groq does',
      on(
        inTurn((call) => call.stream(), sending(GROQ), inOrder),
        told(REPORTED, true),
      ),
    ),
    streamFault(
      'sends comments, and then an error',
      on(
        inTurn((call) => call.stream(), sending(`: PROCESSING\n\n${event(SAID)}`), inOrder),
        told(REPORTED, true),
      ),
    ),
    behindFirst('sends an error object in the middle', event(SAID)),
    behindFirst('sends an error line in the middle, and then `[DONE]`, as vLLM does', event(VLLM), DONE),
    behindFirst('sends an event named `error` in the middle, and no `[DONE]`, as Groq does', GROQ),
    behindFirst('sends an error that is a string in the middle', event(XAI)),
    behindFirst('sends a flat error object in the middle', event(FLAT)),
    fault(
      'sends an error next to choices, as OpenRouter does',
      on(answering(completion(HELLO, { error: OPENROUTER.error })), whole()),
      on(midStream(sending(event(OPENROUTER) + DONE), inOrder), cutByError(true)),
    ),
    streamFault(
      'reports usage, and then an error',
      on(
        inTurn((call) => call.stream(), sending(usageChunk() + event(SAID)), inOrder),
        { ...failed(REPORTED, 'reported'), sees: told(REPORTED, true).sees },
      ),
    ),
    streamFault(
      'sends an error after its finish reason',
      on(midStream(sending(chunk('', 'stop') + event(SAID)), inOrder), whole('counted')),
    ),
  ],
};
