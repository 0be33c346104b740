/** The requests of writers and clients, and the outcome of each answer. */
import type { RawAnswer } from '../support/raw.ts';

const STREAM_END = 'data: [DONE]\n\n';

/** The bytes of a request for a completion on a kept-alive connection. */
export function requestBytes(secret: string, model: string, stream: boolean): string {
  const body = JSON.stringify({ model, stream, max_tokens: 100, messages: [{ role: 'user', content: '/words 12' }] });
  return (
    `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${secret}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

/** The status with the error code, if there is one, or what is wrong with the answer. */
export function outcomeOf({ status, headers, body }: RawAnswer): string {
  if (status !== 200) return `${status} ${(JSON.parse(body) as { error?: { code?: string } }).error?.code}`;
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (isStream ? body.endsWith(STREAM_END) && !body.includes('"error"') : 'choices' in JSON.parse(body)) return '200';
  return `200 with ${body.slice(-200)}`;
}
