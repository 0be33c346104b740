/** What the ledger writes and reads back of single requests: holds, and the recent past. */
import type { Nanos } from '../core/money.ts';

/** A request in flight, as it is stored. */
export interface HoldRow {
  readonly requestId: string;
  readonly keyId: string;
  readonly model: string;
  readonly admittedAtMs: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly holdNanos: Nanos;
  /** Which price it was held by. */
  readonly price?: string | undefined;
}

/** A request that ended recently. After a restart the windows are rebuilt from these. */
export interface RecentEntry {
  readonly keyId: string;
  readonly admittedAtMs: number;
  readonly settledAtMs: number;
  /** Input and output. */
  readonly tokens: number;
}
