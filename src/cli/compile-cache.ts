/** Keeps what V8 has compiled of the program for the next start, in a folder that is this user's alone. */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { isAbsolute, join } from 'node:path';
import { assertOwn, PRIVATE_MODE } from '../core/files.ts';
import { privateFolder } from '../core/private-cache.ts';
import { VERSION } from '../core/program.ts';

/** Node has variables of its own that place the cache elsewhere, or switch it off. */
export function keepCompiled(): void {
  if (process.env.NODE_DISABLE_COMPILE_CACHE !== undefined || getCompileCacheDir() !== undefined) return;
  const folder = folderFor(process.env);
  if (folder !== undefined) enableCompileCache(folder);
}

/**
 * The folder of this version, which is made if need be; undefined if none can be trusted. Where the user of a service has no
 * home in the environment, nobody expects files of it either.
 */
export function folderFor({ HOME: home = '', XDG_CACHE_HOME: cache = '' }: NodeJS.ProcessEnv): string | undefined {
  const root = isAbsolute(cache) ? cache : home;
  try {
    if (!isAbsolute(root)) return undefined;
    const all = folderBelow(root, [...(root === cache ? [] : ['.cache']), 'inf-gw', 'compiled']);
    const path = join(all, VERSION);
    if (!existsSync(path)) removeVersions(all);
    return privateFolder(path);
  } catch {
    return undefined;
  }
}

/**
 * Makes the folders of these names, each in the one before. The first may be another user's, with sudo, or anybody may
 * write to it, as to `/tmp`: a link that somebody else has put there leads to a private folder, too, but to no cache.
 */
function folderBelow(root: string, names: readonly string[]): string {
  let folder = root;
  for (const name of names) {
    assertOwn(folder);
    folder = join(folder, name);
    mkdirSync(folder, { recursive: true, mode: PRIVATE_MODE });
  }
  return privateFolder(folder);
}

/** What earlier versions have left. */
function removeVersions(folder: string): void {
  const versions = readdirSync(folder).filter((name) => /^\d+\.\d+\.\d+/.test(name));
  for (const name of versions) rmSync(join(folder, name), { recursive: true, force: true });
}
