/** File metadata, ownership checks, and durable writes. */
import { closeSync, fsyncSync, lstatSync, openSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** The size in bytes; 0 if the file does not exist or cannot be examined. */
export function fileSize(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}

/** Resolves symbolic links. Returns the path unchanged if there is no such file. */
export function resolveLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/**
 * Returns the user id of this process; 0 on systems without user ids. `os.userInfo` would throw for an id without a passwd entry,
 * as with `docker run --user 1234`.
 */
export function ownUid(): number {
  return process.getuid?.() ?? 0;
}

/** The mode of a folder that is closed to other users. */
export const PRIVATE_MODE = 0o700;
export const OTHERS = 0o077;
export const OTHERS_WRITE = 0o022;
/** In a sticky folder, users can rename and remove only their own files. */
const STICKY = 0o1000;

/** Reports whether other users can replace files in a folder of this mode. */
export function othersReplace(mode: number): boolean {
  return (mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0;
}

/** Throws an Error unless this user owns the folder and other users cannot create files or links in it. */
export function assertOwn(folder: string): void {
  if (process.getuid === undefined) return;
  const { uid, mode } = statSync(folder);
  if (uid !== ownUid()) throw new Error(`${folder} belongs to another user`);
  if ((mode & OTHERS_WRITE) !== 0) throw new Error(`other users can write to ${folder}`);
}

/** Throws an Error unless the folder is closed to other users and they cannot replace it or any folder above it. */
export function assertPrivate(folder: string): void {
  // Windows has neither ids nor modes. The folders above are closed to other users by default there.
  if (process.getuid === undefined) return;
  const { uid, mode } = lstatSync(folder);
  if (uid !== ownUid()) throw new Error(`${folder} belongs to another user`);
  if ((mode & OTHERS) !== 0) throw new Error(`${folder} is open to other users; run chmod 700 ${folder}`);
  for (let above = dirname(folder); ; above = dirname(above)) {
    const { uid, mode } = lstatSync(above);
    if (uid !== ownUid() && uid !== 0) throw new Error(`${above} belongs to another user`);
    if (othersReplace(mode)) throw new Error(`other users can write to ${above}`);
    if (above === dirname(above)) return;
  }
}

/** Flushes a file, or the entries of a folder, to disk, so that they survive a power failure. */
export function sync(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
