/** What the benchmark of several gateways says to the processes of their ledgers, and hears back. */

export type Arrivals =
  /** As many requests in flight all the time. */
  { readonly kind: 'closed'; readonly inFlight: number } | { readonly kind: 'open'; readonly perSecond: number };

export interface NodeOrder {
  readonly url: string;
  readonly name: string;
  /** The number of keys that requests are spread over. */
  readonly keys: number;
  /** The number of end users that requests name; undefined if they name none. */
  readonly users?: number | undefined;
  readonly arrivals: Arrivals;
  readonly seconds: number;
}

export type NodeReport =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'done';
      readonly admissionsMs: readonly number[];
      readonly settled: number;
      readonly cpuMicroseconds: number;
    };

/** How long a gateway took to read the state of the last minute, and the heap that this takes. */
export interface StartReport {
  readonly startMs: number;
  readonly heapBytes: number;
}
