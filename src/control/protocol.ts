/** The protocol of the control socket: its location, paths, queries and responses. */
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

/** The maximum length of a socket's path in bytes: 104 on macOS and 108 on Linux, minus the terminating zero. */
const MAX_SOCKET_BYTES = 103;

/** The folder that a service manager creates for the gateway. It is the same for every user. */
const SERVICE_FOLDER = '/run/inf-gw';
/** Folders of a user, who may run several gateways. */
const OWN_FOLDER = 'inf-gw';

/**
 * The control socket of a gateway. With a state file it is next to the file, unless the path is too long for a socket;
 * otherwise it is in a folder that other users cannot open.
 */
export function socketPathOf({ state, node }: { readonly state: StateLocation; readonly node: string }): string {
  switch (state.kind) {
    case 'file': {
      const path = resolveLinks(state.path);
      const beside = `${path}-control`;
      return Buffer.byteLength(beside) <= MAX_SOCKET_BYTES ? beside : privatePath(digestOf(path));
    }
    case 'postgres': {
      // The user is not part of the name: operators may be other users than the gateway's.
      const { host, port, database } = state.address;
      return privatePath(digestOf(JSON.stringify([host, port, database, node])));
    }
  }
}

/**
 * The first folder with such a socket, or else the first usable one: a gateway and a command of the same user may have
 * different environments.
 */
function privatePath(digest: string): string {
  const paths = privateFolders(process.env).map((folder) => join(folder, `${digest}-control`));
  return paths.find((path) => existsSync(path)) ?? (paths[0] as string);
}

/** The folders for sockets in order of preference. The last can always be created. */
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

/** Whether a socket is in one of these folders rather than next to a state file. */
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
  /** POST: reloads the config. 200, or 409 with a {@link ReloadProblem} while the gateway keeps its config. */
  reload: '/reload',
  /** POST: shuts down as SIGTERM does. */
  drain: '/drain',
  /**
   * POST, with a {@link TakeoverOffer} in the URL: the gateway hands over to the process that asks, which
   * it expects at {@link meetingPath}. 200 with a {@link Greeting}, or 409 with a {@link ReloadProblem}.
   */
  takeOver: '/take-over',
  /** POST `?key=`, optionally `&path=`, with a body: its {@link Explanation}. */
  explain: '/explain',
  /** GET, with a {@link RefusalQuery} in the URL: a {@link RefusalPage}. */
  refusals: '/refusals',
  /** GET `?key=`: the refusals of the key in the last hour, as an array of {@link RefusedMinutes}. */
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

/** Encodes a query. Missing fields have the values of {@link EVERYTHING}. */
export function encodeQuery({ keyIds = [], ...numbers }: Partial<SnapshotQuery>): string {
  const params = new URLSearchParams();
  if (keyIds.length > 0) params.set('keys', keyIds.join());
  for (const [field, value] of Object.entries(numbers)) {
    params.set(QUERY_NAMES[field as keyof typeof numbers], String(value));
  }
  return String(params);
}

/** Decodes a query. An unreadable number counts as 0. */
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

/** The maximum of refusals in a response. */
const MAX_REFUSED_ROWS = 100_000;

export function encodeRefusalQuery({ id, keyId, user, sinceMs, untilMs, limit }: RefusalQuery): string {
  const fields = { id, key: keyId, user, since_ms: sinceMs, until_ms: untilMs, limit };
  const named = Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return String(new URLSearchParams(named));
}

/** Decodes a query. An unreadable number removes its filter. */
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

