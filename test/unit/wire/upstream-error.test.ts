/** Upstream errors in the formats that hosts use, and which messages a client may read. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseJson } from '../../../src/core/json.ts';
import { NO_SECRETS } from '../../../src/wire/secrets.ts';
import {
  isAboutTheOperator,
  isErrorValue,
  isForClients,
  readErrorValue,
  statusIn,
  wordsForClients,
} from '../../../src/wire/upstream-error.ts';

const SHAPES: readonly (readonly [what: string, body: unknown, message: string | undefined, labels?: string[]])[] = [
  [
    'an object with all four fields',
    { error: { message: 'No.', type: 'invalid_request_error', param: null, code: 'context_length_exceeded' } },
    'No.',
    ['context_length_exceeded', 'invalid_request_error'],
  ],
  ['an integer code', { error: { message: 'No.', code: 400 } }, 'No.', ['400']],
  ['a null code', { error: { message: 'No.', code: null } }, 'No.'],
  [
    'a status',
    { error: { code: 400, message: 'No.', status: 'INVALID_ARGUMENT' } },
    'No.',
    ['400', 'INVALID_ARGUMENT'],
  ],
  ['the error in an array', [{ error: { message: 'No.' } }], 'No.'],
  ['a string as the error', { error: 'No.' }, 'No.'],
  ['a string as the error, next to a code', { code: 'bad_thing', error: 'No.' }, 'No.', ['bad_thing']],
  ['a flat object', { object: 'error', message: 'No.', type: 'invalid', code: 3000 }, 'No.', ['3000', 'invalid']],
  ['a detail', { detail: 'No.' }, 'No.'],
  ['details in an array', { detail: [{ loc: ['body', 'n'], msg: 'No.', type: 'less_than' }] }, 'No.', ['less_than']],
  [
    'an error next to its type',
    { type: 'error', error: { type: 'overloaded_error', message: 'No.' } },
    'No.',
    ['overloaded_error'],
  ],
  ['an error without a message', { error: { code: 500 } }, undefined],
  ['an empty message', { error: { message: '  ' } }, undefined],
  ['a message that is not a string', { error: { message: { text: 'No.' } } }, undefined],
  ['null', null, undefined],
  ['an empty array', [], undefined],
  ['an empty object', {}, undefined],
  ['a number', 5, undefined],
];

const of = (...parts: readonly string[]) => ({ ...NO_SECRETS, parts });

describe('the message of an upstream is found in', () => {
  for (const [what, body, message, labels = []] of SHAPES) {
    test(what, () => {
      assert.deepEqual(readErrorValue(body), message === undefined ? undefined : { message, labels });
    });
  }

  test('control characters are removed from a message', () => {
    const words = readErrorValue({ error: { message: 'a\u001b[31m\r\nb' } });
    assert.equal(words?.message, 'a [31m b');
  });

  test('a body nested very deeply is read without an error', () => {
    const depth = 100_000;
    for (const text of ['['.repeat(depth) + ']'.repeat(depth), `${'{"detail":'.repeat(depth)}1${'}'.repeat(depth)}`]) {
      assert.doesNotThrow(() => readErrorValue(parseJson(text)?.value));
    }
  });
});

test('a response is an error if it has one or is labelled as one, but not if the error is null', () => {
  const flat = { object: 'error', message: 'x', code: 7 };
  for (const value of [{ error: {} }, { error: 'x' }, { error: { message: 'x' }, choices: [] }, flat]) {
    assert.equal(isErrorValue(value), true);
  }
  for (const value of [{ error: null }, { error: '' }, {}, [], null, 'error', { choices: [] }, { object: 'list' }]) {
    assert.equal(isErrorValue(value), false);
  }
});

const ABOUT_THE_OPERATOR: readonly (readonly [message: string, ...labels: string[]])[] = [
  ['Incorrect API key provided: sk-abc. You can find your API key at https://example.com.', 'invalid_api_key'],
  ['API key not valid. Please pass a valid API key.', '400', 'INVALID_ARGUMENT'],
  ['Your credit balance is too low to access the API.', 'invalid_request_error'],
  ['You exceeded your current quota, please check your plan and billing details.', 'insufficient_quota'],
  ['Insufficient Balance', 'unknown_error'],
  ['The balance is insufficient.'],
  ['Not enough credits for this request.'],
  ['Insufficient credits. Add more at https://example.com/credits.', '402'],
  ['This organization has been disabled.', 'invalid_request_error'],
  ['Access denied, please make sure your account is in good standing.', 'Arrearage'],
  ['The account has been suspended.'],
  ['Invalid Authentication', 'invalid_authentication_error'],
  ['You are not authorized to use this model.'],
  ['Please add a payment method.'],
  ['Billing hard limit has been reached.'],
  ['Your subscription has ended.'],
  ['The request was refused.', 'insufficient_quota'],
  ['Your project does not have access to this model.'],
  ['The access token is expired.'],
  ['Quota exceeded for this metric.'],
  ['The host said: "Your account is not active."'],
  ["'Please add a payment method.'"],
  ['{"error":{"message":"Your credit balance is too low","type":"x"}}'],
  ["It failed with 'insufficient_quota'."],
  ['It failed with `billing.hard-limit-reached`.'],
  ['It failed with "AuthenticationError".'],
];

const ABOUT_THE_REQUEST: readonly (readonly [message: string, ...labels: string[]])[] = [
  ["This model's maximum context length is 8192 tokens, and your messages came to 9000.", 'context_length_exceeded'],
  [
    "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
    'unsupported_parameter',
  ],
  ["Invalid value: 'x'. Supported values are: 'low', 'medium' and 'high'.", 'invalid_value'],
  ["Invalid 'messages[0].content': string too long.", 'string_above_max_length'],
  ['Could not parse the image. Only png and jpeg are taken.', 'invalid_image'],
  ['The tokens in your request exceed the limit.'],
  ['max_tokens is too large: 100000. This model takes 16384 at most.'],
  ["Invalid schema for function 'get_account_balance': None is not of type 'object'.", 'invalid_function_parameters'],
  ["Invalid schema for function 'authorize_payment': None is not of type 'object'.", 'invalid_function_parameters'],
  ["Invalid schema for function 'cancel_subscription': 'x' is not valid.", 'invalid_function_parameters'],
  ["Invalid schema for function 'list_allowed_accounts': 'x' is not valid.", 'invalid_function_parameters'],
  ["Error code 'max_tokens_exceeded': lower `max_tokens`.", 'invalid_request_error'],
  ['Unknown field "api_key" in `tools[0].function.parameters.billing.credit`.', 'unknown_parameter'],
  ['Your input was flagged by the content filter.', 'content_filter'],
  ['Unknown name "foo": cannot find field.', '400', 'INVALID_ARGUMENT'],
];

describe('a message about the operator is withheld:', () => {
  for (const [message, ...labels] of ABOUT_THE_OPERATOR) {
    test(`${message} ${labels.join(' ')}`, () => {
      assert.equal(isAboutTheOperator({ message, labels }), true);
      assert.equal(wordsForClients({ message, labels }, NO_SECRETS), undefined);
    });
  }
});

describe('a message about the request is passed on:', () => {
  for (const [message, ...labels] of ABOUT_THE_REQUEST) {
    test(`${message} ${labels.join(' ')}`, () => {
      assert.equal(isAboutTheOperator({ message, labels }), false);
      assert.equal(wordsForClients({ message, labels }, of('secret-of-ours')), message);
    });
  }
});

test('a message that a client has made long is searched quickly, and withheld if it is too long', () => {
  for (const filler of ['_', ' ', '-', 'a_', 'quota_', "x' quota _"]) {
    assert.equal(isAboutTheOperator({ message: `quota${filler.repeat(7_000 / filler.length)} y`, labels: [] }), false);
    assert.equal(wordsForClients({ message: filler.repeat(500_000), labels: [] }, NO_SECRETS), undefined);
  }
});

test('messages for clients are truncated, and never leave part of a secret at the cut', () => {
  const message = `${'x'.repeat(990)}api.internal.example`;
  assert.equal(wordsForClients({ message, labels: [] }, NO_SECRETS), message.slice(0, 1_000));
  assert.equal(wordsForClients({ message, labels: [] }, of('api.internal.example')), undefined);
});

test('messages that contain a secret, in any case, are withheld', () => {
  const words = { message: 'No route to API.Internal.Example:8443', labels: [] };
  assert.equal(wordsForClients(words, of('other', 'api.internal.example')), undefined);
  assert.equal(wordsForClients(words, of('api.elsewhere.test')), words.message);
});

describe('a status by its name in the messages dialect', () => {
  for (const [type, status] of [
    ['authentication_error', 401],
    ['billing_error', 402],
    ['permission_error', 403],
    ['not_found_error', 404],
    ['invalid_request_error', undefined],
  ] as const) {
    test(`${type} is ${status}`, () => {
      assert.equal(statusIn({ message: 'model: claude-x-1', labels: [type] }), status);
    });
  }

  test('a number comes first', () => {
    assert.equal(statusIn({ message: 'x', labels: ['not_found_error', '503'] }), 503);
  });

  test('withholds an error within an answer', () => {
    assert.equal(isForClients({ type: 'not_found_error', message: 'model: claude-x-1' }, NO_SECRETS), false);
    assert.equal(isForClients({ type: 'overloaded_error', message: 'Overloaded' }, NO_SECRETS), true);
  });
});
