/** Refusals of the ledger as errors for the client. */

import { type ClientError, rateLimited } from '../core/errors.ts';
import { formatUsd, type Nanos } from '../core/money.ts';
import { printableName } from '../core/printable.ts';
import { API_KEY_DISABLED, INVALID_API_KEY } from '../http/authorization.ts';
import type { Refusal } from '../ledger/ledger.ts';

/** The error for a refusal. `model` and `holdNanos` are those of the request. */
export function errorForRefusal(refusal: Refusal, model: string, holdNanos: Nanos): ClientError {
  switch (refusal.reason) {
    case 'unknown_key':
      return INVALID_API_KEY;
    case 'key_disabled':
      return API_KEY_DISABLED;
    case 'model_not_allowed':
      return modelNotAllowed(model);
    case 'spend_limit_reached':
      return {
        code: 'spend_limit_reached',
        message:
          `This key has reached its monthly spend limit of ${formatUsd(refusal.limitNanos)} USD. It works again next month ` +
          '(UTC), or once the operator raises it: inf-gw limits set <key> --spend-limit USD',
      };
    case 'insufficient_credit':
      return {
        code: 'insufficient_credit',
        message:
          `The account's credit does not cover this request, which may cost ${formatUsd(holdNanos)} USD. ` +
          'The operator adds some with: inf-gw credit add <usd>',
      };
    case 'larger_than_token_limit':
      return {
        code: 'rate_limited',
        message:
          `This request alone is larger than the limit of ${refusal.limit} tokens per minute: waiting does not help. ` +
          'Send less, declare a smaller max_tokens, or have the limit raised.',
        retryAfterS: 60,
        shouldRetry: false,
      };
    case 'requests_per_minute':
      return rateLimited(`The limit of ${refusal.limit} requests per minute is reached.`, refusal.retryAfterS);
    case 'tokens_per_minute':
      return rateLimited(`The limit of ${refusal.limit} tokens per minute is reached.`, refusal.retryAfterS);
    case 'concurrency':
      return rateLimited(`The limit of ${refusal.limit} requests at once is reached.`, refusal.retryAfterS);
    case 'money_spoken_for':
      return rateLimited('Requests under way may use up the money that is left.', refusal.retryAfterS);
  }
}

export function modelNotAllowed(model: string): ClientError {
  return {
    code: 'model_not_allowed',
    message: `This key may not use the model "${printableName(model)}". GET /v1/models lists those it may use.`,
  };
}

export function modelNotFound(model: string): ClientError {
  const hint = model.includes('/') ? '' : ' The name of a model begins with its provider: <provider>/<model>.';
  return {
    code: 'model_not_found',
    message: `There is no model "${printableName(model)}".${hint} GET /v1/models lists those there are.`,
  };
}
