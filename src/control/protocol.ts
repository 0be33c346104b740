/** The protocol of the control socket: where the socket is, its paths, queries and answers. */
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import type { ListenAddress } from '../core/address.ts';
import { ownUid, resolveLinks } from '../core/files.ts';
import type { StateLocation } from '../core/state-location.ts';
import { MOST_FIRST_BYTE_STEPS } from '../observe/first-bytes.ts';
import type { RefusalQuery } from '../observe/refusals.ts';
import {
  EVERYTHING,
  MAX_ENDED,
  MAX_LIVE,
  type RequestRow,
  type SnapshotQuery,
  type UpstreamHealth,
} from '../observe/worker-snapshot.ts';

/**
 * The longest path a socket can have, in bytes: 104 on macOS and 108 on Linux, minus the
 * terminating zero.
 */
const MAX_SOCKET_BYTES = 103;

/** What a service manager makes for the gateway. It is the same for whoever runs a command. */
const SERVICE_FOLDER = '/run/inf-gw';
/** In the folders of a user, who may be several gateways. */
const OWN_FOLDER = 'inf-gw';

/**
 * The control socket of a gateway. With a state file it is beside that, unless that path is too long
 * for a socket; otherwise it is in a folder that is closed to other users.
 */
export function socketPathOf({ state, node }: { readonly state: StateLocation; readonly node: string }): string {
  switch (state.kind) {
    case 'file': {
      const path = resolveLinks(state.path);
      const beside = `${path}-control`;
      return Buffer.byteLength(beside) <= MAX_SOCKET_BYTES ? beside : privatePath(digestOf(path));
    }
    case 'postgres': {
      // Not the user: operators may sign in as another one than the gateway.
      const { host, port, database } = state.address;
      return privatePath(digestOf(JSON.stringify([host, port, database, node])));
    }
  }
}

/**
 * In the first of the folders that has such a socket, or else that can be used: a gateway and a command of one user may
 * have different environments.
 */
function privatePath(digest: string): string {
  const paths = privateFolders(process.env).map((folder) => join(folder, `${digest}-control`));
  return paths.find((path) => existsSync(path)) ?? (paths[0] as string);
}

