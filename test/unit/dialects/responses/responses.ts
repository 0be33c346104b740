/** Checks a responses request, as the gateway does. */
import assert from 'node:assert/strict';
import type { Checked, ModelRequest } from '../../../../src/dialects/dialect.ts';
import { RESPONSES } from '../../../../src/dialects/responses/responses.ts';
import { readJsonBody } from '../../../../src/wire/body.ts';

/** Checks a request with these fields besides its model. Its input is a text unless they have one. */
export function checked(fields: object): Checked {
  const read = readJsonBody(Buffer.from(JSON.stringify({ model: 'a/b', input: 'x', ...fields })));
  assert.ok(read.ok, read.ok ? '' : read.problem);
  return RESPONSES.check(read.body, 'a/b');
}

/** The same for a valid request. */
export function responsesRequest(fields: object): ModelRequest {
  const result = checked(fields);
  assert.ok(result.ok, result.ok ? '' : result.problem);
  return result.request;
}
