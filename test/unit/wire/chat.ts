/** Builds a chat request from a body, as the gateway does. */
import assert from 'node:assert/strict';
import { readJsonBody } from '../../../src/wire/body.ts';
import { type ChatRequest, type Checked, checkRequest, modelOf } from '../../../src/wire/request.ts';

/** Parses and validates a body that has a model. */
export function checked(text: string): Checked {
  const read = readJsonBody(Buffer.from(text));
  assert.ok(read.ok, read.ok ? '' : read.problem);
  const model = modelOf(read.body);
  assert.ok(model !== undefined, 'the body has no model');
  return checkRequest(read.body, model);
}

/** The request of a valid body. */
export function chatRequest(body: string | Readonly<Record<string, unknown>>): ChatRequest {
  const result = checked(typeof body === 'string' ? body : JSON.stringify(body));
  assert.ok(result.ok, result.ok ? '' : result.problem);
  return result.request;
}
