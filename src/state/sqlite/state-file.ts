/** Checks that the paths of the state file and of what is beside it still lead to the files that were opened. */
import { lstatSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
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
/**
 * What happens in a folder changes its time. Some file systems tell that in steps of two seconds, so one that has changed
 * lately may have changed again.
 */
const QUIET_MS = 2_500;
/** How long a folder that has not changed is taken at its word. There may be file systems in which it does not tell. */
const TRUST_MS = 1_000;

interface Part {
  readonly path: string;
  readonly identity: string;
  readonly advice: string;
}

/**
 * SQLite keeps writing to a file that was deleted or moved, and everything it wrote would be lost
 * at the end. The same is true of the write-ahead log. Without the index of the log (`-shm`) others make another, and
 * each overwrites what the other commits; without the lock, a second gateway starts. Looking for all takes 5 µs, and 3 µs
 * in a folder in which nothing has changed since.
 */
export class StateFile {
  readonly #parts: readonly Part[];
  readonly #folder: string;
  readonly #wallMs: () => number;
  /** The folder as it was when all were last found in it, if it tells whether anything has come, gone or moved since. */
  #quiet: { readonly folder: Stats; readonly atMs: number } | undefined;

  /** The file must be open, so that its log exists. Of the rest, what does not exist is not missed. */
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
    // Before the files: what changes while they are looked for counts as later.
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
    // The clock may have been set back meanwhile.
    return Math.abs(nowMs - atMs) < TRUST_MS && ctimeMs === folder.ctimeMs && ino === folder.ino && dev === folder.dev;
  }

  /** Of a file elsewhere, or behind a link, the folder tells nothing. */
  get #isAllIn(): boolean {
    return this.#parts.every(
      ({ path, identity }) => dirname(path) === this.#folder && identityOf(path, lstatSync) === identity,
    );
  }
}

/** Undefined if it cannot be reached. */
function lookAt(folder: string): Stats | undefined {
  try {
    return statSync(folder, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** The device and inode of a file; undefined if there is none. */
export function identityOf(path: string, look = statSync): string | undefined {
  try {
    const stats = look(path, { throwIfNoEntry: false });
    return stats && `${stats.dev}:${stats.ino}`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StateFileError(`${path} cannot be reached (${code}): check the permissions of its directory`);
  }
}
