/** Keeps what V8 has compiled of the program for the next start, in a folder that is this user's alone. */
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { isAbsolute, join } from 'node:path';
import { isSea } from 'node:sea';
import { ownUid } from '../core/files.ts';
import { privateFolder } from '../core/private-cache.ts';
import { VERSION } from '../core/program.ts';

/** Node has variables of its own that place the cache elsewhere, or switch it off. */
export function keepCompiled(): void {
  if (isSea() || process.env.NODE_DISABLE_COMPILE_CACHE !== undefined || getCompileCacheDir() !== undefined) return;
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
    // With sudo it may be another user's.
    if (!isAbsolute(root) || statSync(root).uid !== ownUid()) return undefined;
    const all = privateFolder(join(root, root === cache ? '' : '.cache', 'inf-gw', 'compiled'));
    const path = join(all, VERSION);
    if (!existsSync(path)) removeAll(all);
    return privateFolder(path);
  } catch {
    return undefined;
  }
}

/** What earlier versions have left. */
function removeAll(folder: string): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
}
