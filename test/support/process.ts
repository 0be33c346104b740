/** The resource usage of another process, from /proc. Linux only. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** The open files and sockets of a process, without the event loops of threads: some threads start with the first load. */
export function descriptorsOf(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  const targets = readdirSync(folder).map((descriptor) => {
    try {
      return readlinkSync(`${folder}/${descriptor}`);
    } catch {
      return 'closed:'; // Since it was listed.
    }
  });
  return targets.filter((target) => !/^(?:anon_inode|pipe|closed):/.test(target)).length;
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
