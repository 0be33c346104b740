/** Single HTTP requests with a time limit, to services other than model hosts. Proxy settings of the environment are ignored. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { RequestOptions } from 'node:https';
import { urlToHttpOptions } from 'node:url';
import { request, requestTls } from './node-http.ts';

export interface HttpCall extends RequestOptions {
  /** Time limit for the complete response, in milliseconds. */
  readonly timeoutMs: number;
  readonly body?: string | Uint8Array | undefined;
  /** Receives the request before it is sent. */
  readonly onCall?: (call: ClientRequest) => void;
}

/**
 * Sends a request, by default on a new connection, and returns the result of `read`. The connection is then closed, even if the
 * response is incomplete. Rejects with the error of the connection, or with code `ETIMEDOUT`.
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

/** Reads the response body as text. Rejects with the error of `tooLong` beyond `maxCharacters`. */
export async function textOf(response: IncomingMessage, maxCharacters: number, tooLong: () => Error): Promise<string> {
  let text = '';
  for await (const piece of response.setEncoding('utf8')) {
    text += piece;
    if (text.length > maxCharacters) throw tooLong();
  }
  return text;
}
