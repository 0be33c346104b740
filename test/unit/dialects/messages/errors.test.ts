/** The body of an error response in the messages dialect. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ClientError, ERROR_STATUS, type ErrorCode } from '../../../../src/core/errors.ts';
import { messagesErrorBody } from '../../../../src/dialects/messages/messages-errors.ts';

const TYPES: Readonly<Record<ErrorCode, string>> = {
  invalid_request: 'invalid_request_error',
  unauthorized: 'authentication_error',
  invalid_api_key: 'authentication_error',
  insufficient_credit: 'billing_error',
  spend_limit_reached: 'billing_error',
  api_key_disabled: 'permission_error',
  model_not_allowed: 'permission_error',
  model_not_found: 'not_found_error',
  rate_limited: 'rate_limit_error',
  upstream_error: 'api_error',
  internal_error: 'api_error',
};

/** Statuses other than the usual one of a code. */
const STATUSES: readonly (readonly [status: number, type: string])[] = [
  [405, 'invalid_request_error'],
  [408, 'invalid_request_error'],
  [413, 'request_too_large'],
  [431, 'invalid_request_error'],
  [503, 'api_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
];

function typeOf(error: ClientError): unknown {
  return (JSON.parse(messagesErrorBody(error, 'req_1')) as { error: { type: unknown } }).error.type;
}

describe('an error of the messages dialect', () => {
  test('has exactly these fields', () => {
    const body = messagesErrorBody({ code: 'rate_limited', message: 'Wait.', retryAfterS: 3 }, 'req_1');
    assert.equal(
      body,
      '{"type":"error","error":{"type":"rate_limit_error","code":"rate_limited","message":"Wait."},"request_id":"req_1"}',
    );
  });

  for (const code of Object.keys(ERROR_STATUS) as ErrorCode[]) {
    test(`${code} is ${TYPES[code]}`, () => assert.equal(typeOf({ code, message: '' }), TYPES[code]));
  }

  for (const [status, type] of STATUSES) {
    test(`status ${status} is ${type}`, () =>
      assert.equal(typeOf({ code: 'invalid_request', message: '', status }), type));
  }
});
