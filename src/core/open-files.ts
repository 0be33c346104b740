/** How many files and sockets this process may have open, and how many connections of clients that leaves room for. */
import { readFileSync } from 'node:fs';

/** What the program has open beside connections: state, log, control socket, metrics, alerts, a database. */
const OWN_FILES = 176;
/** What a thread has open, and the connections beyond the bound that it still answers. */
const FILES_PER_THREAD = 80;
/** Where all that is more than half of the limit, connections of clients still get this part of it. */
const LEAST_PART = 8;

/** What connections need at most: each of a client can need one to a provider. */
export function filesNeeded(maxConnections: number, threads: number): number {
  return 2 * maxConnections + OWN_FILES + threads * FILES_PER_THREAD;
}

/** How many connections of clients leave enough for those to providers and for the rest. `limit`: of open files; undefined if there is none. */
export function roomForConnections(maxConnections: number, threads: number, limit = openFilesLimit()): number {
  if (limit === undefined || filesNeeded(maxConnections, threads) <= limit) return maxConnections;
  const room = Math.floor((limit - filesNeeded(0, threads)) / 2);
  return Math.min(maxConnections, Math.max(room, Math.floor(limit / LEAST_PART), 1));
}

/** What the limit means, of a process that is named before it. */
export function tooFew(limit: number, room: number, maxConnections: number): string {
  return `may open ${limit} files, so it takes ${room} connections and not max_connections: ${maxConnections}`;
}

let known: { readonly limit: number | undefined } | undefined;

/** Undefined if there is none, or the system does not tell. Node has raised the soft limit as far as it can. */
export function openFilesLimit(): number | undefined {
  known ??= { limit: readLimit() };
  return known.limit;
}

function readLimit(): number | undefined {
  const soft = Number(softLimitOfLinux() ?? softLimitReported());
  return Number.isNaN(soft) ? undefined : soft;
}

/** Undefined elsewhere. A report takes ten times as long, and memory that malloc keeps. */
function softLimitOfLinux(): string | undefined {
  try {
    return /^Max open files +(\S+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1];
  } catch {
    return undefined;
  }
}

function softLimitReported(): number | string | undefined {
  // Otherwise the report looks up the names of all hosts that are connected.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } };
  return userLimits?.open_files?.soft;
}
