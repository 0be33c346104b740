/** Real disks that are full or read-only, and the like, as far as the machine allows them. */
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
import type { Scope } from '../support/run-scope.ts';
import type { Fault } from './faults.ts';
import type { Site } from './site.ts';

const DISK_BYTES = 2 * 1024 * 1024;
const BLOCK_BYTES = 4_096;

/** The machine does not allow it. The message says what is missing. */
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

/** Mounts an empty disk at the directory of the state file. Throws a Lacking. */
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

/** Fills the disk to the last block with a file. */
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

/** Makes the files immutable, for root too. */
function makeImmutable({ statePath }: Site): () => void {
  const files = [statePath, `${statePath}-wal`].filter((path) => existsSync(path));
  system('root, chattr', 'chattr', '+i', ...files);
  return () => system('root, chattr', 'chattr', '-i', ...files);
}

/** Keeps the process from growing any file beyond the current length of its log. */
function limitGrowth({ statePath, pid }: Site): () => void {
  const limit = (bytes: number | 'unlimited') =>
    system('prlimit', 'prlimit', '--pid', String(pid), `--fsize=${bytes}:unlimited`);
  limit(statSync(`${statePath}-wal`).size);
  return () => {
    // The limit ends with its process.
    if (existsSync(`/proc/${pid}`)) limit('unlimited');
  };
}

const FULL: Fault = { what: 'tmpfs full', message: /the disk is full; free some space/, harm: fill, hasOwnDisk: true };
const IMMUTABLE: Fault = {
  what: 'immutable',
  message: /the disk reports an error; check the disk/,
  harm: makeImmutable,
};

/** While a gateway runs. A disk with a file that is open for writing cannot be made read-only. */
export const REAL_FAULTS: readonly Fault[] = [
  FULL,
  IMMUTABLE,
  { what: 'no file may grow', message: /the disk reports an error; check the disk/, harm: limitGrowth },
];

/** When a gateway starts. */
export const REAL_START_FAULTS: readonly Fault[] = [
  FULL,
  { ...IMMUTABLE, message: /cannot be (written|opened); check the permissions/ },
  {
    what: 'tmpfs read-only',
    message: /cannot be (written|opened); check the permissions|cannot create the state file .*EROFS.*to another path/,
    harm: remountReadOnly,
    hasOwnDisk: true,
  },
];
