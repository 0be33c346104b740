/** The leases of all open requests, and the sum of their holds. */
import { IdTable } from '../../core/id-table.ts';
import { invariant } from '../../core/invariant.ts';
import type { Nanos } from '../../core/money.ts';
import type { Activity, Lease } from './activity.ts';
import type { Chain } from './level-cache.ts';

/** A lease, and the activities of its levels, innermost first. */
export interface OpenLease {
  readonly lease: Lease;
  readonly activities: readonly Activity[];
  /** The levels that admitted it; undefined if an earlier process admitted it. */
  readonly chain: Chain | undefined;
}

export class OpenLeases {
  readonly #byRequest = new IdTable<OpenLease>();
  #heldNanos: Nanos = 0n;
  /** Commands since the sum was last checked. */
  #unchecked = 0;

  /** Number of open leases. */
  get size(): number {
    return this.#byRequest.size;
  }

  get heldNanos(): Nanos {
    return this.#heldNanos;
  }

  /** The lease of a request; undefined if it is not open. */
  find(requestId: string): OpenLease | undefined {
    return this.#byRequest.get(requestId);
  }

  /** Like `find`, but throws an InvariantError if the request is not open. */
  get(requestId: string): OpenLease {
    const open = this.#byRequest.get(requestId);
    invariant(open !== undefined, () => `request ${requestId} is not open: it was settled twice or never admitted`);
    return open;
  }

  all(): Lease[] {
    return [...this.#byRequest.values()].map(({ lease }) => lease);
  }

  /** Opens a lease. Throws an InvariantError if its request has one. */
  add(open: OpenLease): void {
    const { lease, activities } = open;
    const { requestId, holdNanos } = lease.hold;
    invariant(this.#byRequest.add(requestId, open), () => `request ${requestId} is admitted, but it is already open`);
    for (const activity of activities) activity.open(lease);
    this.#heldNanos += holdNanos;
  }

  /** Ends a lease. Throws an InvariantError if it is not open. */
  remove({ lease, activities }: OpenLease): void {
    const { requestId, holdNanos } = lease.hold;
    for (const activity of activities) activity.end(lease);
    this.#byRequest.remove(requestId);
    this.#heldNanos -= holdNanos;
  }

  /** Replaces an open lease. Throws an InvariantError if it is not open. */
  replace({ lease: before, ...place }: OpenLease, after: Lease): void {
    for (const activity of place.activities) activity.replace(before, after);
    this.#byRequest.replace(after.hold.requestId, { lease: after, ...place });
    this.#heldNanos += after.hold.holdNanos - before.hold.holdNanos;
  }

  /**
   * Throws an InvariantError if the sum differs from the leases. Adds them up once per as many commands as there are
   * leases, so the amortized cost is O(1) per command.
   */
  checkSum(commands: number): void {
    this.#unchecked += commands;
    if (this.#unchecked < this.#byRequest.size) return;
    this.#unchecked = 0;
    let held = 0n;
    for (const { lease } of this.#byRequest.values()) held += lease.hold.holdNanos;
    invariant(
      held === this.#heldNanos,
      () => `${this.#byRequest.size} open leases hold ${held} nanos, but their sum is kept as ${this.#heldNanos}`,
    );
  }
}
