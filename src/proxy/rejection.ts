/** Which answers of an upstream prove that it did not take a request, so that another may be tried. */
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

/** Why an upstream did no work for a request, or none that it bills. */
interface Rejection {
  /** Undefined where the gateway itself is to blame. */
  readonly failure: AttemptFailure | undefined;
  /** True where the upstream would not serve another model either. */
  readonly isOfUpstream: boolean;
  /** Whether only a fallback model may be tried: the same host would answer the same. */
  readonly isForFallback: boolean;
}

/**
 * The rejection, where no connection was made or the upstream rejected the request. Undefined if the upstream may have worked:
 * then its answer goes to the client.
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
 * Whether a rejection is complete and reports no usage. Otherwise the upstream may bill the request, so no other upstream
 * may be tried. What was read of the rejection can be read again.
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

/** Whether the host says what it bills. It would bill the same request again, and most likely answer it as it has. */
export function isBilled({ metered }: RelayResult): boolean {
  return metered.source === 'reported';
}

/** What the operator has to check, by the status of a host that refuses the gateway's own key or model. */
const OPERATOR_CHECKS: Readonly<Record<number, string>> = {
  401: 'its api_key for this provider',
  403: 'what its api_key for this provider may do, and the upstream name of the model',
  404: 'its base_url for this provider, and the upstream name of the model',
};

/**
 * Names the provider and the operator's remedy where the host refused the gateway's own key or model. Outside of chat, whose
 * specification has a 502, the status is 424: no client library retries that one.
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

/** Hosts answer with these statuses where a model for chat is asked for embeddings. */
const EMBEDDINGS_HINT = 'Embeddings need a model for embeddings, not one for chat.';

/** If clients retried what the gateway has retried, an outage would multiply; and so would the bill, if they retried what was billed. */
export function withoutClientRetry(relayed: RelayResult): RelayResult {
  const { termination } = relayed;
  if (termination.kind !== 'error' || termination.error.code !== 'upstream_error') return relayed;
  return { ...relayed, termination: { ...termination, error: { ...termination.error, shouldRetry: false } } };
}