/** The query for the next event of a feed: changes since a snapshot. */
export function nextQuery(query: SnapshotQuery, snapshot: Snapshot): SnapshotQuery {
  const { seconds, minutes, recent, now_ms: nowMs } = snapshot;
  return {
    ...query,
    // The last second, minute and millisecond may be incomplete, so they are sent again. After the clock is set back, the
    // next ended requests must not be skipped.
    sinceS: seconds.at(-1)?.at_s ?? query.sinceS,
    minutesSinceS: minutes.at(-1)?.at_s ?? query.minutesSinceS,
    endedSinceMs: Math.min(recent.at(-1)?.ended_at_ms ?? query.endedSinceMs, nowMs),
    // The first event fills the reader's list. Later events contain at most as many rows as the list shows, however busy the
    // gateway is.
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
  /** Error responses by code. */
  readonly errors: Readonly<Record<string, number>>;
  /** Times to the first byte, as counted by `src/observe/histogram.ts`, without empty buckets at the end. */
  readonly first_byte: readonly number[];
}

/** The present activity of a key. In a shared database, charges and refusals are this gateway's only. */
export interface KeyActivityRow {
  readonly id: string;
  /** In the last 60 seconds. */
  readonly requests: number;
  /** In the last 60 seconds, plus the reservations of requests in flight. */
  readonly tokens: number;
  /** Requests in flight. */
  readonly open: number;
  /** Charges in the last 60 seconds. */
  readonly usd_per_min: string;
  /** Refusals in the last 60 seconds. */
  readonly refused: number;
  /**
   * Charges in each 5 of the last 60 seconds, in billionths of a USD, the oldest first; the last figure is still growing.
   * Empty unless the key is among the busiest.
   */
  readonly history: readonly number[];
}

/** A model in the gateway's config. Prices are in USD per million tokens. */
export interface ModelRow {
  readonly id: string;
  readonly provider: string;
  readonly upstream: string;
  /** Null, like the other token prices, if the model is billed by units only. */
  readonly input_usd: string | null;
  readonly cached_input_usd: string | null;
  readonly output_usd: string | null;
  /** Prices of audio and images, such as `audio_input_usd`; undefined from an older gateway. */
  readonly media?: Readonly<Record<string, string>>;
  readonly active: boolean;
  /** The dialects of its clients; undefined from an older gateway. */
  readonly dialects?: readonly string[];
  /** Its aliases; undefined from an older gateway. */
  readonly aliases?: readonly string[];
  /** Prices of its units, such as `per_second_usd`; undefined from an older gateway. */
  readonly units?: Readonly<Record<string, string>>;
}

/** A provider refuses the gateway's key at all its upstreams. */
export interface KeyRefusal {
  /** `provider openai`. */
  readonly name: string;
  readonly message: string;
  readonly fix: string | undefined;
}

/** A provider or upstream that is left out because its environment variable is not set. */
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
  /** The certificate; null for plain HTTP. */
  readonly tls: { readonly names: readonly string[]; readonly expires_at: string } | null;
  readonly threads: number;
  readonly config_path: string | null;
  readonly state_path: string;
  readonly state_bytes: number;
  /** The size of SQLite's write-ahead log. */
  readonly log_bytes: number;
  readonly memory_bytes: number;
  /** The limit of open files, or null without one, and the number of client connections that fit it. */
  readonly open_files: { readonly limit: number | null; readonly room: number };
  readonly draining: boolean;
  readonly storage_fault: string | null;
  readonly credit_enforced: boolean;
  /** Both are null while the ledger does not respond. */
  readonly balance_usd: string | null;
  readonly held_usd: string | null;
  /** Includes the requests of the earlier process. */
  readonly in_flight: number;
  /** The process that this one has taken over from, as long as it has requests in flight. */
  readonly earlier: { readonly pid: number; readonly in_flight: number } | null;
  /** The delays of the slowest worker over the last five to ten seconds. */
  readonly loop_delay_ms: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly upstreams: readonly UpstreamHealth[];
  readonly skipped: readonly SkippedRow[];
  readonly seconds: readonly TrafficRow[];
  /** At most the last 24 hours; empty unless the query asks for them. */
  readonly minutes: readonly TrafficRow[];
  /** The keys with the highest charges in the last minute, then those with the most requests and refusals. */
  readonly busiest: readonly KeyActivityRow[];
  /** The requested keys with any activity since the start. */
  readonly keys: readonly KeyActivityRow[];
  /** Requests in flight, the oldest first. */
  readonly live: readonly RequestRow[];
  /** Ended and refused requests, the latest last. */
  readonly recent: readonly RequestRow[];
}

/** The versions of a process that wants to take over: of its messages, and of their serialization. */
export interface TakeoverOffer {
  readonly pid: number;
  readonly takeover: number;
  readonly serialization: number;
}

/** The description of a gateway that hands over, sent before any change. */
export interface Greeting {
  readonly pid: number;
  readonly version: string;
  /** The configured and the actual listening address. */
  readonly listen: ListenAddress;
  readonly address: ListenAddress;
  /** The number of its listening sockets. */
  readonly sockets: number;
}

/** The socket at which a gateway that hands over waits for the next process. */
export function meetingPath(controlPath: string): string {
  // As long as the control socket's path, which may have the maximum length.
  return controlPath.replace(/-control$/, '-meeting');
}

/** The reasons why a config was not applied. */
export interface ReloadProblem {
  /** One line per problem. */
  readonly lines: readonly string[];
}
