/** The result of relaying a response: its usage, and its final bytes, which are sent after settlement. */
import type { ClientError } from '../core/errors.ts';
import type { ToolCall } from '../core/host-tools.ts';
import { NO_USAGE } from '../core/usage.ts';
import type { Meter, Metered, Scale } from './meter.ts';

/** How the response to the client ends. Its final bytes wait for the settlement. */
export type Termination =
  | { readonly kind: 'json'; readonly body: Buffer }
  | { readonly kind: 'bytes'; readonly body: Buffer; readonly contentType: string }
  | { readonly kind: 'error'; readonly error: ClientError }
  /** The end of a started stream. `end`: its last bytes, which contain the error if there is one. */
  | { readonly kind: 'stream_end'; readonly error: ClientError | undefined; readonly end: Buffer }
  | { readonly kind: 'client_gone' };

export interface RelayResult {
  readonly metered: Metered;
  readonly termination: Termination;
  /** The problem, for the log. */
  readonly note: string | undefined;
  /**
   * The end of the response was not seen, so the host may have done, and may bill, more work than the gateway saw. `rest`: a
   * stream had begun, so its visible part can be counted. Undefined also for a stream that the gateway stopped because its
   * client left or its money was used up: then the host stops, too.
   */
  readonly unseen?: 'answer' | 'rest' | undefined;
}

/** The client's side of a stream. */
export interface StreamSink {
  /** True once the headers were sent. */
  readonly started: boolean;
  /** True once the client has hung up. */
  readonly gone: boolean;
  /** Sends status 200 and the headers. `contentType`: undefined for a stream of events. */
  start(contentType?: string): void;
  /**
   * Returns a promise if the client is behind: it resolves when the client has caught up or hung
   * up.
   */
  write(bytes: Buffer): Promise<void> | undefined;
}

/** The output that a stream may write before its hold must grow. */
export interface Allowance extends Scale {
  /** The output above which `ask` must be called. */
  readonly askAt: number;
  /** Whether the hold covers these calls of the host's own tools; if not, `ask` must be called. */
  coversCalls(calls: readonly ToolCall[]): boolean;
  /**
   * Whether the stream may continue. Undefined if it may, for now. Otherwise the hold is used up and the stream must wait:
   * the promise resolves when it may continue, or to the error that ends it.
   */
  ask(meter: Meter): Promise<ClientError | undefined> | undefined;
}

/** For requests that cost nothing. */
export const NO_BOUND: Allowance = {
  askAt: Number.POSITIVE_INFINITY,
  audioWeight: 1,
  imageWeight: 1,
  excessTokens: 0,
  ask: () => undefined,
  coversCalls: () => true,
};

/** For an upstream that did no work: charges 0. */
export const NO_WORK: Metered = {
  usage: NO_USAGE,
  source: 'counted',
  calls: [],
  written: undefined,
  earlyReport: undefined,
  isWhole: true,
  silentMs: 0,
  isReportUnusable: false,
  serviceTier: undefined,
  completionId: undefined,
  model: undefined,
  kept: undefined,
};
