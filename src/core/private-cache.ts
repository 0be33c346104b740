/**
 * Folders for what is run as code, and the files that are unpacked there: nobody but the user of this process, and root, could
 * put others in their place.
 */
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

/** The folders to try in turn. The last is for users without a home. */
export function cacheFolders(environment: NodeJS.ProcessEnv): string[] {
  const { XDG_CACHE_HOME: cache = '' } = environment;
  const home = homeFolder();
  return [
    ...(isAbsolute(cache) ? [join(cache, 'inf-gw')] : []),
    ...(isAbsolute(home) ? [join(home, '.cache/inf-gw')] : []),
    join(tmpdir(), `inf-gw-${ownUid()}`),
  ];
}

/** Empty where the user has none, as with `docker run --user 1234`. */
function homeFolder(): string {
  try {
    return homedir();
  } catch {
    return '';
  }
}

/**
 * Puts a file into `folder`, below a name that says what is in it: a hash, say. What is there stays, so that all processes see
 * one file. Returns its path, without symbolic links. Throws an Error that says which folder or file cannot be trusted.
 */
export function unpack(folder: string, name: string, contents: Uint8Array): string {
  const path = join(privateFolder(folder), name);
  if (!existsSync(dirname(path))) place(path, contents);
  assertPrivate(dirname(path));
  if (readFileSync(path).equals(contents)) return path;
  throw new Error(`${path} is not what inf-gw put there; remove ${dirname(path)}`);
}

/** Makes the folder if need be. Returns its path without symbolic links. Throws an Error if it cannot be trusted. */
export function privateFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: PRIVATE_MODE });
  const folder = realpathSync(path);
  assertPrivate(folder);
  return folder;
}

/** The folder of the file appears with the file in it, and never takes the place of another. */
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
    // Another process was faster.
    if (!existsSync(path)) throw error;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}
