/**
 * The result of relaying a response: what it used, and the final bytes, which are sent after
 * settlement.
 */
import type { ClientError } from '../core/errors.ts';
import type { ToolCall } from '../core/host-tools.ts';
import { NO_USAGE } from '../core/usage.ts';
import type { Meter, Metered, Scale } from './meter.ts';

/** How the response to the client ends. Its final bytes wait for the settlement. */
export type Termination =
  | { readonly kind: 'json'; readonly body: Buffer }
  | { readonly kind: 'bytes'; readonly body: Buffer; readonly contentType: string }
  | { readonly kind: 'error'; readonly error: ClientError }
  /** The end of a stream that has started. `end`: its last bytes, which say so if it failed. */
  | { readonly kind: 'stream_end'; readonly error: ClientError | undefined; readonly end: Buffer }
  | { readonly kind: 'client_gone' };

export interface RelayResult {
  readonly metered: Metered;
  readonly termination: Termination;
  /** What went wrong, for the log. */
  readonly note: string | undefined;
  /**
   * Neither a complete answer nor a complete error arrived, so the host may have done more work than the gateway saw, and
   * bills that. `rest`: a stream had begun, and what arrived of it can be counted. Undefined also for a stream that the
   * gateway stopped because its client left or its money was used up: then the host stops, too.
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

/** What a stream may write before more money must be held for it. */
export interface Allowance extends Scale {
  /** Once more tokens than this were written, it is to be asked. */
  readonly askAt: number;
  /** Whether what is held covers these calls of the host's own tools; if not, it is to be asked, too. */
  coversCalls(calls: readonly ToolCall[]): boolean;
  /**
   * Whether the stream may go on. Undefined if it may, for now. Otherwise all that is held is used up, and the stream
   * has to wait: the promise resolves when it may go on, or with the error that it is to end with.
   */
  ask(meter: Meter): Promise<ClientError | undefined> | undefined;
}

/** For what costs nothing. */
export const NO_BOUND: Allowance = {
  askAt: Number.POSITIVE_INFINITY,
  audioWeight: 1,
  imageWeight: 1,
  excessTokens: 0,
  ask: () => undefined,
  coversCalls: () => true,
};

/** The upstream did no work: nothing is charged. */
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
