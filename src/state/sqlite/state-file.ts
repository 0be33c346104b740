/** Checks that the path of the state file still leads to the file that was opened. */
import { statSync } from 'node:fs';

/**
 * The state file is not the one that was opened, or cannot be synced. The message says what to do;
 * the condition may pass.
 */
export class StateFileError extends Error {
  override name = 'StateFileError';
}

/**
 * SQLite keeps writing to a file that was deleted or moved, and everything it wrote would be lost
 * at the end. The same is true of the write-ahead log. Checking both takes 5 µs.
 */
export class StateFile {
  readonly #parts: readonly { readonly path: string; readonly identity: string | undefined }[];

  /** The file must be open, so that its log exists. */
  constructor(path: string) {
    this.#parts = [path, `${path}-wal`].map((part) => ({ path: part, identity: identityOf(part) }));
  }

  /** Throws a StateFileError if the file is missing or was replaced. */
  assertInPlace(): void {
    for (const { path, identity } of this.#parts) {
      const found = identityOf(path);
      if (found === identity) continue;
      throw new StateFileError(
        found === undefined
          ? `${path} is gone: if it was moved, move it back; otherwise restore it from a backup and restart inf-gw`
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
