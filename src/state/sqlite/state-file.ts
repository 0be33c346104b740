/** The state file as a place on the disk: whether its path still leads to the file that was opened. */
import { statSync } from 'node:fs';

/** The file is not what it was when it was opened. The message says what to do; it may pass. */
export class StateFileFault extends Error {
  override name = 'StateFileFault';
}

/**
 * SQLite goes on writing to a file that was deleted or moved, and all of it would be lost at the end. The log of what
 * is not yet in the file proper is guarded likewise. Checking both takes 5 µs.
 */
export class StateFile {
  readonly #parts: readonly { readonly path: string; readonly identity: string | undefined }[];

  /** Of a file that is open, and therefore has its log beside it. */
  constructor(path: string) {
    this.#parts = [path, `${path}-wal`].map((part) => ({ path: part, identity: identityOf(part) }));
  }

  /** Throws a StateFileFault where something else, or nothing, stands in the file's place. */
  assertInPlace(): void {
    for (const { path, identity } of this.#parts) {
      const found = identityOf(path);
      if (found === identity) continue;
      throw new StateFileFault(
        found === undefined
          ? `${path} is gone: if it was moved, move it back; otherwise restore it from a copy and restart inf-gw`
          : `another file has taken the place of ${path}: put the first one back, or restart inf-gw to use this one`,
      );
    }
  }
}

function identityOf(path: string): string | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats && `${stats.dev}:${stats.ino}`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StateFileFault(`${path} cannot be reached (${code}): check the rights of its folder`);
  }
}
