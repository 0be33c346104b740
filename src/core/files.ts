/** What is to be known of files without opening them. */
import { realpathSync, statSync } from 'node:fs';

/** In bytes; 0 where it cannot be told. */
export function fileSize(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}

/** The file itself where the path is a link to it; the path as it is where there is no such file. */
export function withoutLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
