/**
 * What two processes say to each other while one takes over from the other, and until the earlier
 * one has ended.
 */
import { serialize } from 'node:v8';
import type { TakeoverOffer } from '../control/protocol.ts';
import { UserError } from '../core/errors.ts';
import type { Handover } from '../ledger/handover.ts';
import type { Ask, Told } from '../ledger/protocol.ts';
import type { WorkerQuery, WorkerSnapshot } from '../observe/worker-snapshot.ts';

/**
 * Of these messages and all that is in them: of `Handover` and the ledger's commands and replies, and
 * of snapshots. A process takes over only from one with the same version, so it goes up with every
 * change of those.
 */
const TAKEOVER_VERSION = 9;

/** What this process speaks. V8 says the version of its format in the second byte of what it serializes. */
export const OFFER: TakeoverOffer = {
  pid: process.pid,
  takeover: TAKEOVER_VERSION,
  serialization: serialize(0)[1] as number,
};

/** Throws a UserError unless both processes speak the same. */
export function assertSame({ takeover, serialization }: TakeoverOffer): void {
  if (takeover === OFFER.takeover && serialization === OFFER.serialization) return;
  throw new UserError(
    'its version of inf-gw or of Node is too different for a takeover; stop the running gateway, then start the new one',
  );
}

/** In this order, up to `serving`. */
export type FromSuccessor =
  /** Asks for this many listening sockets, through the second connection. */
  | { readonly kind: 'sockets'; readonly count: number }
  /** All is done that takes long, and it can open the state: decide nothing more. */
  | { readonly kind: 'pause' }
  /** It has opened the state, decides nothing yet, and waits for `go`. */
  | { readonly kind: 'ready' }
  /** It accepts connections. */
  | { readonly kind: 'serving' }
  | { readonly kind: 'told'; readonly port: number; readonly told: Told }
  | { readonly kind: 'call'; readonly ticket: number; readonly call: PredecessorCall }
  /** It shuts down: requests in flight have this many milliseconds left. */
  | { readonly kind: 'stop'; readonly milliseconds: number };

export type FromPredecessor =
  | { readonly kind: 'refused'; readonly lines: readonly string[] }
  | { readonly kind: 'handover'; readonly handover: Handover }
  /** From here on the next process decides, and this one asks it. */
  | { readonly kind: 'go' }
  /** Undefined once the thread at this port has ended. */
  | { readonly kind: 'asked'; readonly port: number; readonly asked: Ask | undefined }
  | { readonly kind: 'reply'; readonly ticket: number; readonly reply: PredecessorReply }
  /** All is settled: what metrics have counted, if they are configured. */
  | { readonly kind: 'end'; readonly snapshots: readonly WorkerSnapshot[] };

export type PredecessorCall =
  | { readonly kind: 'snapshots'; readonly query: WorkerQuery }
  | { readonly kind: 'stop_request'; readonly id: string };

/** The reply to each kind of call. */
export interface PredecessorReplies {
  snapshots: readonly WorkerSnapshot[];
  stop_request: boolean;
}

export type PredecessorReply = PredecessorReplies[keyof PredecessorReplies];
