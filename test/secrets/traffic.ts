/**
 * Requests and answers full of secrets: ordinary ones, and answers of providers that echo what they
 * received.
 */

import { HELLO, PROMPT, WORDS } from '../faults/cell.ts';
import { chunk, completion, DONE, event, usageChunk } from '../support/answers.ts';
import type { Script } from '../support/fake-upstream.ts';
import { CALL_TEXT, OPERATORS, TOOL_TEXT } from './canaries.ts';

export interface Traffic {
  /** Whether the key of the provider comes from a file. */
  readonly hasKeyOfFile: boolean;
  readonly stream: boolean;
  readonly answer: Script;
}

const CALLS = [{ index: 0, id: 'call_1', type: 'function', function: { name: 'open', arguments: CALL_TEXT } }];
const WITH_CALLS = {
  choices: [
    { index: 0, message: { role: 'assistant', content: HELLO, tool_calls: CALLS }, finish_reason: 'tool_calls' },
  ],
};
const CHUNK_WITH_CALLS = event({ choices: [{ index: 0, delta: { tool_calls: CALLS }, finish_reason: 'tool_calls' }] });

/** A request with a secret in each of its parts. */
export function requestOf(model: string, { stream }: { stream: boolean }): Record<string, unknown> {
  const tool = { type: 'function', function: { name: 'open', description: TOOL_TEXT, parameters: { type: 'object' } } };
  // Who a request is for is kept, by name.
  return { model, stream, messages: [{ role: 'user', content: PROMPT }], tools: [tool], user: 'somebody' };
}

function streamed(...pieces: readonly string[]): Script {
  return (call) => {
    call.stream();
    for (const piece of pieces) call.send(piece);
    call.end();
  };
}

const ORDINARY: readonly Omit<Traffic, 'hasKeyOfFile'>[] = [
  { stream: false, answer: (call) => call.answer(200, completion(HELLO, WITH_CALLS)) },
  // Without usage the gateway has to count tokens, and so keeps the answer for a while.
  { stream: false, answer: (call) => call.answer(200, completion(HELLO, { ...WITH_CALLS, usage: undefined })) },
  { stream: true, answer: streamed(chunk(HELLO), CHUNK_WITH_CALLS, usageChunk(), DONE) },
  { stream: true, answer: streamed(chunk(HELLO), CHUNK_WITH_CALLS, DONE) },
  { stream: true, answer: streamed(chunk(HELLO), CHUNK_WITH_CALLS.slice(0, 90)) },
];

const STATUSES = [400, 401, 404, 429, 500];
const SPELLINGS: readonly ((secret: string) => string)[] = [
  (secret) => secret,
  (secret) => secret.slice(0, 14),
  (secret) => secret.slice(-14).toUpperCase(),
  (secret) => encodeURIComponent(`Bearer ${secret}`),
  (secret) => Buffer.from(`Bearer ${secret}`).toString('base64'),
  (secret) => Buffer.from(secret).toString('hex'),
];

/** Error answers and error events that echo the operator's secrets and the prompt. */
const REPEATING: readonly Traffic[] = Object.values(OPERATORS).flatMap((secret) =>
  SPELLINGS.flatMap((spelled, number) => {
    const said = { error: { message: `${WORDS}: ${spelled(secret)}, ${PROMPT}`, type: 'x', code: null } };
    // A provider can echo only what it was sent.
    const hasKeyOfFile = secret === OPERATORS['upstream key of a file'];
    const status = STATUSES[number % STATUSES.length] as number;
    return [
      { hasKeyOfFile, stream: number % 2 === 0, answer: (call) => call.answer(status, said, { 'x-debug': secret }) },
      { hasKeyOfFile, stream: false, answer: (call) => call.answer(200, said) },
      { hasKeyOfFile, stream: false, answer: (call) => call.answer(200, completion(HELLO, said)) },
      { hasKeyOfFile, stream: true, answer: streamed(chunk(HELLO), event(said)) },
    ] satisfies Traffic[];
  }),
);

export const TRAFFIC: readonly Traffic[] = [
  ...ORDINARY.map((traffic) => ({ ...traffic, hasKeyOfFile: false })),
  ...REPEATING,
];
