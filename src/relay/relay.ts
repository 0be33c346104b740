/** What relaying an answer comes to: how it ended, what it used, and what is still to be sent once that is settled. */
import type { ClientError } from '../core/errors.ts';
import { NO_USAGE } from '../core/usage.ts';
import { DONE_EVENT } from '../wire/sse.ts';
import type { Metered } from './meter.ts';

/** The last bytes to the client, which wait for the settlement. */
export type Termination =
  | { readonly kind: 'json'; readonly body: Buffer }
  | { readonly kind: 'error'; readonly error: ClientError }
  /** The end of a stream that has begun: an error event if there is an error, then the end as the upstream sent it, or ours. */
  | { readonly kind: 'stream_end'; readonly error: ClientError | undefined; readonly end: Buffer }
  | { readonly kind: 'client_gone' };

export interface RelayResult {
  readonly metered: Metered;
  readonly termination: Termination;
  /** What happened, for the log. */
  readonly note: string | undefined;
}

/** The end of a stream where the upstream sent none. */
export const DONE_BYTES = Buffer.from(DONE_EVENT);

/** Where a stream goes. */
export interface StreamSink {
  /** True once the head was sent. */
  readonly started: boolean;
  /** True once the client is gone. */
  readonly gone: boolean;
  /** Sends the 200, before the first bytes. */
  start(): void;
  /** Resolves when more can be taken, or the client is gone. */
  write(bytes: Buffer): Promise<void> | undefined;
}

/** The upstream did no work: nothing is charged. */
export const NO_WORK: Metered = {
  usage: NO_USAGE,
  source: 'counted',
  written: undefined,
  isReportUnusable: false,
  completionId: undefined,
};
