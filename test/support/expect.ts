/** Assertions for what all answers of the gateway have in common. */
import assert from 'node:assert/strict';
import type { Reply } from './gateway.ts';
import type { RawAnswer } from './raw.ts';

/** The six figures of the rate-limit headers. */
export interface Rates {
  readonly limitRequests: number;
  readonly remainingRequests: number;
  readonly resetRequests: number;
  readonly limitTokens: number;
  readonly remainingTokens: number;
  readonly resetTokens: number;
}

interface Head {
  get(name: string): string | null | undefined;
}

/** Reads the six headers. Each must be a whole number. */
export function ratesOf(headers: Head): Rates {
  const figure = (name: string) => {
    const value = headers.get(`x-ratelimit-${name}`);
    assert.match(value ?? '', /^\d+$/, `X-RateLimit-${name}`);
    return Number(value);
  };
  return {
    limitRequests: figure('limit-requests'),
    remainingRequests: figure('remaining-requests'),
    resetRequests: figure('reset-requests'),
    limitTokens: figure('limit-tokens'),
    remainingTokens: figure('remaining-tokens'),
    resetTokens: figure('reset-tokens'),
  };
}

/** Asserts the status, the code and the shape of an error answer. Returns its message. */
export function assertError(answer: Reply | RawAnswer, status: number, code: string): string {
  const text = 'text' in answer ? answer.text : answer.body;
  assert.equal(answer.status, status, text);
  assert.equal(answer.headers.get('content-type'), 'application/json');
  assert.equal(answer.headers.get('www-authenticate') ?? null, status === 401 ? 'Bearer realm="inf-gw"' : null);
  assert.match(answer.headers.get('x-request-id') ?? '', /^req_[0-9a-z]{26}$/);
  ratesOf(answer.headers);
  const body = JSON.parse(text);
  assert.deepEqual(Object.keys(body), ['error'], text);
  assert.deepEqual(Object.keys(body.error), ['code', 'message'], text);
  assert.equal(body.error.code, code, text);
  assert.ok(typeof body.error.message === 'string' && body.error.message.length > 0);
  return body.error.message;
}
