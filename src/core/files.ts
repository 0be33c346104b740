/** Facts about files and their owners that need no open file. */
import { realpathSync, statSync } from 'node:fs';

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
