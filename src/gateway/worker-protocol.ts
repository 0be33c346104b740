/** What travels between the main thread and a worker in a thread of its own. */
import type { AddressInfo } from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import type { Config } from '../config/config.ts';
import type { SnapshotQuery } from '../observe/monitor.ts';
import type { CounterOptions } from '../tokens/counter.ts';
import type { WorkerSnapshot } from './worker.ts';

/** What a worker's thread starts with. */
export interface WorkerStart {
  readonly config: Config;
  /** Its way to the ledger. */
  readonly ledger: MessagePort;
  readonly counting?: CounterOptions | undefined;
}

/** What a worker is asked for. */
export type Question =
  | { readonly kind: 'in_flight' }
  | { readonly kind: 'look'; readonly look: SnapshotQuery }
  | { readonly kind: 'stop_request'; readonly id: string }
  | { readonly kind: 'reload'; readonly config: Config }
  /** Let what is under way finish for so long, then end. */
  | { readonly kind: 'stop'; readonly milliseconds: number };

/** What each kind of question is answered with. */
export interface Answers {
  in_flight: number;
  look: WorkerSnapshot;
  stop_request: boolean;
  reload: undefined;
  stop: number;
}

/** A question, and the number under which its answer comes back. */
export interface ToWorker {
  readonly ticket: number;
  readonly question: Question;
}

export type FromWorker =
  | { readonly kind: 'listening'; readonly address: AddressInfo }
  /** The address could not be had; each line is for a person. */
  | { readonly kind: 'failed'; readonly lines: readonly string[] }
  /** Lines of the log, each with its line break. */
  | { readonly kind: 'log'; readonly lines: string }
  | { readonly kind: 'answer'; readonly ticket: number; readonly answer: Answers[keyof Answers] };
