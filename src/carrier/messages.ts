/** What travels between the main thread and a carrier in a thread of its own. */
import type { AddressInfo } from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import type { Config } from '../config/config.ts';

/** What a carrier's thread starts with. */
export interface CarrierStart {
  readonly config: Config;
  /** Its way to the ledger. */
  readonly ledger: MessagePort;
}

export type ToCarrier =
  | { readonly kind: 'count_in_flight' }
  /** Let what is under way finish for so long, then end. */
  | { readonly kind: 'stop'; readonly milliseconds: number };

export type FromCarrier =
  | { readonly kind: 'listening'; readonly address: AddressInfo }
  /** The address could not be had; each line is for a person. */
  | { readonly kind: 'failed'; readonly lines: readonly string[] }
  /** Lines of the log, each with its line break. */
  | { readonly kind: 'log'; readonly lines: string }
  | { readonly kind: 'in_flight'; readonly requests: number }
  | { readonly kind: 'stopped'; readonly unsettled: number };
