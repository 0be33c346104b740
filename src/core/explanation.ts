/**
 * Explanations of a request: its past or predicted outcome step by step, in the form that the gateway sends and commands print.
 */

/** `skipped`: an earlier step refused the request. */
export type StepStatus = 'ok' | 'refused' | 'skipped';

/** The message of a skipped step without figures. */
export const NOT_REACHED = 'not reached';
/** Prefix of the figures of a skipped check. `not reached` could be misread as a statement about the limit. */
export const NOT_CHECKED = 'not checked';

/** One step, with its figures under names of its own. */
export interface ExplainedStep {
  readonly step: string;
  readonly status: StepStatus;
  readonly message: string;
  readonly [figure: string]: unknown;
}

export interface Explanation {
  /** The HTTP status of the response; null if no response was delivered to a client. */
  readonly status: number | null;
  /** The code of the error; null if there is none. */
  readonly code: string | null;
  readonly message: string;
  readonly steps: readonly ExplainedStep[];
}

/** A request body to explain. */
export interface ExplainQuestion {
  readonly keyId: string;
  /** The request path; undefined to infer it from the body. */
  readonly path: string | undefined;
  /** The end user in the user header; undefined without that header. */
  readonly user: string | undefined;
  readonly body: Uint8Array;
}

/** Returns a step with status `ok`. */
export function okStep(step: string, message: string, figures: Readonly<Record<string, unknown>> = {}): ExplainedStep {
  return { step, status: 'ok', message, ...figures };
}
