/** What an attempt at an upstream reports: of what it failed, and its part of the trace of its request. */
import { causeOf } from '../core/failure.ts';
import type { AttemptTrace, RequestTrace } from '../core/request-trace.ts';
import type { ModelRequest } from '../dialects/dialect.ts';
import type { AttemptFailure } from '../observe/failure-causes.ts';
import type { RelayResult } from '../relay/relay.ts';
import type { Attempt } from '../upstream/attempt.ts';
import { errorOf, outcomeOf } from './respond.ts';

/** Where the upstream is to blame; undefined for an attempt that has answered. */
export function attemptFailureOf({ termination, note }: RelayResult): AttemptFailure | undefined {
  if (outcomeOf(termination) !== 'upstream_error') return undefined;
  const { failure } = errorOf(termination) ?? {};
  return { cause: failure === undefined ? 'broken' : causeOf(failure), message: note ?? '' };
}

/** An attempt is about to begin; undefined if its request is not traced. `model`: the upstream's own name of it. */
export function traceAttempt(
  trace: RequestTrace | undefined,
  { dialect, stream, choices, maxOutput }: ModelRequest,
  upstream: string,
  model: string,
): AttemptTrace | undefined {
  return trace?.attempt({ upstream, model, dialect: dialect.name, stream, choices, maxOutput });
}

export function traceHead(trace: AttemptTrace | undefined, attempt: Attempt): void {
  if (trace === undefined) return;
  attempt.head().then(
    ({ status }) => trace.receiveHead(status),
    () => {},
  );
}

/** `relayed` is undefined if another attempt follows. */
export function traceEnd(
  trace: AttemptTrace | undefined,
  attempt: Attempt | undefined,
  relayed: RelayResult | undefined,
  failure: AttemptFailure | undefined,
): void {
  trace?.end({
    cause: failure?.cause,
    outcome: relayed && outcomeOf(relayed.termination),
    firstByteMs: attempt?.firstByteMs,
    completionId: relayed?.metered.completionId,
    model: relayed?.metered.model,
  });
}
