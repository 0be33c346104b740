/** Which answers of an upstream prove that it did not take a request, so that another may be tried. */
import { causeOf } from '../core/failure.ts';
import { parseJson } from '../core/json.ts';
import { PatientTimer } from '../core/patient-timer.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { errorFacts } from '../dialects/error-facts.ts';
import type { AttemptFailure } from '../observe/failure-causes.ts';
import { readErrorBody } from '../relay/failures.ts';
import type { RelayResult } from '../relay/relay.ts';
import { type Attempt, type Opening, UpstreamFailure } from '../upstream/attempt.ts';
import { isRejection } from '../upstream/retry.ts';

/** Why an upstream cannot have begun to work. */
interface Rejection {
  /** Undefined where the gateway itself is to blame. */
  readonly failure: AttemptFailure | undefined;
  /** True where the upstream would not serve another model either. */
  readonly isOfUpstream: boolean;
}

/** The rejection, where the upstream cannot have begun to work: no connection was made, or it rejected the request. */
export function rejectionOf(attempt: Attempt, opening: Opening): Rejection | undefined {
  if (opening instanceof UpstreamFailure) {
    if (attempt.sent || attempt.wasAborted) return undefined;
    const failure = attempt.isInconclusive ? undefined : { cause: opening.kind, message: opening.message };
    return { failure, isOfUpstream: true };
  }
  const { status } = opening;
  if (!isRejection(status)) return undefined;
  const failure = { cause: causeOf({ reason: 'rejected', status }), message: `the upstream answered ${status}` };
  return { failure, isOfUpstream: status !== 429 };
}

/** How long a rejection is read before the next upstream is tried. Hosts send one at once. */
const REJECTION_MS = 1_000;

/**
 * Whether the upstream says that it has worked before it rejected a request, and bills that; `unknown` if the rejection
 * is not complete. It can be read again.
 */
export async function workBefore(attempt: Attempt, dialect: Dialect): Promise<'none' | 'billed' | 'unknown'> {
  const timer = new PatientTimer(() => attempt.abort(), REJECTION_MS);
  try {
    const body = await readErrorBody(attempt);
    if (body === undefined) return 'unknown';
    attempt.unread(body);
    return errorFacts(parseJson(body.toString('utf8'))?.value, dialect.readAnswer) === undefined ? 'none' : 'billed';
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    return 'unknown';
  } finally {
    timer.clear();
  }
}

/** Whether the host says what it bills. It would bill the same request again, and most likely answer it as it has. */
export function isBilled({ metered }: RelayResult): boolean {
  return metered.source === 'reported';
}

/** If clients retried what the gateway has retried, an outage would multiply; and so would the bill, if they retried what was billed. */
export function withoutClientRetry(relayed: RelayResult): RelayResult {
  const { termination } = relayed;
  if (termination.kind !== 'error' || termination.error.code !== 'upstream_error') return relayed;
  return { ...relayed, termination: { ...termination, error: { ...termination.error, shouldRetry: false } } };
}
