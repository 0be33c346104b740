/** Checks that the paths of the state file and its companions still lead to the opened files. */
import { lstatSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { resolveLinks } from '../../core/files.ts';
import { lockPathOf } from './whole-files.ts';

/** The state file was replaced or cannot be synced. The message contains the next step; the condition may be temporary. */
export class StateFileError extends Error {
  override name = 'StateFileError';
}

/** Advice for a missing file, unless it was moved. */
const RESTORE = 'otherwise restore it from a backup and restart inf-gw';
const RESTART = 'otherwise restart inf-gw';
/**
 * A change in a folder updates its ctime. Some file systems have a resolution of two seconds, so a recent ctime does not
 * exclude later changes.
 */
const QUIET_MS = 2_500;
/** Maximum time for which an unchanged ctime is trusted, in case a file system does not update it. */
const TRUST_MS = 1_000;

interface Part {
  readonly path: string;
  readonly identity: string;
  readonly advice: string;
}

/**
 * Detects files that were deleted, moved or replaced. SQLite keeps writing to a deleted state file or log, and all those
 * writes would be lost. If the index of the log (`-shm`) is missing, other processes create a new one, and the processes
 * overwrite each other's commits. If the lock file is missing, a second gateway can start. Checking all files takes 5 µs;
 * 3 µs if the folder is unchanged.
 */
export class StateFile {
  readonly #parts: readonly Part[];
  readonly #folder: string;
  readonly #wallMs: () => number;
  /** Stats of the folder at the last complete check; set only if its ctime reliably shows later changes. */
  #quiet: { readonly folder: Stats; readonly atMs: number } | undefined;

  /** The file must be open, so that its log exists. Other files are checked only if they exist now. */
  constructor(path: string, wallMs = Date.now) {
    const parts = [
      { path, advice: RESTORE },
      { path: `${path}-wal`, advice: RESTORE },
      { path: `${path}-shm`, advice: RESTART },
      { path: lockPathOf(resolveLinks(path)), advice: RESTART },
    ];
    this.#parts = parts.flatMap((part) => {
      const identity = identityOf(part.path);
      return identity === undefined ? [] : [{ ...part, identity }];
    });
    this.#folder = dirname(path);
    this.#wallMs = wallMs;
  }

  get isInPlace(): boolean {
    try {
      this.assertInPlace();
      return true;
    } catch {
      return false;
    }
  }

  /** Throws a StateFileError if a file is missing or was replaced. */
  assertInPlace(): void {
    // Reads the folder before the files, so that a change during the check counts as later.
    const [folder, atMs] = [lookAt(this.#folder), this.#wallMs()];
    if (folder !== undefined && this.#isQuiet(folder, atMs)) return;
    this.#quiet = undefined;
    for (const { path, identity, advice } of this.#parts) {
      const found = identityOf(path);
      if (found === identity) continue;
      throw new StateFileError(
        found === undefined
          ? `${path} is gone: if it was moved, move it back; ${advice}`
          : `another file has replaced ${path}: put the original back, or restart inf-gw to use the new one`,
      );
    }
    if (folder !== undefined && atMs - folder.ctimeMs >= QUIET_MS && this.#isAllIn) this.#quiet = { folder, atMs };
  }

  #isQuiet({ ctimeMs, ino, dev }: Stats, nowMs: number): boolean {
    if (this.#quiet === undefined) return false;
    const { folder, atMs } = this.#quiet;
    // Also rejects a check from the future: the clock may have been set back.
    return Math.abs(nowMs - atMs) < TRUST_MS && ctimeMs === folder.ctimeMs && ino === folder.ino && dev === folder.dev;
  }

  /** The ctime of the folder covers only files directly in it, not files behind links. */
  get #isAllIn(): boolean {
    return this.#parts.every(
      ({ path, identity }) => dirname(path) === this.#folder && identityOf(path, lstatSync) === identity,
    );
  }
}

/** Undefined if the folder cannot be reached. */
function lookAt(folder: string): Stats | undefined {
  try {
    return statSync(folder, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** The device and inode of a file; undefined if it does not exist. */
export function identityOf(path: string, look = statSync): string | undefined {
  try {
    const stats = look(path, { throwIfNoEntry: false });
    return stats && `${stats.dev}:${stats.ino}`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StateFileError(`${path} cannot be reached (${code}): check the permissions of its directory`);
  }
}
