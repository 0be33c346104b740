/** Values with a unit, as the config file spells them. */
import type { ListenAddress } from '../core/address.ts';
import { DAY_MS } from '../core/clock.ts';

const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/;
const MILLISECONDS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;
/** What a 32-bit timer can wait: 24.8 days. */
const MAX_DURATION_MS = 2_147_483_647;

/** `10s`, `500ms`, `5m`, `1h` in milliseconds. Undefined when it is no duration between 1 ms and 24 days. */
export function parseDuration(text: string): number | undefined {
  const match = DURATION.exec(text);
  if (match === null) return undefined;
  const ms = Math.round(Number(match[1]) * MILLISECONDS[match[2] as keyof typeof MILLISECONDS]);
  return ms >= 1 && ms <= MAX_DURATION_MS ? ms : undefined;
}

const SHARE = /^(\d{1,3}(?:\.\d{1,3})?)%$/;

/** `20%` as 0.2. Undefined when it is no share between 0 and 1. */
export function parseShare(text: string): number | undefined {
  const percent = Number(SHARE.exec(text)?.[1]);
  return percent <= 100 ? percent / 100 : undefined;
}

const DAYS = /^(\d{1,5})d$/;

/** `90d` in milliseconds. Undefined when it is no number of days, one at least. */
export function parseDays(text: string): number | undefined {
  const days = Number(DAYS.exec(text)?.[1] ?? 0);
  return days >= 1 ? days * DAY_MS : undefined;
}

const SIZE = /^(\d+)(kb|mb)$/i;
/** Bodies are held in memory as a whole and as a string: Node's longest string is 512 MB. */
const MAX_SIZE_BYTES = 256 * 1024 * 1024;

/** `512kb`, `32mb` in bytes; the units are powers of two. Undefined when it is no size between 1 KB and 256 MB. */
export function parseSize(text: string): number | undefined {
  const match = SIZE.exec(text);
  if (match === null) return undefined;
  const bytes = Number(match[1]) * (match[2]?.toLowerCase() === 'kb' ? 1024 : 1024 * 1024);
  return bytes >= 1024 && bytes <= MAX_SIZE_BYTES ? bytes : undefined;
}

const MEMORY = /^(\d{1,6})(mb|gb)$/i;
const MEGABYTE = 1024 * 1024;
/** Less than the program needs at rest is no bound. */
const MIN_MEMORY_BYTES = 64 * MEGABYTE;

/** `512mb`, `2gb` in bytes; the units are powers of two. Undefined when it is no size of at least 64 MB. */
export function parseMemory(text: string): number | undefined {
  const match = MEMORY.exec(text);
  if (match === null) return undefined;
  const bytes = Number(match[1]) * MEGABYTE * (match[2]?.toLowerCase() === 'gb' ? 1024 : 1);
  return bytes >= MIN_MEMORY_BYTES ? bytes : undefined;
}

const LISTEN = /^(?:\[([0-9a-fA-F:.%]+)\]|([^\s:[\]]+)):(\d{1,5})$/;

/** `127.0.0.1:8787`, `localhost:8787`, `[::1]:8787`; port 0 lets the system choose. */
export function parseListen(text: string): ListenAddress | undefined {
  const match = LISTEN.exec(text);
  if (match === null) return undefined;
  const port = Number(match[3]);
  const host = match[1] ?? match[2];
  return host !== undefined && port <= 65535 ? { host, port } : undefined;
}
