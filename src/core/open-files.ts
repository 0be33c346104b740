/** The limit of open files and sockets of this process, and the number of client connections that it permits. */
import { readFileSync } from 'node:fs';

/** Descriptors of the process other than connections: state, log, control socket, metrics, alerts, a database. */
const OWN_FILES = 176;
/** Descriptors of a thread, including the connections above the limit that it still answers with an error. */
const FILES_PER_THREAD = 80;
/** Client connections get at least this fraction of the limit, even if the other descriptors need more than half of it. */
const LEAST_PART = 8;

/** Returns the maximum number of descriptors: each client connection may need a provider connection. */
export function filesNeeded(maxConnections: number, threads: number): number {
  return 2 * maxConnections + OWN_FILES + threads * FILES_PER_THREAD;
}

/**
 * Returns the number of client connections that leaves enough descriptors for all other uses. `limit`: of open files; undefined
 * if unlimited.
 */
export function roomForConnections(maxConnections: number, threads: number, limit = openFilesLimit()): number {
  if (limit === undefined || filesNeeded(maxConnections, threads) <= limit) return maxConnections;
  const room = Math.floor((limit - filesNeeded(0, threads)) / 2);
  return Math.min(maxConnections, Math.max(room, Math.floor(limit / LEAST_PART), 1));
}

/** Describes the effect of the limit. The caller puts the name of the process before it. */
export function tooFew(limit: number, room: number, maxConnections: number): string {
  return `may open ${limit} files, so it takes ${room} connections and not max_connections: ${maxConnections}`;
}

let known: { readonly limit: number | undefined } | undefined;

/**
 * Returns the limit of open files; undefined if unlimited or unknown. Node has already raised the soft limit to the hard limit.
 */
export function openFilesLimit(): number | undefined {
  known ??= { limit: readLimit() };
  return known.limit;
}

function readLimit(): number | undefined {
  const soft = Number(softLimitOfLinux() ?? softLimitReported());
  return Number.isNaN(soft) ? undefined : soft;
}

/** Returns undefined on other systems. A diagnostic report takes ten times as long and leaves memory allocated. */
function softLimitOfLinux(): string | undefined {
  try {
    return /^Max open files +(\S+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1];
  } catch {
    return undefined;
  }
}

function softLimitReported(): number | string | undefined {
  // Otherwise the report resolves the names of all connected hosts.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } };
  return userLimits?.open_files?.soft;
}
