/** What passes through the control socket, for both of its ends. */
import { createHash } from 'node:crypto';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { withoutLinks } from '../core/files.ts';
import type { RequestRow, UpstreamHealth } from '../live/board.ts';

/** What the longest path of a socket may be, in bytes: 104 on macOS, 108 on Linux, with the zero at its end. */
const MAX_SOCKET_BYTES = 103;

/** Where the socket of the gateway on a state file is: beside it, or where that path is too long, in the temporary folder. */
export function socketPathOf(statePath: string): string {
  const path = withoutLinks(statePath);
  const beside = `${path}-control`;
  if (Buffer.byteLength(beside) <= MAX_SOCKET_BYTES) return beside;
  const digest = createHash('sha256').update(path).digest('hex').slice(0, 16);
  return join(tmpdir(), `inf-gw-${userInfo().uid}-${digest}-control`);
}

export const PATHS = {
  /** GET: a {@link Snapshot}; `?keys=id,id` names keys whose activity is wanted. */
  snapshot: '/snapshot',
  /** GET: server-sent events, each a {@link Snapshot} with the seconds that are new; takes `keys` too. */
  feed: '/feed',
  /** POST: reads the config anew. 200, or 409 with the faults as `{lines}`, and the old one stays. */
  reload: '/reload',
  /** POST: as SIGTERM. */
  drain: '/drain',
  /** POST `?id=`: gives a request up that is under way. 200, or 404 where there is none of that id. */
  stopRequest: '/stop-request',
} as const;

/** What happened within one second. */
export interface SecondRow {
  /** Seconds since 1970. */
  readonly at_s: number;
  readonly requests: number;
  readonly tokens: number;
  readonly cost_usd: string;
  /** Answers with an error, by code. */
  readonly errors: Readonly<Record<string, number>>;
  /** Counts of the time to the first byte, in the classes of `src/live/histogram.ts`. */
  readonly first_byte: readonly number[];
}

export interface KeyActivityRow {
  readonly id: string;
  /** Of the last 60 seconds; tokens with what requests under way reserve. */
  readonly requests: number;
  readonly tokens: number;
  /** Requests under way. */
  readonly open: number;
}

/** How a running gateway stands. */
export interface Snapshot {
  readonly version: string;
  readonly pid: number;
  readonly started_at_ms: number;
  readonly now_ms: number;
  /** `host:port`. */
  readonly address: string;
  readonly threads: number;
  readonly config_path: string | null;
  readonly state_path: string;
  readonly state_bytes: number;
  /** Of SQLite's log beside the state file. */
  readonly log_bytes: number;
  readonly memory_bytes: number;
  readonly draining: boolean;
  readonly storage_fault: string | null;
  readonly credit_enforced: boolean;
  /** Null while the ledger cannot tell. */
  readonly balance_usd: string | null;
  readonly held_usd: string | null;
  readonly in_flight: number;
  /** Of the slowest thread that carries requests, since the last look. */
  readonly loop_delay_ms: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly upstreams: readonly UpstreamHealth[];
  readonly seconds: readonly SecondRow[];
  readonly busiest: readonly KeyActivityRow[];
  readonly keys: readonly KeyActivityRow[];
  readonly live: readonly RequestRow[];
  /** The latest last. */
  readonly recent: readonly RequestRow[];
}

/** Why a config could not be taken. */
export interface ReloadFault {
  readonly lines: readonly string[];
}
