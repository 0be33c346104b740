/** The resource usage of another process, from /proc. Linux only. */
import { readdirSync, readFileSync } from 'node:fs';

/** The number of its open files and sockets. */
export function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** The resident memory of all its threads. */
export function residentBytesOf(pid: number): number {
  return memoryOf(pid, 'VmRSS');
}

/** Of that, what is not a part of a file, which the system can drop and read again. */
export function ownBytesOf(pid: number): number {
  return memoryOf(pid, 'RssAnon');
}

function memoryOf(pid: number, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, kilobytes] = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status) ?? [];
  return Number(kilobytes) * 1024;
}
