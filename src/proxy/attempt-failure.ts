/** What an attempt at an upstream failed of, where the upstream is to blame. */
import { causeOf } from '../core/failure.ts';
import type { AttemptFailure } from '../observe/failure-causes.ts';
import type { RelayResult } from '../relay/relay.ts';
import { errorOf, outcomeOf } from './respond.ts';

/** Undefined for an attempt that has answered. */
export function attemptFailureOf({ termination, note }: RelayResult): AttemptFailure | undefined {
  if (outcomeOf(termination) !== 'upstream_error') return undefined;
  const { failure } = errorOf(termination) ?? {};
  return { cause: failure === undefined ? 'broken' : causeOf(failure), message: note ?? '' };
}
