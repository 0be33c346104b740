/**
 * Loads the native part of better-sqlite3 in the executable, whose build replaces the package's `binding.js` with this
 * module. The system loads native code only from files, so the code is unpacked once.
 */
import { getAssetKeys, getRawAsset } from 'node:sea';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { UserError } from '../../core/errors.ts';
import { cacheFolders, unpack } from '../../core/private-cache.ts';

/** The asset name: a folder with the hash of the file, then the file name. */
const ASSET = /^[0-9a-f]{64}\/.*\.node$/;
/**
 * Shares the path of the loaded file with all threads: two copies of SQLite in one process would release each other's
 * locks on a file.
 */
const LOADED = 'the path of the native part of better-sqlite3';

let loaded: object | undefined;

/** better-sqlite3 calls this for each database. Throws a UserError without a writable folder for the file. */
export function getBinding(): object {
  loaded ??= loadAgain() ?? loadFirst();
  return loaded;
}

function loadAgain(): object | undefined {
  const path = getEnvironmentData(LOADED);
  return typeof path === 'string' ? load(path) : undefined;
}

function loadFirst(): object {
  const name = getAssetKeys().find((key) => ASSET.test(key)) ?? '';
  const contents = new Uint8Array(getRawAsset(name));
  const faults: string[] = [];
  for (const folder of cacheFolders(process.env)) {
    try {
      const path = unpack(folder, name, contents);
      const addon = load(path);
      setEnvironmentData(LOADED, path);
      return addon;
    } catch (error) {
      faults.push(`cannot unpack SQLite into ${folder}: ${(error as Error).message}`);
    }
  }
  throw new UserError([...faults, 'set XDG_CACHE_HOME to a folder that only this user can write to']);
}

function load(path: string): object {
  const module = { exports: {} };
  process.dlopen(module, path);
  return module.exports;
}
