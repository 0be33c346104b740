/** What the benchmark of several gateways says to the processes of their ledgers, and hears back. */

export type Arrivals =
  /** As many requests in flight all the time. */
  { readonly kind: 'closed'; readonly inFlight: number } | { readonly kind: 'open'; readonly perSecond: number };

export interface NodeOrder {
  readonly url: string;
  readonly name: string;
  /** The number of keys that requests are spread over. */
  readonly keys: number;
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
