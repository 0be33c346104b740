/** Disks of their own that are really full or read-only, and the like, as far as the machine lets a test have them. */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Fault } from './faults.ts';
import type { Scope, Site } from './site.ts';

const DISK_BYTES = 2 * 1024 * 1024;
const BLOCK_BYTES = 4_096;

/** The machine does not let us. The message is what that takes. */
export class Lacking extends Error {
  override name = 'Lacking';
}

function system(needs: string, command: string, ...words: readonly string[]): void {
  try {
    execFileSync(command, words, { stdio: 'ignore' });
  } catch {
    throw new Lacking(needs);
  }
}

/** Gives the folder of the state file a disk of its own, which is empty. Throws a Lacking. */
export function mountDisk(site: Site, scope: Scope): void {
  const point = mkdtempSync(join(tmpdir(), 'inf-gw-disk-'));
  let isMounted = false;
  scope.after(() => {
    if (isMounted) system('root', 'umount', point);
    rmdirSync(point);
  });
  system('root', 'mount', '-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', point);
  isMounted = true;
  rmdirSync(site.folder);
  symlinkSync(point, site.folder);
}

/** Fills the disk with a file, to the last block. */
function fill({ folder }: Site): () => void {
  const path = join(folder, 'filler');
  const file = openSync(path, 'w');
  const block = Buffer.alloc(BLOCK_BYTES, 1);
  try {
    while (statSync(path).size <= DISK_BYTES) writeSync(file, block);
    throw new Error('the disk holds more than it has room for');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(file);
  }
  return () => rmSync(path);
}

function remountReadOnly({ folder }: Site): () => void {
  system('root', 'mount', '-o', 'remount,ro', folder);
  return () => system('root', 'mount', '-o', 'remount,rw', folder);
}

/** Takes from everybody, root included, the right to change the files. */
function makeImmutable({ statePath }: Site): () => void {
  const files = [statePath, `${statePath}-wal`].filter((path) => existsSync(path));
  system('root, chattr', 'chattr', '+i', ...files);
  return () => system('root, chattr', 'chattr', '-i', ...files);
}

/** Lets no file of the process grow over the length that its log has now. */
function limitGrowth({ statePath, pid }: Site): () => void {
  const limit = (bytes: number | 'unlimited') =>
    system('prlimit', 'prlimit', '--pid', String(pid), `--fsize=${bytes}:unlimited`);
  limit(statSync(`${statePath}-wal`).size);
  return () => {
    // A limit ends with its process.
    if (existsSync(`/proc/${pid}`)) limit('unlimited');
  };
}

const FULL: Fault = { what: 'tmpfs full', told: /the disk is full; free some space/, harm: fill, hasOwnDisk: true };
const IMMUTABLE: Fault = {
  what: 'immutable',
  told: /the disk reports an error; check the disk/,
  harm: makeImmutable,
};

/** Under a running gateway. A disk on which a file is open for writing cannot be made read-only. */
export const REAL_FAULTS: readonly Fault[] = [
  FULL,
  IMMUTABLE,
  { what: 'no file may grow', told: /the disk reports an error; check the disk/, harm: limitGrowth },
];

/** At a start. */
export const REAL_START_FAULTS: readonly Fault[] = [
  FULL,
  { ...IMMUTABLE, told: /cannot be (written|opened); check the permissions/ },
  {
    what: 'tmpfs read-only',
    told: /cannot be (written|opened); check the permissions|cannot create the state file .*EROFS.*to another path/,
    harm: remountReadOnly,
    hasOwnDisk: true,
  },
];
