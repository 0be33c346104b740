/** Messages between two processes from the start of a takeover until the earlier process exits. */
import { serialize } from 'node:v8';
import type { TakeoverOffer } from '../control/protocol.ts';
import { UserError } from '../core/errors.ts';
import type { Handover } from '../ledger/handover.ts';
import type { Ask, Told } from '../ledger/protocol.ts';
import type { WorkerQuery, WorkerSnapshot } from '../observe/worker-snapshot.ts';

/**
 * Version of these messages and of all types in them: `Handover`, the ledger's commands and replies, and snapshots. Increase it
 * with every change of those types: a takeover requires equal versions.
 */
const TAKEOVER_VERSION = 14;

/** The versions of this process. The second byte of V8's serialization format is its version. */
export const OFFER: TakeoverOffer = {
  pid: process.pid,
  takeover: TAKEOVER_VERSION,
  serialization: serialize(0)[1] as number,
};

/** Throws a UserError unless both versions are equal. */
export function assertSame({ takeover, serialization }: TakeoverOffer): void {
  if (takeover === OFFER.takeover && serialization === OFFER.serialization) return;
  throw new UserError(
    'its version of inf-gw or of Node is too different for a takeover; stop the running gateway, then start the new one',
  );
}

/** Calls served by the earlier process. The next process makes the first four in this order. */
export interface PredecessorCalls {
  /** Sends `count` listening sockets through the second connection. */
  sockets(count: number): void;
  /** Stops deciding and hands over the ledger's state. Called when the next process is loaded and ready to open the state. */
  pause(): Promise<Handover>;
  /** The next process has opened the state. Resolves when it has become the decider for both processes. */
  ready(): Promise<void>;
  /** The next process accepts connections. */
  serving(): void;
  told(port: number, told: Told): void;
  /** Snapshots of all threads. */
  snapshots(query: WorkerQuery): Promise<readonly WorkerSnapshot[]>;
  stopRequest(id: string): Promise<boolean>;
  /** The next process shuts down. Requests in flight get this many milliseconds. */
  stop(milliseconds: number): void;
}

/** Calls served by the next process. */
export interface SuccessorCalls {
  /** The handover has failed and the earlier process continues. Pending calls get no reply. */
  refused(lines: readonly string[]): void;
  /** `asked` is undefined when the thread at this port has ended. */
  asked(port: number, asked: Ask | undefined): void;
  /** All leases are settled. `snapshots`: the final metrics, if configured. */
  end(snapshots: readonly WorkerSnapshot[]): void;
}
