/** Builds a messages request from its fields, as the gateway does. */
import assert from 'node:assert/strict';
import type { Checked, ModelRequest } from '../../../../src/dialects/dialect.ts';
import { MESSAGES } from '../../../../src/dialects/messages/messages.ts';
import { readJsonBody } from '../../../../src/wire/body.ts';

/** Validates a request with these fields besides the usual ones. */
export function checked(fields: object): Checked {
  const usual = { model: 'anthropic/echo', max_tokens: 10, messages: [{ role: 'user', content: 'Hello!' }] };
  const read = readJsonBody(Buffer.from(JSON.stringify({ ...usual, ...fields })));
  assert.ok(read.ok, read.ok ? '' : read.problem);
  return MESSAGES.check(read.body, usual.model);
}

/** The request that is valid with these fields. */
export function messagesRequest(fields: object): ModelRequest {
  const result = checked(fields);
  assert.ok(result.ok, result.ok ? '' : result.problem);
  return result.request;
}
