/** Which answers of an upstream prove that it did not take a request, so that another may be tried. */
import { causeOf } from '../core/failure.ts';
import type { AttemptFailure } from '../observe/failure-causes.ts';
import type { RelayResult } from '../relay/relay.ts';
import { type Attempt, UpstreamFailure } from '../upstream/attempt.ts';
import { isRejection } from '../upstream/retry.ts';

/** Why an upstream cannot have begun to work. */
interface Rejection {
  readonly failure: AttemptFailure;
  /** True where the upstream would not serve another model either. */
  readonly isOfUpstream: boolean;
}

/** The rejection, where the upstream cannot have begun to work: no connection was made, or it rejected the request. */
export async function rejectionOf(attempt: Attempt): Promise<Rejection | undefined> {
  try {
    const { status } = await attempt.head();
    if (!isRejection(status)) return undefined;
    const failure = { cause: causeOf({ reason: 'rejected', status }), message: `the upstream answered ${status}` };
    return { failure, isOfUpstream: status !== 429 };
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    if (attempt.sent || attempt.wasAborted) return undefined;
    return { failure: { cause: error.kind, message: error.message }, isOfUpstream: true };
  }
}

/** The gateway has retried for the client. If clients retried as well, an outage would multiply. */
export function withoutClientRetry(relayed: RelayResult): RelayResult {
  const { termination } = relayed;
  if (termination.kind !== 'error' || termination.error.code !== 'upstream_error') return relayed;
  return { ...relayed, termination: { ...termination, error: { ...termination.error, shouldRetry: false } } };
}
