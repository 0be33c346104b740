/** What must hold for every response of the gateway, whatever it and the host were sent. */
import { ERROR_STATUS, type ErrorCode } from '../../src/core/errors.ts';
import { parseJson } from '../../src/core/json.ts';
import { type Answer, type Circumstances, readAnswers } from './http.ts';

const RATE_HEADERS = ['limit', 'remaining', 'reset'].flatMap((what) => [
  `x-ratelimit-${what}-requests`,
  `x-ratelimit-${what}-tokens`,
]);
const REQUEST_ID = /^req_[0-9a-z]{26}$/;
/** The statuses that `invalid_request` has in addition to its usual one. */
const STATUSES_OF_INVALID = [404, 405, 408, 413, 414, 417, 431];
/** Responses have only these headers: nothing of the host's passes. */
const HEADERS: ReadonlySet<string> = new Set([
  ...RATE_HEADERS,
  ...['content-type', 'content-length', 'transfer-encoding', 'cache-control', 'x-request-id', 'date', 'connection'],
  ...['keep-alive', 'retry-after', 'x-should-retry', 'allow', 'www-authenticate', 'x-inf-gw-model'],
]);
const OWN_ERROR_EVENT = /^data: (\{"error":\{"code":"[a-z_]+","message":.*\}\})$/gm;

export interface Expectations extends Circumstances {
  /** No response may contain one of these in its headers, nor in a message of the gateway. */
  readonly secrets: readonly string[];
}

export interface Verdict {
  /** All final responses. */
  readonly answers: readonly Answer[];
  /** The connection ended in the middle of a response. */
  readonly isCut: boolean;
  readonly problems: readonly string[];
}

/** Judges everything that arrived over one connection. */
export function judge(bytes: Buffer, expectations: Expectations): Verdict {
  const { answers, rest, problem } = readAnswers(bytes, expectations);
  const problems = answers.flatMap((answer) => problemsOf(answer, expectations));
  if (problem !== undefined) problems.push(`not HTTP: ${problem}`);
  const leaked = leakIn(rest.toString('latin1').split('\r\n\r\n')[0] ?? '', expectations.secrets);
  if (leaked !== undefined) problems.push(`the beginning of an answer holds ${leaked}`);
  const final = answers.filter(({ status }) => status >= 200);
  return { answers: final, isCut: rest.length > 0, problems };
}

function problemsOf(answer: Answer, { secrets, mayLackBodies }: Expectations): string[] {
  const { status, headers, head, body } = answer;
  if (status < 200) return head === 'HTTP/1.1 100 Continue' ? [] : [`an interim response: ${JSON.stringify(head)}`];
  const problems: string[] = [];
  if (!REQUEST_ID.test(headers.get('x-request-id') ?? '')) problems.push('no X-Request-Id');
  const rates = RATE_HEADERS.filter((name) => /^\d+$/.test(headers.get(name) ?? ''));
  const isOutside = rates.length === 0 && isOutsideV1(answer);
  if (rates.length !== RATE_HEADERS.length && !isOutside) problems.push(`${rates.length} of six rate-limit headers`);
  for (const name of headers.keys()) if (!HEADERS.has(name)) problems.push(`the header ${name}`);
  const leaked = leakIn(status === 200 ? head : head + body.toString('latin1'), secrets);
  if (leaked !== undefined) problems.push(`it contains ${leaked}`);
  if (mayLackBodies && body.length === 0) return problems;
  if (status !== 200 && !(isOutside && status === 503)) problems.push(...errorProblems(status, body.toString('utf8')));
  else if (headers.get('content-type')?.startsWith('text/event-stream'))
    problems.push(...streamProblems(body, secrets));
  else if (parsed(body.toString('utf8')) === undefined) problems.push('its body is not JSON');
  return problems;
}

/** Health checks and errors for unknown paths. */
function isOutsideV1({ status }: Answer): boolean {
  return [200, 400, 404, 405, 414, 417, 431].includes(status);
}

function errorProblems(status: number, text: string): string[] {
  const body = parsed(text);
  const code = body?.error?.code as ErrorCode;
  const isInShape =
    Object.keys(body ?? {}).join() === 'error' &&
    Object.keys(body?.error ?? {}).join() === 'code,message' &&
    typeof body?.error?.message === 'string' &&
    body.error.message !== '';
  if (!isInShape) return [`an error in no shape: ${status} ${text.slice(0, 300)}`];
  if (code === 'internal_error') return [`an internal error of the gateway: ${text}`];
  const isOfCode = ERROR_STATUS[code] === status;
  const isOfInvalid = code === 'invalid_request' && STATUSES_OF_INVALID.includes(status);
  return isOfCode || isOfInvalid ? [] : [`status ${status} with ${text.slice(0, 300)}`];
}

function streamProblems(body: Buffer, secrets: readonly string[]): string[] {
  const text = body.toString('utf8');
  const own = [...text.matchAll(OWN_ERROR_EVENT)].map(([, data]) => data as string);
  const leaks = own.map((data) => leakIn(data, secrets)).filter((leak) => leak !== undefined);
  const problems = leaks.map((leak) => `an error event holds ${leak}`);
  if (own.some((data) => parsed(data)?.error?.code === 'internal_error'))
    problems.push('an internal error of the gateway');
  // A host's own final event may have more fields.
  if (!text.slice(-2_000).includes('[DONE]'))
    problems.push(`a stream that ends with ${JSON.stringify(text.slice(-100))}`);
  return problems;
}

function leakIn(text: string, secrets: readonly string[]): string | undefined {
  return secrets.find((secret) => text.includes(secret));
}

/** Parsed as an error response; anything else lacks these fields. */
function parsed(
  text: string,
): { readonly error?: { readonly code?: unknown; readonly message?: unknown } } | undefined {
  return parseJson(text)?.value as ReturnType<typeof parsed>;
}
