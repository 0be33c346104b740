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
const TAKEOVER_VERSION = 14;

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

/** What the earlier process serves to the next one, which calls the first four in this order. */
export interface PredecessorCalls {
  /** Sends this many listening sockets, through the second connection. */
  sockets(count: number): void;
  /** All is done that takes long, and the next process can open the state: decides nothing more. */
  pause(): Promise<Handover>;
  /** The next process has opened the state. Resolves when it is to decide: this one asks it from then on. */
  ready(): Promise<void>;
  /** The next process accepts connections. */
  serving(): void;
  told(port: number, told: Told): void;
  /** Of all its threads. */
  snapshots(query: WorkerQuery): Promise<readonly WorkerSnapshot[]>;
  stopRequest(id: string): Promise<boolean>;
  /** The next process shuts down: requests in flight have this many milliseconds left. */
  stop(milliseconds: number): void;
}

/** What the next process serves to the earlier one. */
export interface SuccessorCalls {
  /** The earlier process goes on: no call is answered any more. */
  refused(lines: readonly string[]): void;
  /** Undefined once the thread at this port has ended. */
  asked(port: number, asked: Ask | undefined): void;
  /** All is settled: what metrics have counted, if they are configured. */
  end(snapshots: readonly WorkerSnapshot[]): void;
}
