/** Files and their owners: what there is to know of them, and what makes a write last. */
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
 * The id of the user that this process runs as; 0 where the system has none. Not `os.userInfo`,
 * which throws where the id has no passwd entry, as with `docker run --user 1234`.
 */
export function ownUid(): number {
  return process.getuid?.() ?? 0;
}

/** The mode of a folder that is closed to other users. */
export const PRIVATE_MODE = 0o700;
export const OTHERS = 0o077;
export const OTHERS_WRITE = 0o022;
/** In such a folder users can rename and remove only what is their own. */
const STICKY = 0o1000;

/** Whether other users can put another file in the place of one in a folder of this mode. */
export function othersReplace(mode: number): boolean {
  return (mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0;
}

/** Throws an Error unless the folder is this user's, and nobody else can put a file or a link into it. */
export function assertOwn(folder: string): void {
  if (process.getuid === undefined) return;
  const { uid, mode } = statSync(folder);
  if (uid !== ownUid()) throw new Error(`${folder} belongs to another user`);
  if ((mode & OTHERS_WRITE) !== 0) throw new Error(`other users can write to ${folder}`);
}

/** Throws an Error unless the folder is closed to other users, and none of them can put another in its place. */
export function assertPrivate(folder: string): void {
  // Windows has neither ids nor modes; there the folders above are closed to other users anyway.
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

/** Makes a file, or the names in a folder, safe from a power cut. */
export function sync(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
