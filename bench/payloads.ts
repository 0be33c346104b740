/** The payloads: a typical chat request, and the prebuilt answers of the upstream. */
import type { RequestSpec } from './messages.ts';

/** The name of the model at the upstream, and at the gateway. */
export const UPSTREAM_MODEL = 'bench-model';
const GATEWAY_MODEL = `bench/${UPSTREAM_MODEL}`;

const CREATED_S = 1_790_000_000;
const ID = 'chatcmpl-BqX1VnqjHn3fPzL0vW8mT2dYk5aRc';
const USAGE = {
  prompt_tokens: 86,
  completion_tokens: 42,
  total_tokens: 128,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
};
const ANSWER =
  'A sliding window keeps the time of each request of the last minute, so that no minute, wherever it begins, ' +
  'ever holds more than the limit; a counter that starts anew each minute lets twice as many through.';

/** A whole request, head and body. */
export function requestBytes({ port, key, headers, stream }: RequestSpec): Buffer {
  const body = JSON.stringify({
    model: GATEWAY_MODEL,
    messages: [
      { role: 'system', content: 'You are a helpful assistant that answers in at most three plain sentences.' },
      { role: 'user', content: 'What is the difference between a sliding window and a fixed window in rate limiting?' },
      { role: 'assistant', content: 'One of them looks back from every moment; the other starts anew each minute.' },
      { role: 'user', content: 'Which of the two lets more requests through than it should, and when?' },
    ],
    temperature: 0.7,
    max_tokens: 256,
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  });
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    'Accept: application/json',
    'User-Agent: bench',
    ...headers,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** The text by which the upstream recognizes a request for a stream. */
export const STREAM_MARK = '"stream":true';

/** A whole completion, head and body. */
export function completionBytes(): Buffer {
  const body = JSON.stringify({
    id: ID,
    object: 'chat.completion',
    created: CREATED_S,
    model: UPSTREAM_MODEL,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: ANSWER, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: USAGE,
    system_fingerprint: 'fp_0123456789',
  });
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}`;
  return Buffer.from(`${head}\r\n\r\n${body}`);
}

/** The parts of a stream, to be written one by one. */
export interface StreamPieces {
  readonly head: Buffer;
  readonly event: Buffer;
  /** The finish reason, the usage, `[DONE]`, and the end of the body. */
  readonly end: Buffer;
}

/** How many events `end` of {@link StreamPieces} has. */
export const FINAL_EVENTS = 3;

export function streamPieces(): StreamPieces {
  const chunk = (delta: object, finishReason: string | null) => ({
    id: ID,
    object: 'chat.completion.chunk',
    created: CREATED_S,
    model: UPSTREAM_MODEL,
    choices: [{ index: 0, delta, finish_reason: finishReason }],
  });
  const end = [
    eventBytes(JSON.stringify(chunk({}, 'stop'))),
    eventBytes(JSON.stringify({ ...chunk({}, null), choices: [], usage: USAGE })),
    eventBytes('[DONE]'),
    Buffer.from('0\r\n\r\n'),
  ];
  return {
    head: Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n'),
    event: eventBytes(JSON.stringify(chunk({ content: ' window keeps' }, null))),
    end: Buffer.concat(end),
  };
}

/** An event as one chunk of a chunked body. */
function eventBytes(data: string): Buffer {
  const event = `data: ${data}\n\n`;
  return Buffer.from(`${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n`);
}
