/** What would happen to a request, or what did, step by step: as the gateway says it and commands print it. */

/** `skipped`: it was not reached, since an earlier step has refused the request. */
export type StepStatus = 'ok' | 'refused' | 'skipped';

/** The message of a skipped step without figures: an earlier step ended the way of the request. */
export const NOT_REACHED = 'not reached';
/** Precedes the figures of a skipped check. Not `not reached`, which would read as if the limit were not. */
export const NOT_CHECKED = 'not checked';

/** One step, with its figures under names of its own. */
export interface ExplainedStep {
  readonly step: string;
  readonly status: StepStatus;
  readonly message: string;
  readonly [figure: string]: unknown;
}

export interface Explanation {
  /** The HTTP status of the response; null if there is none yet, or nobody got it. */
  readonly status: number | null;
  /** The code of the error; null if there is none. */
  readonly code: string | null;
  readonly message: string;
  readonly steps: readonly ExplainedStep[];
}

/** A body whose way through a gateway is to be explained. */
export interface ExplainQuestion {
  readonly keyId: string;
  /** The path that it would be sent to; undefined to go by what is in it. */
  readonly path: string | undefined;
  /** The end user whom its header names; undefined without that header. */
  readonly user: string | undefined;
  readonly body: Uint8Array;
}

/** A step that lets the request pass. */
export function okStep(step: string, message: string, figures: Readonly<Record<string, unknown>> = {}): ExplainedStep {
  return { step, status: 'ok', message, ...figures };
}
