/** What passes through the control socket, for both of its ends. */
import { createHash } from 'node:crypto';
import { tmpdir, userInfo } from 'node:os';
import { basename, join } from 'node:path';
import { withoutLinks } from '../core/files.ts';
import {
  EVERYTHING,
  REMEMBERED_REQUESTS,
  type RequestRow,
  SHOWN_LIVE,
  type SnapshotQuery,
  type UpstreamHealth,
} from '../observe/monitor.ts';

/** What the longest path of a socket may be, in bytes: 104 on macOS, 108 on Linux, with the zero at its end. */
const MAX_SOCKET_BYTES = 103;

/** How the names begin of those in the temporary folder. */
const SHARED_PREFIX = `inf-gw-${userInfo().uid}-`;

/** Where the socket of the gateway on a state file is: beside it, or where that path is too long, in the temporary folder. */
export function socketPathOf(statePath: string): string {
  const path = withoutLinks(statePath);
  const beside = `${path}-control`;
  if (Buffer.byteLength(beside) <= MAX_SOCKET_BYTES) return beside;
  const digest = createHash('sha256').update(path).digest('hex').slice(0, 16);
  return join(tmpdir(), `${SHARED_PREFIX}${digest}-control`);
}

/** Whether a socket lies where others may put one too. */
export function isShared(socketPath: string): boolean {
  return basename(socketPath).startsWith(SHARED_PREFIX);
}

export const PATHS = {
  /** GET `?keys=id,id&rows=N`: a {@link Snapshot} with what is {@link Wanted}. */
  snapshot: '/snapshot',
  /**
   * GET, as above: server-sent events, each a {@link Snapshot}. The first tells of the past too, those after it of what
   * is new: the last second and the requests of the last millisecond that were told of come again.
   */
  feed: '/feed',
  /** POST: reads the config anew. 200, or 409 with the faults as `{lines}`, and the old one stays. */
  reload: '/reload',
  /** POST: as SIGTERM. */
  drain: '/drain',
  /** POST `?id=`: gives a request up that is under way. 200, or 404 where there is none of that id. */
  stopRequest: '/stop-request',
} as const;

/** What a reader wants to be told of: what it shows, since all of it is made in the threads that carry requests. */
export interface Wanted {
  /** Keys whose activity is told of. None unless given. */
  readonly keyIds: readonly string[];
  /**
   * How many requests under way at most, and how many that have ended since the last event of a feed. With 0 none is
   * told of; all that are remembered unless given.
   */
  readonly rows: number;
}

/** What is told, for one answer or one event. */
export interface Look extends SnapshotQuery {
  readonly keyIds: readonly string[];
}

export function queryOf({ keyIds = [], rows }: Partial<Wanted>): string {
  const query = new URLSearchParams();
  if (keyIds.length > 0) query.set('keys', keyIds.join());
  if (rows !== undefined) query.set('rows', String(rows));
  return String(query);
}

/** The first look of a reader with such a query: into the past as far as it is remembered. */
export function firstLookOf(query: URLSearchParams): Look {
  const rows = Number(query.get('rows') ?? SHOWN_LIVE);
  const isAny = rows > 0;
  return {
    ...EVERYTHING,
    keyIds: query.get('keys')?.split(',') ?? [],
    mostLive: isAny ? Math.min(rows, SHOWN_LIVE) : 0,
    mostEnded: isAny ? REMEMBERED_REQUESTS : 0,
  };
}

/** The look after one: for what is new. */
export function nextLook(look: Look, { seconds, recent, now_ms: nowMs }: Snapshot): Look {
  return {
    ...look,
    // Neither the second nor the millisecond may be over yet. A clock that was set back must not hide what is to come.
    sinceS: seconds.at(-1)?.at_s ?? look.sinceS,
    endedSinceMs: Math.min(recent.at(-1)?.ended_at_ms ?? look.endedSinceMs, nowMs),
    mostEnded: Math.min(look.mostEnded, look.mostLive),
  };
}

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
  /** Of the slowest thread that carries requests, in the last five to ten seconds. */
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
