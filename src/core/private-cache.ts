/** Cache folders for executable files. Only root and the user of this process can replace files in them. */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { assertPrivate, ownUid, PRIVATE_MODE } from './files.ts';

/** Returns the candidate folders in order of preference. The last is for users without a home. */
export function cacheFolders(environment: NodeJS.ProcessEnv): string[] {
  const { XDG_CACHE_HOME: cache = '' } = environment;
  const home = homeFolder();
  return [
    ...(isAbsolute(cache) ? [join(cache, 'inf-gw')] : []),
    ...(isAbsolute(home) ? [join(home, '.cache/inf-gw')] : []),
    join(tmpdir(), `inf-gw-${ownUid()}`),
  ];
}

/** Returns an empty path for a user without a home, as with `docker run --user 1234`. */
function homeFolder(): string {
  try {
    return homedir();
  } catch {
    return '';
  }
}

/**
 * Unpacks a file into `folder`. `name` identifies the contents, such as by a hash. An existing file is kept, so all processes
 * share one file. Returns its path without symbolic links. Throws an Error that names an untrusted folder or file.
 */
export function unpack(folder: string, name: string, contents: Uint8Array): string {
  const path = join(privateFolder(folder), name);
  if (!existsSync(dirname(path))) place(path, contents);
  assertPrivate(dirname(path));
  if (readFileSync(path).equals(contents)) return path;
  throw new Error(`${path} is not what inf-gw put there; remove ${dirname(path)}`);
}

/** Creates the folder if necessary. Returns its path without symbolic links. Throws an Error if it cannot be trusted. */
export function privateFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: PRIVATE_MODE });
  const folder = realpathSync(path);
  assertPrivate(folder);
  return folder;
}

/** Moves the file into the cache together with its folder, atomically and without replacing an existing one. */
function place(path: string, contents: Uint8Array): void {
  const made = mkdtempSync(join(dirname(dirname(path)), 'new-'));
  try {
    const file = openSync(join(made, basename(path)), 'wx', PRIVATE_MODE);
    try {
      writeSync(file, contents);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(made, dirname(path));
  } catch (error) {
    // Ignore the error if another process was faster.
    if (!existsSync(path)) throw error;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}