/** The folders that there are for sockets, the best first: the last can always be made. */
function privateFolders({ XDG_RUNTIME_DIR: given = '' }: NodeJS.ProcessEnv): string[] {
  const runtime = [given, `/run/user/${ownUid()}`].filter((folder) => isAbsolute(folder) && isWritable(folder));
  return [
    ...(isWritable(SERVICE_FOLDER) ? [SERVICE_FOLDER] : []),
    ...runtime.map((folder) => join(folder, OWN_FOLDER)),
    join(tmpdir(), `${OWN_FOLDER}-${ownUid()}`),
  ];
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Whether a socket is in one of the folders above, and not beside a state. */
export function isInPrivateFolder(socketPath: string): boolean {
  return privateFolders(process.env).includes(dirname(socketPath));
}

export const PATHS = {
  /** GET, with a {@link SnapshotQuery} in the URL: a {@link Snapshot}. */
  snapshot: '/snapshot',
  /**
   * GET, with a {@link SnapshotQuery} in the URL: server-sent events, each a {@link Snapshot}. The
   * first answers the query, each later one holds what is new since the one before; see {@link
   * nextQuery}.
   */
  feed: '/feed',
  /** GET: the models that the gateway serves, as an array of {@link ModelRow}. */
  models: '/models',
  /**
   * POST: reloads the config. 200, or 409 with a {@link ReloadProblem}; the gateway then keeps its
   * config.
   */
  reload: '/reload',
  /** POST: shuts down as SIGTERM does. */
  drain: '/drain',
  /**
   * POST, with a {@link TakeoverOffer} in the URL: the gateway hands over to the process that asks, which
   * it expects at {@link meetingPath}. 200 with a {@link Greeting}, or 409 with a {@link ReloadProblem}.
   */
  takeOver: '/take-over',
  /** POST `?key=` and maybe `&path=`, with a body: an {@link Explanation} of what would happen to it. */
  explain: '/explain',
  /** GET, with a {@link RefusalQuery} in the URL: a {@link RefusalPage}. */
  refusals: '/refusals',
  /** GET `?key=`: how often the key was refused in the last hour, as an array of {@link RefusedMinutes}. */
  refusedMinutes: '/refused-minutes',
  /** GET `?provider=`: a {@link KeyRefusal}, or `{}` if the provider does not refuse the gateway's key. */
  keyRefusal: '/key-refusal',
  /** POST `?id=`: aborts a request in flight. 200, or 404 if no request in flight has this id. */
  stopRequest: '/stop-request',
} as const;

/** The names of a query's fields in the URL. */
const QUERY_NAMES = {
  sinceS: 'since_s',
  minutesSinceS: 'minutes_since_s',
  endedSinceMs: 'ended_since_ms',
  maxLive: 'max_live',
  maxEnded: 'max_ended',
  firstByteSteps: 'first_byte_steps',
} as const;

/** A query as it is sent. Fields that are left out have the values of {@link EVERYTHING}. */
export function encodeQuery({ keyIds = [], ...numbers }: Partial<SnapshotQuery>): string {
  const params = new URLSearchParams();
  if (keyIds.length > 0) params.set('keys', keyIds.join());
  for (const [field, value] of Object.entries(numbers)) {
    params.set(QUERY_NAMES[field as keyof typeof numbers], String(value));
  }
  return String(params);
}

/** The query that was sent. A number that cannot be read counts as 0. */
export function decodeQuery(params: URLSearchParams): SnapshotQuery {
  const numberOf = (field: keyof typeof QUERY_NAMES): number => {
    const number = Number(params.get(QUERY_NAMES[field]) ?? EVERYTHING[field]);
    return number > 0 ? number : 0;
  };
  return {
    keyIds: params.get('keys')?.split(',') ?? [],
    sinceS: numberOf('sinceS'),
    minutesSinceS: numberOf('minutesSinceS'),
    endedSinceMs: numberOf('endedSinceMs'),
    maxLive: Math.min(numberOf('maxLive'), MAX_LIVE),
    maxEnded: Math.min(numberOf('maxEnded'), MAX_ENDED),
    firstByteSteps: Math.min(numberOf('firstByteSteps'), MOST_FIRST_BYTE_STEPS),
  };
}

/** The most refusals of one answer. */
const MAX_REFUSED_ROWS = 100_000;

export function encodeRefusalQuery({ id, keyId, user, sinceMs, untilMs, limit }: RefusalQuery): string {
  const fields = { id, key: keyId, user, since_ms: sinceMs, until_ms: untilMs, limit };
  const named = Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return String(new URLSearchParams(named));
}

/** The query that was sent. A number that cannot be read leaves its condition out. */
export function decodeRefusalQuery(params: URLSearchParams): RefusalQuery {
  const numberOf = (name: string) => {
    const text = params.get(name);
    return text === null || !Number.isFinite(Number(text)) ? undefined : Number(text);
  };
  return {
    id: params.get('id') ?? undefined,
    keyId: params.get('key') ?? undefined,
    user: params.get('user') ?? undefined,
    sinceMs: numberOf('since_ms'),
    untilMs: numberOf('until_ms'),
    limit: Math.min(Math.max(1, numberOf('limit') ?? MAX_REFUSED_ROWS), MAX_REFUSED_ROWS),
  };
}

/** The query for the next event of a feed: what is new since a snapshot. */
export function nextQuery(query: SnapshotQuery, snapshot: Snapshot): SnapshotQuery {
  const { seconds, minutes, recent, now_ms: nowMs } = snapshot;
  return {
    ...query,
    // The last second, minute and millisecond may not be over, so they are sent again. A clock that
    // was set back must not hide what ends next.
    sinceS: seconds.at(-1)?.at_s ?? query.sinceS,
    minutesSinceS: minutes.at(-1)?.at_s ?? query.minutesSinceS,
    endedSinceMs: Math.min(recent.at(-1)?.ended_at_ms ?? query.endedSinceMs, nowMs),
    // The first event fills the reader's list; however busy the gateway is, later ones bring no
    // more rows than it shows.
    maxEnded: Math.min(query.maxEnded, query.maxLive),
  };
}

/** The traffic of one second or one minute. */
export interface TrafficRow {
  /** Its first second, since 1970. */
  readonly at_s: number;
  readonly requests: number;
  readonly tokens: number;
  readonly cost_usd: string;
  /** Answers with an error, by code. */
  readonly errors: Readonly<Record<string, number>>;
  /** Times to the first byte, as counted by `src/observe/histogram.ts`, without empty buckets at the end. */
  readonly first_byte: readonly number[];
}

/** What a key is doing at the moment. In a shared database, spending and refusals are those of this gateway. */
export interface KeyActivityRow {
  readonly id: string;
  /** In the last 60 seconds. */
  readonly requests: number;
  /** In the last 60 seconds, plus what requests in flight reserve. */
  readonly tokens: number;
  /** Requests in flight. */
  readonly open: number;
  /** What it was charged in the last 60 seconds. */
  readonly usd_per_min: string;
  /** How often it was refused in the last 60 seconds. */
  readonly refused: number;
  /**
   * What it was charged in each 5 of the last 60 seconds, in billionths of a USD, the oldest first; the last
   * number is still growing. Empty unless the key is among the busiest.
   */
  readonly history: readonly number[];
}

/** A model in the config of the gateway. Prices are in USD per million tokens. */
export interface ModelRow {
  readonly id: string;
  readonly provider: string;
  readonly upstream: string;
  /** Null, like the other prices of tokens, where it is billed by the piece alone. */
  readonly input_usd: string | null;
  readonly cached_input_usd: string | null;
  readonly output_usd: string | null;
  /** The prices of audio and images, such as `audio_input_usd`; undefined from a gateway that sends none. */
  readonly media?: Readonly<Record<string, string>>;
  readonly active: boolean;
  /** What its clients can speak; undefined from a gateway that does not say it. */
  readonly dialects?: readonly string[];
  /** Other names of it; undefined from a gateway that knows none. */
  readonly aliases?: readonly string[];
  /** The prices of its units, such as `per_second_usd`; undefined from a gateway that knows none. */
  readonly units?: Readonly<Record<string, string>>;
}

/** A provider refuses the gateway's key at each of its upstreams. */
export interface KeyRefusal {
  /** `provider openai`. */
  readonly name: string;
  readonly message: string;
  readonly fix: string | undefined;
}

/** A provider or upstream that is left out because an environment variable is not set. */
export interface SkippedRow {
  readonly name: string;
  readonly missing_variable: string;
}

export interface Snapshot {
  readonly version: string;
  readonly pid: number;
  readonly started_at_ms: number;
  readonly now_ms: number;
  /** `host:port`. */
  readonly address: string;
  /** Of its certificate; null for plain HTTP. */
  readonly tls: { readonly names: readonly string[]; readonly expires_at: string } | null;
  readonly threads: number;
  readonly config_path: string | null;
  readonly state_path: string;
  readonly state_bytes: number;
  /** The size of SQLite's write-ahead log beside the state file. */
  readonly log_bytes: number;
  readonly memory_bytes: number;
  /** How many files the process may have open, null if there is no limit, and how many connections of clients it takes. */
  readonly open_files: { readonly limit: number | null; readonly room: number };
  readonly draining: boolean;
  readonly storage_fault: string | null;
  readonly credit_enforced: boolean;
  /** Both null while the ledger does not answer. */
  readonly balance_usd: string | null;
  readonly held_usd: string | null;
  /** Those of the earlier process included. */
  readonly in_flight: number;
  /** The process that this one has taken over from, until it ends: it still has requests in flight. */
  readonly earlier: { readonly pid: number; readonly in_flight: number } | null;
  /** Of the slowest worker, over the last five to ten seconds. */
  readonly loop_delay_ms: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly upstreams: readonly UpstreamHealth[];
  readonly skipped: readonly SkippedRow[];
  readonly seconds: readonly TrafficRow[];
  /** Of the last 24 hours at most; none unless the query asks for them. */
  readonly minutes: readonly TrafficRow[];
  /**
   * The keys that were charged most in the last minute, the dearest first, then those with the most requests and
   * refusals.
   */
  readonly busiest: readonly KeyActivityRow[];
  /** The keys of the query that have done anything since the start. */
  readonly keys: readonly KeyActivityRow[];
  /** Requests in flight, the oldest first. */
  readonly live: readonly RequestRow[];
  /** Requests that ended or were refused, the latest last. */
  readonly recent: readonly RequestRow[];
}

/** What a process that wants to take over speaks: the versions of its messages, and of their format. */
export interface TakeoverOffer {
  readonly pid: number;
  readonly takeover: number;
  readonly serialization: number;
}

/** What a gateway is that hands over, as it says before anything changes. */
export interface Greeting {
  readonly pid: number;
  readonly version: string;
  /** In its config, and where it listens. */
  readonly listen: ListenAddress;
  readonly address: ListenAddress;
  /** How many sockets it listens with. */
  readonly sockets: number;
}

/** Where a gateway that hands over waits for the next process, beside its control socket. */
export function meetingPath(controlPath: string): string {
  // Not longer than that, which may be as long as a path of a socket can be.
  return controlPath.replace(/-control$/, '-meeting');
}

/** Why a config was not applied. */
export interface ReloadProblem {
  /** One line for each problem. */
  readonly lines: readonly string[];
}
