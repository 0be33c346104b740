/**
 * Classifies upstream answers: which of them prove that the upstream did not take the request, so that another may be tried.
 */
import { causeOf } from '../core/failure.ts';
import { parseJson } from '../core/json.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { errorFacts } from '../dialects/error-facts.ts';
import type { AttemptFailure } from '../observe/failure-causes.ts';
import { readErrorBody } from '../relay/failures.ts';
import type { RelayResult } from '../relay/relay.ts';
import { type Attempt, type Opening, UpstreamFailure } from '../upstream/attempt.ts';
import { isRejection } from '../upstream/retry.ts';
import { WITHHELD_STATUSES } from '../wire/upstream-error.ts';

/** A proof that an upstream did no work, or no billed work, for a request. */
interface Rejection {
  /** Undefined if the gateway itself caused it. */
  readonly failure: AttemptFailure | undefined;
  /** True if the upstream would not serve other models either. */
  readonly isOfUpstream: boolean;
  /** True if only a fallback model may be tried, because the same host would repeat its answer. */
  readonly isForFallback: boolean;
}

/**
 * The rejection, if no connection was made or the upstream rejected the request. Undefined if the upstream may have worked:
 * then its answer is sent to the client.
 */
export function rejectionOf(attempt: Attempt, opening: Opening): Rejection | undefined {
  if (opening instanceof UpstreamFailure) {
    if (attempt.sent || attempt.wasAborted) return undefined;
    const failure = attempt.isInconclusive ? undefined : { cause: opening.kind, message: opening.message };
    return { failure, isOfUpstream: true, isForFallback: false };
  }
  const { status } = opening;
  const isForFallback = !isRejection(status);
  if (isForFallback && status < 500 && !WITHHELD_STATUSES.has(status)) return undefined;
  const reason = isForFallback ? 'http_status' : 'rejected';
  const failure = { cause: causeOf({ reason, status }), message: `the upstream answered ${status}` };
  return { failure, isOfUpstream: isForFallback ? status === 401 : status !== 429, isForFallback };
}

/**
 * Whether a rejection is complete and reports no usage. Otherwise the upstream may bill the request, so no other upstream may
 * be tried. The bytes of the rejection can be read again afterwards.
 */
export async function provesNoWork(attempt: Attempt, dialect: Dialect): Promise<boolean> {
  const chunks: Buffer[] = [];
  try {
    const body = await readErrorBody(attempt, chunks);
    if (body === undefined) return false;
    return errorFacts(parseJson(body.toString('utf8'))?.value, dialect.readAnswer) === undefined;
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    return false;
  } finally {
    attempt.unread(chunks);
  }
}

/** Whether the host reported usage. It would bill the same request again, and probably answer the same. */
export function isBilled({ metered }: RelayResult): boolean {
  return metered.source === 'reported';
}

/** The settings to check, by the status of a host that refuses the gateway's own key or model. */
const OPERATOR_CHECKS: Readonly<Record<number, string>> = {
  401: 'its api_key for this provider',
  403: 'what its api_key for this provider may do, and the upstream name of the model',
  404: 'its base_url for this provider, and the upstream name of the model',
};

/**
 * Names the provider and the remedy if the host refused the gateway's own key or model. The chat dialect specifies a 502; the
 * others use 424, which client libraries do not retry.
 */
export function explainOperatorFault(
  relayed: RelayResult,
  provider: string,
  client: Dialect,
  host: Dialect,
): RelayResult {
  const { termination } = relayed;
  if (termination.kind !== 'error' || termination.error.operatorFault === undefined) return relayed;
  const { error } = termination;
  const status = termination.error.operatorFault;
  const remedy = `The operator of this gateway must check ${OPERATOR_CHECKS[status]}.`;
  const hint = host.name.endsWith('embeddings') && status !== 401 ? ` ${EMBEDDINGS_HINT}` : '';
  const message = `The provider ${provider} responded with status ${status}. ${remedy}${hint}`;
  const explained = { ...error, message, ...(client.name !== 'chat' && { status: 424 }) };
  return { ...relayed, termination: { ...termination, error: explained } };
}

/** Hosts answer with these statuses if a chat model is called for embeddings. */
const EMBEDDINGS_HINT = 'Embeddings need a model for embeddings, not one for chat.';

/**
 * Prevents client retries of upstream errors: they would multiply the gateway's own retries in an outage, and repeat billed
 * requests.
 */
export function withoutClientRetry(relayed: RelayResult): RelayResult {
  const { termination } = relayed;
  if (termination.kind !== 'error' || termination.error.code !== 'upstream_error') return relayed;
  return { ...relayed, termination: { ...termination, error: { ...termination.error, shouldRetry: false } } };
}
