/** The messages between the main thread and a worker in a thread of its own. */
import type { AddressInfo } from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import type { Config } from '../config/config.ts';
import type { ExplainQuestion, Explanation } from '../core/explanation.ts';
import type { CertificatePair } from '../core/settings.ts';
import type { WorkerQuery, WorkerSnapshot } from '../observe/worker-snapshot.ts';
import type { GracePeriods } from './worker.ts';

/** What a worker's thread is started with. */
export interface WorkerStart {
  readonly config: Config;
  readonly certificate: CertificatePair | undefined;
  /** Its connection to the ledger thread. */
  readonly ledger: MessagePort;
  readonly grace?: GracePeriods | undefined;
  readonly descriptors?: readonly number[] | undefined;
}

/** A call of a worker's method. */
export type WorkerCall =
  | { readonly kind: 'in_flight' }
  | { readonly kind: 'snapshot'; readonly query: WorkerQuery }
  | { readonly kind: 'stop_request'; readonly id: string }
  | { readonly kind: 'explain'; readonly question: ExplainQuestion }
  | { readonly kind: 'reload'; readonly config: Config }
  | { readonly kind: 'show_certificate'; readonly certificate: CertificatePair }
  | { readonly kind: 'sockets' }
  | { readonly kind: 'leave'; readonly quietMs: number }
  | { readonly kind: 'stop'; readonly milliseconds: number };

/** The reply to each kind of call. */
export interface WorkerReplies {
  in_flight: number;
  snapshot: WorkerSnapshot;
  stop_request: boolean;
  explain: Explanation;
  reload: undefined;
  show_certificate: undefined;
  /** Their descriptors. */
  sockets: readonly number[];
  leave: undefined;
  stop: number;
}

export type WorkerReply = WorkerReplies[keyof WorkerReplies];

/** A call, and the ticket that its reply carries. */
export interface ToWorker {
  readonly ticket: number;
  readonly call: WorkerCall;
}

export type FromWorker =
  | { readonly kind: 'listening'; readonly address: AddressInfo }
  /** The worker could not start: the lines of a UserError. */
  | { readonly kind: 'failed'; readonly lines: readonly string[] }
  /** Lines of the log, each with its line break. */
  | { readonly kind: 'log'; readonly lines: string }
  | { readonly kind: 'reply'; readonly ticket: number; readonly reply: WorkerReply };
