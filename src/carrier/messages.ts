/** What travels between the main thread and a carrier in a thread of its own. */
import type { AddressInfo } from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import type { Config } from '../config/config.ts';
import type { BoardLook } from '../live/board.ts';
import type { CarrierView, Patience } from './carrier.ts';

/** What a carrier's thread starts with. */
export interface CarrierStart {
  readonly config: Config;
  /** Its way to the ledger. */
  readonly ledger: MessagePort;
  readonly patience?: Patience | undefined;
}

/** What a carrier is asked for. */
export type Question =
  | { readonly kind: 'in_flight' }
  | { readonly kind: 'look'; readonly look: BoardLook }
  | { readonly kind: 'stop_request'; readonly id: string }
  | { readonly kind: 'reload'; readonly config: Config }
  /** Let what is under way finish for so long, then end. */
  | { readonly kind: 'stop'; readonly milliseconds: number };

/** What each kind of question is answered with. */
export interface Answers {
  in_flight: number;
  look: CarrierView;
  stop_request: boolean;
  reload: undefined;
  stop: number;
}

/** A question, and the number under which its answer comes back. */
export interface ToCarrier {
  readonly ticket: number;
  readonly question: Question;
}

export type FromCarrier =
  | { readonly kind: 'listening'; readonly address: AddressInfo }
  /** The address could not be had; each line is for a person. */
  | { readonly kind: 'failed'; readonly lines: readonly string[] }
  /** Lines of the log, each with its line break. */
  | { readonly kind: 'log'; readonly lines: string }
  | { readonly kind: 'answer'; readonly ticket: number; readonly answer: Answers[keyof Answers] };
