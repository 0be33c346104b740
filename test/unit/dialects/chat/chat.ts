/** Builds a chat request from a body, as the gateway does. */
import assert from 'node:assert/strict';
import { CHAT } from '../../../../src/dialects/chat/chat.ts';
import type { ChatRequest } from '../../../../src/dialects/chat/chat-check.ts';
import type { Checked } from '../../../../src/dialects/dialect.ts';
import { readJsonBody } from '../../../../src/wire/body.ts';

/** Parses and validates a body that has a model. */
export function checked(text: string): Checked {
  const read = readJsonBody(Buffer.from(text));
  assert.ok(read.ok, read.ok ? '' : read.problem);
  const { model } = read.body.fields;
  assert.ok(typeof model === 'string', 'the body has no model');
  return CHAT.check(read.body, model);
}

/** The request of a valid body. */
export function chatRequest(body: string | Readonly<Record<string, unknown>>): ChatRequest {
  const result = checked(typeof body === 'string' ? body : JSON.stringify(body));
  assert.ok(result.ok, result.ok ? '' : result.problem);
  return result.request as ChatRequest;
}
