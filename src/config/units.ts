/** Parses values with units in the config file. */
import type { ListenAddress } from '../core/address.ts';
import { DAY_MS } from '../core/clock.ts';

const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/;
const MILLISECONDS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;
/** The longest delay of a timer in Node: 24.8 days. */
const MAX_DURATION_MS = 2_147_483_647;

/** `10s`, `500ms`, `5m` or `1h` in milliseconds. Undefined unless it is a duration from 1 ms to 24.8 days. */
export function parseDuration(text: string): number | undefined {
  const match = DURATION.exec(text);
  if (match === null) return undefined;
  const ms = Math.round(Number(match[1]) * MILLISECONDS[match[2] as keyof typeof MILLISECONDS]);
  return ms >= 1 && ms <= MAX_DURATION_MS ? ms : undefined;
}

const SHARE = /^(\d{1,3}(?:\.\d{1,3})?)%$/;

/** `20%` as 0.2. Undefined unless it is a percentage from 0 to 100. */
export function parseShare(text: string): number | undefined {
  const percent = Number(SHARE.exec(text)?.[1]);
  return percent <= 100 ? percent / 100 : undefined;
}

const DAYS = /^(\d{1,5})d$/;

/** `90d` in milliseconds. Undefined unless it is a number of days, at least one. */
export function parseDays(text: string): number | undefined {
  const days = Number(DAYS.exec(text)?.[1] ?? 0);
  return days >= 1 ? days * DAY_MS : undefined;
}

const SIZE = /^(\d+)(kb|mb)$/i;
/** A body is held in memory as a string, and Node's longest string has 512 MB. */
const MAX_SIZE_BYTES = 256 * 1024 * 1024;

/** `512kb` or `32mb` in bytes; units are powers of two. Undefined unless it is a size from 1 KB to 256 MB. */
export function parseSize(text: string): number | undefined {
  const match = SIZE.exec(text);
  if (match === null) return undefined;
  const bytes = Number(match[1]) * (match[2]?.toLowerCase() === 'kb' ? 1024 : 1024 * 1024);
  return bytes >= 1024 && bytes <= MAX_SIZE_BYTES ? bytes : undefined;
}

const MEMORY = /^(\d{1,6})(mb|gb)$/i;
const MEGABYTE = 1024 * 1024;
/** The idle program needs nearly as much. */
const MIN_MEMORY_BYTES = 64 * MEGABYTE;

/** `512mb` or `2gb` in bytes; units are powers of two. Undefined unless it is a size of at least 64 MB. */
export function parseMemory(text: string): number | undefined {
  const match = MEMORY.exec(text);
  if (match === null) return undefined;
  const bytes = Number(match[1]) * MEGABYTE * (match[2]?.toLowerCase() === 'gb' ? 1024 : 1);
  return bytes >= MIN_MEMORY_BYTES ? bytes : undefined;
}

const LISTEN = /^(?:\[([0-9a-fA-F:.%]+)\]|([^\s:[\]]+)):(\d{1,5})$/;

/** `127.0.0.1:8787`, `localhost:8787` or `[::1]:8787`; port 0 lets the system choose one. */
export function parseListen(text: string): ListenAddress | undefined {
  const match = LISTEN.exec(text);
  if (match === null) return undefined;
  const port = Number(match[3]);
  const host = match[1] ?? match[2];
  return host !== undefined && port <= 65535 ? { host, port } : undefined;
}
