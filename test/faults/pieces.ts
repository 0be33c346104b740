/** What the hosts of the failure matrix send, in pieces. */
import { chunk, completion, DONE, event, usageChunk } from '../support/answers.ts';
import type { Script, UpstreamCall } from '../support/fake-upstream.ts';
import { HELLO, type Play, WORDS } from './cell.ts';

/** A completion as text. */
export const ANSWER = JSON.stringify(completion(HELLO));
/** An error in the most common format. */
export const SAID = { error: { message: WORDS, type: 'server_error', param: null, code: null } };
export const HELLO_EVENT = chunk(HELLO);
const FINISH_EVENTS = chunk('', 'stop') + usageChunk();
/** A complete stream. */
export const EVENTS = HELLO_EVENT + FINISH_EVENTS + DONE;

export const reset: Script = (call) => call.reset();
export const hangUp: Script = (call) => call.hangUp();
export const silence: Script = () => {};

/** Steps one after the other. */
export function inTurn(...scripts: readonly Script[]): Script {
  return async (call) => {
    for (const script of scripts) await script(call);
  };
}

/** A stream whose first event was read when `fault` happens. */
export function midStream(...faults: readonly Script[]): Play {
  return { opening: begun, isRead: true, fault: inTurn(...faults) };
}

/** Bytes that the client cannot have seen, and then the failure. */
export function behind(opening: Script, ...faults: readonly Script[]): Play {
  return { opening, fault: inTurn(...faults) };
}

/** The headers of a stream and its first event. */
function begun(call: UpstreamCall): void {
  call.stream();
  call.send(HELLO_EVENT);
}

export const raw =
  (bytes: string | Buffer): Script =>
  (call) =>
    call.raw(bytes);

export const sending =
  (...pieces: readonly (string | Buffer)[]): Script =>
  (call) => {
    for (const piece of pieces) call.send(piece);
  };

/** The rest of a stream after its first event, ended properly. */
export const finishing = inTurn(sending(FINISH_EVENTS + DONE), (call) => call.end());

/** Response headers, exactly as given, and the body after them. */
export const answered =
  (headers: Record<string, string>, body: string | Buffer, status = 200): Script =>
  (call) => {
    call.head(status, headers);
    call.raw(body);
  };

export const JSON_TYPE = { 'content-type': 'application/json' };
export const STREAM_TYPE = { 'content-type': 'text/event-stream' };
export const CHUNKED = { 'transfer-encoding': 'chunked' };

/** The length of what is sent, and `more`. */
export function lengthOf(body: string | Buffer, more = 0): Record<string, string> {
  return { 'content-length': String(Buffer.byteLength(body) + more) };
}

/** A response that stops before the length it announced. */
export const shortBy = (bytes: number, body = ANSWER, status = 200): Script =>
  answered({ ...JSON_TYPE, ...lengthOf(body) }, Buffer.from(body).subarray(0, -bytes), status);

/** The offset between the two bytes of the first two-byte character. */
export function insideCharacter(text: string): Buffer {
  const bytes = Buffer.from(text);
  return bytes.subarray(0, bytes.indexOf('ü') + 1);
}

/** A stream of these values as events, ended properly. */
export const events =
  (...values: readonly unknown[]): Script =>
  (call) => {
    call.stream();
    call.send(values.map((value) => event(value)).join(''));
    call.end();
  };
