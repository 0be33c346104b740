/** What holds of every answer of the gateway, whatever it was sent and whatever the host answered. */
import { ERROR_STATUS, type ErrorCode } from '../../src/core/errors.ts';
import { parseJson } from '../../src/core/json.ts';
import { type Answer, type Circumstances, readAnswers } from './http.ts';

const RATE_HEADERS = ['limit', 'remaining', 'reset'].flatMap((what) => [
  `x-ratelimit-${what}-requests`,
  `x-ratelimit-${what}-tokens`,
]);
const REQUEST_ID = /^req_[0-9a-z]{26}$/;
/** The statuses that `invalid_request` has beside its usual one. */
const STATUSES_OF_INVALID = [404, 405, 408, 413, 414, 417, 431];
/** The head of an answer holds these and no others: nothing of the host's passes. */
const HEADERS: ReadonlySet<string> = new Set([
  ...RATE_HEADERS,
  ...['content-type', 'content-length', 'transfer-encoding', 'cache-control', 'x-request-id', 'date', 'connection'],
  ...['keep-alive', 'retry-after', 'x-should-retry', 'allow', 'x-inf-gw-model'],
]);
const OWN_ERROR_EVENT = /^data: (\{"error":\{"code":"[a-z_]+","message":.*\}\})$/gm;

export interface Expectations extends Circumstances {
  /** No answer may hold one of these in its head, nor in words of the gateway. */
  readonly secrets: readonly string[];
}

export interface Verdict {
  /** All final answers. */
  readonly answers: readonly Answer[];
  /** The connection ended in the middle of an answer. */
  readonly isCut: boolean;
  readonly faults: readonly string[];
}

/** Judges all that came over one connection. */
export function judge(bytes: Buffer, expectations: Expectations): Verdict {
  const { answers, rest, fault } = readAnswers(bytes, expectations);
  const faults = answers.flatMap((answer) => faultsOf(answer, expectations));
  if (fault !== undefined) faults.push(`not HTTP: ${fault}`);
  const leaked = leakIn(rest.toString('latin1').split('\r\n\r\n')[0] ?? '', expectations.secrets);
  if (leaked !== undefined) faults.push(`the beginning of an answer holds ${leaked}`);
  const final = answers.filter(({ status }) => status >= 200);
  return { answers: final, isCut: rest.length > 0, faults };
}

function faultsOf(answer: Answer, { secrets, mayLackBodies }: Expectations): string[] {
  const { status, headers, head, body } = answer;
  if (status < 200) return head === 'HTTP/1.1 100 Continue' ? [] : [`an interim answer: ${JSON.stringify(head)}`];
  const faults: string[] = [];
  if (!REQUEST_ID.test(headers.get('x-request-id') ?? '')) faults.push('no X-Request-Id');
  const rates = RATE_HEADERS.filter((name) => /^\d+$/.test(headers.get(name) ?? ''));
  const isOutside = rates.length === 0 && isOutsideV1(answer);
  if (rates.length !== RATE_HEADERS.length && !isOutside) faults.push(`${rates.length} of six rate-limit headers`);
  for (const name of headers.keys()) if (!HEADERS.has(name)) faults.push(`the header ${name}`);
  const leaked = leakIn(status === 200 ? head : head + body.toString('latin1'), secrets);
  if (leaked !== undefined) faults.push(`it holds ${leaked}`);
  if (mayLackBodies && body.length === 0) return faults;
  if (status !== 200 && !(isOutside && status === 503)) faults.push(...errorFaults(status, body.toString('utf8')));
  else if (headers.get('content-type')?.startsWith('text/event-stream')) faults.push(...streamFaults(body, secrets));
  else if (parsed(body.toString('utf8')) === undefined) faults.push('its body is not JSON');
  return faults;
}

/** Probes, and what is wrong with paths that are not those of the interface. */
function isOutsideV1({ status }: Answer): boolean {
  return [200, 400, 404, 405, 414, 417, 431].includes(status);
}

function errorFaults(status: number, text: string): string[] {
  const body = parsed(text);
  const code = body?.error?.code as ErrorCode;
  const isInShape =
    Object.keys(body ?? {}).join() === 'error' &&
    Object.keys(body?.error ?? {}).join() === 'code,message' &&
    typeof body?.error?.message === 'string' &&
    body.error.message !== '';
  if (!isInShape) return [`an error in no shape: ${status} ${text.slice(0, 300)}`];
  if (code === 'internal_error') return [`a fault of the gateway: ${text}`];
  const isOfCode = ERROR_STATUS[code] === status;
  const isOfInvalid = code === 'invalid_request' && STATUSES_OF_INVALID.includes(status);
  return isOfCode || isOfInvalid ? [] : [`status ${status} with ${text.slice(0, 300)}`];
}

function streamFaults(body: Buffer, secrets: readonly string[]): string[] {
  const text = body.toString('utf8');
  const own = [...text.matchAll(OWN_ERROR_EVENT)].map(([, data]) => data as string);
  const leaks = own.map((data) => leakIn(data, secrets)).filter((leak) => leak !== undefined);
  const faults = leaks.map((leak) => `an error event holds ${leak}`);
  if (own.some((data) => parsed(data)?.error?.code === 'internal_error')) faults.push('a fault of the gateway');
  // A host's own last event may have more fields.
  if (!text.slice(-2_000).includes('[DONE]'))
    faults.push(`a stream that ends with ${JSON.stringify(text.slice(-100))}`);
  return faults;
}

function leakIn(text: string, secrets: readonly string[]): string | undefined {
  return secrets.find((secret) => text.includes(secret));
}

/** As an error answer is read; whatever else it is, it lacks these fields. */
function parsed(
  text: string,
): { readonly error?: { readonly code?: unknown; readonly message?: unknown } } | undefined {
  return parseJson(text)?.value as ReturnType<typeof parsed>;
}
