/** The 404 error for an unserved path: lists the served paths, and suggests the client setting to correct. */
import { DIALECT_PATHS } from '../core/dialects.ts';
import type { ClientError } from '../core/errors.ts';
import { printableName } from '../core/printable.ts';

const SERVED =
  `Served are POST ${Object.values(DIALECT_PATHS)
    .map((path) => `/v1${path}`)
    .join(', ')} and /v1/messages/count_tokens, ` +
  'GET /v1/models, GET /v1/models/<provider>/<model> and GET /v1/key; ' +
  "for Google's clients POST /v1beta/models/<provider>/<model>:generateContent, :streamGenerateContent, :countTokens, " +
  ':embedContent and :batchEmbedContents, ' +
  'and GET /v1beta/models.';

/** The first segments of paths below `/v1`. */
const FIRST_NAMES = [...Object.values(DIALECT_PATHS).map((path) => path.split('/')[1]), 'models', 'completions'];

/** The correct base URL. */
const BASE_URL = "Set the client's base_url to the address of this gateway followed by /v1";

/** Unserved vendor endpoints, with the reason and the alternative. */
const UNSERVED: readonly (readonly [path: RegExp, why: string])[] = [
  [/^\/*(?:v1\/+)*completions(?:\/|$)/i, 'Legacy completions are not served. Set the client to chat completions.'],
  [
    /\/(?:files|uploads)(?:\/|$)/i,
    'Files are not served: they would belong to the account at the provider, which all keys share. ' +
      'Send the content in the request itself, as base64.',
  ],
  [
    /\/batches(?:\/|$)/i,
    'Batches are not served: the provider runs their requests later, when the limits and budgets of the key ' +
      'cannot be enforced. Send the requests one by one.',
  ],
  [
    /\/conversations(?:\/|$)/i,
    'Conversations are not served: they would belong to the account at the provider, which all keys share. ' +
      'Send the earlier turns with each request, or `previous_response_id` where the provider keeps responses per key.',
  ],
];

/** Common mistakes in paths; the first match applies. */
const MISTAKES: readonly (readonly [shows: RegExp, hint: string])[] = [
  [/^\/*(?:v1\/*)?$/i, `This is the address of an API. ${BASE_URL}.`],
  [
    /\/v1\/+v1(?:\/|$)/i,
    `The path has /v1 more than once. ${BASE_URL} once; a client that adds /v1 by itself needs it without.`,
  ],
  [
    /\/chat\/completions\/+(?:chat\/completions|models|responses)/i,
    `${BASE_URL}, not to an endpoint: clients add the rest.`,
  ],
  [/\/\//, `The path has two slashes in a row. ${BASE_URL}, without a slash at its end.`],
  [/^\/v1\/.*\/$/, 'Leave out the slash at the end of the path.'],
  [/^\/v1\//i, ''],
  [/\/v1\//i, `The path has something before /v1. ${BASE_URL}.`],
  [new RegExp(`^/(?:${FIRST_NAMES.join('|')})(?:/|$)`, 'i'), `The path lacks /v1. ${BASE_URL}.`],
];

export function noSuchPath(path: string): ClientError {
  const hint = MISTAKES.find(([shows]) => shows.test(path))?.[1] ?? '';
  const why = UNSERVED.find(([unserved]) => unserved.test(path))?.[1] ?? '';
  const message = [`No such path: ${printableName(path)}.`, hint, why, SERVED].filter((part) => part !== '').join(' ');
  return { code: 'invalid_request', status: 404, message };
}
