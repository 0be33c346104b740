/** The gateways that share a state: which are alive, how busy they are, and what they have in flight. */
import type { LogLoss } from '../core/log-loss.ts';
import type { Nanos } from '../core/money.ts';
import type { RequestRecord } from './requests.ts';

/** `silent`: no sign of life for so long that the others take it for dead. */
export type NodeState = 'alive' | 'silent' | 'stopped';

export interface NodeRecord {
  readonly name: string;
  readonly version: string;
  /** `host:port`, as its config has it. */
  readonly address: string;
  readonly state: NodeState;
  readonly startedAtMs: number;
  /** Its last sign of life. */
  readonly seenAtMs: number;
  /** What it admitted in the last minute, and the tokens it charged; 0 unless it is alive. */
  readonly requestsPerMin: number;
  readonly tokensPerMin: number;
  /** Its requests in flight, and the sum of their holds. */
  readonly inFlight: number;
  readonly heldNanos: Nanos;
}

/** What is kept of the log of what gateways ask. */
export interface LogSize {
  readonly entries: number;
  readonly bytes: number;
}

/** The activity of a key in the last minute, on all gateways. */
export interface KeyActivity {
  readonly keyId: string;
  readonly requests: number;
  /** Those that requests in flight reserve included. */
  readonly tokens: number;
  /** Requests in flight. */
  readonly open: number;
}

export interface Nodes {
  /** Those alive first, then by name: those heard of in the last day, or with requests in flight. */
  list(): Promise<readonly NodeRecord[]>;

  logSize(): Promise<LogSize>;

  /** What the database has lost of the log and no operator has taken note of, the latest first, at most so many. */
  losses(limit: number): Promise<readonly LogLoss[]>;

  /** Takes note of all of them. */
  acceptLosses(): Promise<void>;

  /** The requests in flight of all gateways, oldest first, and at most that many. */
  openRequests(limit: number): Promise<readonly RequestRecord[]>;

  /** Of these keys. Keys without any may be left out. */
  activityOf(keyIds: readonly string[]): Promise<readonly KeyActivity[]>;

  /** The keys with the most requests in the last minute, the busiest first, and at most that many. */
  busiest(limit: number): Promise<readonly KeyActivity[]>;

  /**
   * Has a request stopped by the gateway that runs it, with its next sign of life. False if no
   * request in flight has this id.
   */
  stopRequest(id: string): Promise<boolean>;
}
