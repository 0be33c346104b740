/** Keeps what V8 has compiled of the program for the next start, in a folder that is this user's alone. */
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire, enableCompileCache, getCompileCacheDir } from 'node:module';
import { dirname, isAbsolute, join } from 'node:path';
import { constants, Script } from 'node:vm';
import { crc32 } from 'node:zlib';
import { underUsualFlags } from '../core/compiling.ts';
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

/** What precedes compiled code in its file: sums over the script and over the code. V8 reads code only from a multiple of eight bytes. */
const SUMS_BYTES = 8;
/** What a start and the first requests need is compiled by then, and what only a start needs has not been thrown away. */
const COMPILED_MS = 10_000;

/**
 * Runs a script in ASCII, a function with the parameters of a CommonJS module, and returns what it exports. Node's own loader
 * copies a text to compare it with what was compiled, keeps that in memory, and knows of no function that runs later: 3 MB and a
 * quarter of the CPU of a start of `serve`.
 */
export function loadScript(path: string): unknown {
  const bytes = read(path);
  const sum = crc32(bytes);
  const text = bytes.toString('latin1');
  release(bytes);
  const folder = getCompileCacheDir();
  const keptAt = folder && join(folder, `${crc32(path).toString(16)}.script`);
  const kept = keptAt && readKept(keptAt, sum);
  const script = new Script(text, {
    filename: path,
    ...(kept && { cachedData: kept.subarray(SUMS_BYTES) }),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  if (kept) release(kept);
  if (keptAt && script.cachedDataRejected !== false) keepLater(keptAt, sum, script);
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(path), module, path, dirname(path));
  return module.exports;
}

/** In memory that {@link release} can give back. */
function read(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    // What can change its size is not of malloc, which keeps more for itself once something large was freed.
    const bytes = Buffer.from(new ArrayBuffer(size, { maxByteLength: size }));
    for (let at = 0, count = 1; at < size && count > 0; at += count) count = readSync(file, bytes, at, size - at, at);
    return bytes;
  } finally {
    closeSync(file);
  }
}

/** Gives the memory back now, and not with the next collection, which an idle program does not have. */
function release({ buffer }: Buffer): void {
  (buffer as ArrayBuffer).resize(0);
}

/** Undefined if there is none for the script with this sum. */
function readKept(path: string, sum: number): Buffer | undefined {
  try {
    const kept = read(path);
    if (kept.readUInt32LE(0) === sum && kept.readUInt32LE(4) === crc32(kept.subarray(SUMS_BYTES))) return kept;
  } catch {
    // It is compiled anew.
  }
  return undefined;
}

function keepLater(path: string, sum: number, script: Script): void {
  const now = (): void => {
    clearTimeout(timer);
    process.off('exit', now);
    keep(path, sum, script);
  };
  const timer = setTimeout(now, COMPILED_MS).unref();
  process.on('exit', now);
}

function keep(path: string, sum: number, script: Script): void {
  const written = `${path}.${process.pid}`;
  try {
    const code = underUsualFlags(() => script.createCachedData());
    const sums = Buffer.alloc(SUMS_BYTES);
    sums.writeUInt32LE(sum, 0);
    sums.writeUInt32LE(crc32(code), 4);
    writeFileSync(written, Buffer.concat([sums, code]), { mode: 0o600 });
    renameSync(written, path);
  } catch {
    rmSync(written, { force: true });
  }
}
