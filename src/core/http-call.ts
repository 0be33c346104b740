/** Single HTTP requests with a time limit, to addresses beside the hosts of models. No proxy of the environment is used. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { RequestOptions } from 'node:https';
import { urlToHttpOptions } from 'node:url';
import { request, requestTls } from './node-http.ts';

export interface HttpCall extends RequestOptions {
  /** For the whole answer, in milliseconds. */
  readonly timeoutMs: number;
  readonly body?: string | Uint8Array | undefined;
  /** Receives the request before it is sent. */
  readonly onCall?: (call: ClientRequest) => void;
}

/**
 * Sends a request on a connection of its own, unless `agent` is given, and returns the result of `read`. Then closes a connection
 * on which more would arrive. Rejects with the error of the connection, or one with the code `ETIMEDOUT`.
 */
export async function httpCall<Result>(
  url: URL,
  { timeoutMs, body, onCall, ...options }: HttpCall,
  read: (response: IncomingMessage) => Result | Promise<Result>,
): Promise<Result> {
  const send = url.protocol === 'https:' ? requestTls : request;
  const call = send({ ...urlToHttpOptions(url), agent: false, ...options });
  onCall?.(call);
  const late = () =>
    call.destroy(Object.assign(new Error(`no answer within ${timeoutMs / 1000} s`), { code: 'ETIMEDOUT' }));
  const timer = setTimeout(late, timeoutMs);
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      call.once('response', resolve).on('error', reject).end(body);
    });
    return await read(response);
  } finally {
    clearTimeout(timer);
    call.destroy();
  }
}

/** The text of an answer. Rejects with the error that `tooLong` returns if it has more characters. */
export async function textOf(response: IncomingMessage, maxCharacters: number, tooLong: () => Error): Promise<string> {
  let text = '';
  for await (const piece of response.setEncoding('utf8')) {
    text += piece;
    if (text.length > maxCharacters) throw tooLong();
  }
  return text;
}
