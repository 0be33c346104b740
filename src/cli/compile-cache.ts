/** Caches V8's compiled code of the program for later starts, in a folder that only this user can access. */
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

/** Node has its own variables that move or disable the cache. */
export function keepCompiled(): void {
  if (process.env.NODE_DISABLE_COMPILE_CACHE !== undefined || getCompileCacheDir() !== undefined) return;
  const folder = folderFor(process.env);
  if (folder !== undefined) enableCompileCache(folder);
}

/**
 * Returns the cache folder of this version, and creates it if necessary. Undefined if no folder can be trusted: a service
 * user without a home in the environment has no cache.
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
 * Creates the folders of these names, each inside the one before. The first folder may belong to another user (sudo) or be
 * writable by all (`/tmp`). A symbolic link that another user planted there leads to a folder that is private or is refused.
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

/** Removes the caches of earlier versions. */
function removeVersions(folder: string): void {
  const versions = readdirSync(folder).filter((name) => /^\d+\.\d+\.\d+/.test(name));
  for (const name of versions) rmSync(join(folder, name), { recursive: true, force: true });
}

/** Header: checksums of the script and of the code. V8 reads code only from a multiple of eight bytes. */
const SUMS_BYTES = 8;
/**
 * By this time, the start and the first requests have compiled their code, and V8 has not discarded the code of the start.
 */
const COMPILED_MS = 10_000;

/**
 * Runs a script in ASCII that is a function with the parameters of a CommonJS module, and returns its exports. Node's own
 * loader copies the text for a comparison, keeps the copy in memory, and caches no function that runs later: 3 MB, and a
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

/** Memory that {@link release} can free. */
function read(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    // A resizable buffer is not from malloc, which would keep more memory after freeing a large block.
    const bytes = Buffer.from(new ArrayBuffer(size, { maxByteLength: size }));
    for (let at = 0, count = 1; at < size && count > 0; at += count) count = readSync(file, bytes, at, size - at, at);
    return bytes;
  } finally {
    closeSync(file);
  }
}

/** Frees the memory at once. An idle program has no garbage collection. */
function release({ buffer }: Buffer): void {
  (buffer as ArrayBuffer).resize(0);
}

/** Undefined without valid code for the script of this checksum. */
function readKept(path: string, sum: number): Buffer | undefined {
  try {
    const kept = read(path);
    if (kept.readUInt32LE(0) === sum && kept.readUInt32LE(4) === crc32(kept.subarray(SUMS_BYTES))) return kept;
  } catch {
    // The script is compiled again.
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
