/** Error responses by their status, in the formats of hosts. */
import { answering } from '../../support/answers.ts';
import { type Family, type Fault, failed, fault, on, told, WORDS } from '../cell.ts';
import { answered, CHUNKED, inTurn, JSON_TYPE, SAID, sending } from '../pieces.ts';

const REQUEST_FAULT = 'invalid_request';

/** The client reads the provider's message. */
function said(what: string, status: number, body: unknown = SAID, headers: Record<string, string> = {}): Fault {
  return fault(what, on(answering(body, status, headers), told(`status ${status}`, true)));
}

/** The provider's message is withheld. */
function withheld(what: string, status: number, body: unknown = SAID, headers: Record<string, string> = {}): Fault {
  return fault(what, on(answering(body, status, headers), told(`status ${status}`, false)));
}

/** The provider considers the request itself invalid. */
function mistaken(what: string, status: number, body: unknown = SAID): Fault {
  return fault(what, on(answering(body, status), told(WORDS, true, REQUEST_FAULT)));
}

/** Longer than any error that is read to its end. */
const LONG = 'x'.repeat(2 * 1024 * 1024);
const HTML = { 'content-type': 'text/html' };
const PAGE = '<html><body><h1>502 Bad Gateway</h1><hr>cloudflare</body></html>';
const ANTHROPIC = { type: 'error', error: { type: 'overloaded_error', message: WORDS }, request_id: 'req_1' };
const GEMINI = [{ error: { code: 429, message: WORDS, status: 'RESOURCE_EXHAUSTED' } }];

export const ERRORS: Family = {
  title: 'It answers with an error',
  about:
    'A complete error response proves that no work was done, unless it reports usage or that it has filtered the prompt: it costs nothing. An error that breaks off, or is longer than 1 MB, proves neither. A stream whose client hangs up before the error arrives is charged for its input and one token. 400, 413 and 422 mean that the request itself is invalid; every other status becomes a 502. The provider’s message is passed on unless it concerns the operator (401, 403, 404, keys, accounts, balances) or contains one of the operator’s secrets.',
  faults: [
    said('answers 429 with Retry-After', 429, SAID, { 'retry-after': '2' }),
    said('answers 429 in a list, as Gemini does', 429, GEMINI),
    said('answers 500', 500),
    said('answers 500 with an error that is a string, as Together does', 500, { error: WORDS }),
    said('answers 503', 503),
    said('answers 504 with a detail', 504, { detail: WORDS }),
    said('answers 529, overloaded, as Anthropic does', 529, ANTHROPIC),
    withheld('answers 502 with a proxy’s error page', 502, PAGE, HTML),
    withheld('answers 500 with an empty body', 500, ''),
    mistaken('answers 400', 400),
    mistaken('answers 400 with a code that is a number, as vLLM does', 400, {
      error: { message: WORDS, type: 'BadRequestError', param: null, code: 400 },
    }),
    mistaken('answers 413', 413),
    mistaken('answers 422 with a flat object, as Mistral does', 422, {
      object: 'error',
      message: WORDS,
      type: 'invalid_request_error',
      param: null,
      code: '3051',
    }),
    withheld('answers 400 with a message about the operator’s balance', 400, {
      error: { message: `${WORDS}: your credit balance is too low` },
    }),
    withheld('answers 401', 401),
    withheld('answers 402 because the balance is used up, as DeepSeek does', 402, {
      error: { message: `${WORDS}: Insufficient Balance`, type: 'unknown_error' },
    }),
    withheld('answers 403', 403),
    withheld('answers 404', 404),
    withheld('answers 408', 408),
    withheld('answers 409', 409),
    withheld('redirects with 302', 302, '', { location: 'http://127.0.0.1:9/elsewhere' }),
    fault(
      'answers 500 with a body of more than 1 MiB',
      on(inTurn(answered({ ...JSON_TYPE, ...CHUNKED }, '', 500), sending(LONG)), failed('status 500')),
    ),
  ],
};
