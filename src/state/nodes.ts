/** The gateways that share a state: which are alive, how busy they are, and what they have in flight. */
import type { LogLoss } from '../core/log-loss.ts';
import type { Nanos } from '../core/money.ts';
import type { RequestRecord } from './requests.ts';

/** `silent`: without heartbeats for so long that the other gateways consider it dead. */
export type NodeState = 'alive' | 'silent' | 'stopped';

export interface NodeRecord {
  readonly name: string;
  readonly version: string;
  /** `host:port` from its config. */
  readonly address: string;
  readonly state: NodeState;
  readonly startedAtMs: number;
  /** Time of its last heartbeat. */
  readonly seenAtMs: number;
  /** Requests admitted and tokens charged in the last minute; 0 unless it is alive. */
  readonly requestsPerMin: number;
  readonly tokensPerMin: number;
  /** Its requests in flight, and the sum of their holds. */
  readonly inFlight: number;
  readonly heldNanos: Nanos;
}

/** The size of the stored decision log. */
export interface LogSize {
  readonly entries: number;
  readonly bytes: number;
}

/** The activity of a key in the last minute, on all gateways. */
export interface KeyActivity {
  readonly keyId: string;
  readonly requests: number;
  /** Includes the tokens reserved by requests in flight. */
  readonly tokens: number;
  /** Requests in flight. */
  readonly open: number;
}

export interface Nodes {
  /** Gateways with a heartbeat in the last day or with requests in flight: live ones first, then by name. */
  list(): Promise<readonly NodeRecord[]>;

  logSize(): Promise<LogSize>;

  /** Log losses that no operator has acknowledged, latest first, at most `limit`. */
  losses(limit: number): Promise<readonly LogLoss[]>;

  /** Acknowledges all losses. */
  acceptLosses(): Promise<void>;

  /** The requests in flight of all gateways, oldest first, at most `limit`. */
  openRequests(limit: number): Promise<readonly RequestRecord[]>;

  /** The activity of these keys. Idle keys may be missing. */
  activityOf(keyIds: readonly string[]): Promise<readonly KeyActivity[]>;

  /** The keys with the most requests in the last minute, busiest first, at most `limit`. */
  busiest(limit: number): Promise<readonly KeyActivity[]>;

  /**
   * Asks the gateway that runs the request to stop it; it does so with its next heartbeat. Returns false if no request in
   * flight has this id.
   */
  stopRequest(id: string): Promise<boolean>;
}
