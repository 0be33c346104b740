/** Checks that the paths of the state file and of what is beside it still lead to the files that were opened. */
import { statSync } from 'node:fs';
import { resolveLinks } from '../../core/files.ts';
import { lockPathOf } from './whole-files.ts';

/**
 * The state file is not the one that was opened, or cannot be synced. The message says what to do;
 * the condition may pass.
 */
export class StateFileError extends Error {
  override name = 'StateFileError';
}

/** What to do about a file that is gone, unless it was moved. */
const RESTORE = 'otherwise restore it from a backup and restart inf-gw';
const RESTART = 'otherwise restart inf-gw';

interface Part {
  readonly path: string;
  readonly identity: string;
  readonly advice: string;
}

/**
 * SQLite keeps writing to a file that was deleted or moved, and everything it wrote would be lost
 * at the end. The same is true of the write-ahead log. Without the index of the log (`-shm`) others make another, and
 * each overwrites what the other commits; without the lock, a second gateway starts. Checking all takes 8 µs.
 */
export class StateFile {
  readonly #parts: readonly Part[];

  /** The file must be open, so that its log exists. Of the rest, what does not exist is not missed. */
  constructor(path: string) {
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
    for (const { path, identity, advice } of this.#parts) {
      const found = identityOf(path);
      if (found === identity) continue;
      throw new StateFileError(
        found === undefined
          ? `${path} is gone: if it was moved, move it back; ${advice}`
          : `another file has replaced ${path}: put the original back, or restart inf-gw to use the new one`,
      );
    }
  }
}

/** The device and inode of a file; undefined if there is none. */
export function identityOf(path: string): string | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats && `${stats.dev}:${stats.ino}`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StateFileError(`${path} cannot be reached (${code}): check the permissions of its directory`);
  }
}
