/**
 * Replaces a state file with a backup. Whenever the process dies, the path leads to the old or the new state, and never to
 * a file next to the log of another one: SQLite would apply that log to it.
 */

import { constants, existsSync, linkSync, lstatSync, renameSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isoTime } from '../../core/clock.ts';
import { UserError } from '../../core/errors.ts';
import { ownUid, resolveLinks, sync } from '../../core/files.ts';
import { becomeOwner } from '../../core/folder-owner.ts';
import { program } from '../../core/program.ts';
import { openOwn, type Sqlite, withRetry } from './database.ts';
import { type CopyOptions, explainedCopy, settleDraft } from './draft.ts';
import { type Lock, tryLockState } from './lock.ts';
import { createExclusively, makePrivate, type Owner, ownerBeside } from './private-files.ts';
import { identityOf } from './state-file.ts';
import { isBusy, isStorageError } from './storage-errors.ts';
import { lockPathOf, removeCompanions, removeFiles } from './whole-files.ts';

/** Suffixes of the data files. SQLite recreates the third companion, `-shm`. */
const LOGS = ['-wal', '-journal'];
const CHUNK_BYTES = 4 * 1024 * 1024;
/** Maximum wait for commands that have the state open; they take milliseconds. */
const LOCK_WAIT_MS = 1_000;

export interface RestoreOptions extends CopyOptions {
  /** Called after the backup was verified. Rejects with a UserError if the operator declines. */
  readonly confirm: () => Promise<void>;
}

/**
 * Replaces the state file at `path` with a copy of `backup`. Returns the path of the old state; undefined if it did not
 * exist. Rejects with a UserError and leaves the state unchanged on failure.
 */
export async function restore(path: string, backup: string, options: RestoreOptions): Promise<string | undefined> {
  const target = targetOf(path);
  assertBackup(backup, target);
  const parts = await openParts(backup);
  try {
    // Comes after opening the backup, which may be readable for root only.
    becomeOwner(path);
    return await restoreParts(parts, target, backup, options);
  } finally {
    for (const part of parts.values()) await part.close();
  }
}

async function restoreParts(
  parts: ReadonlyMap<string, FileHandle>,
  state: string,
  backup: string,
  options: RestoreOptions,
): Promise<string | undefined> {
  const lock = lockTarget(state);
  const draft = `${state}.restoring`;
  try {
    // Left by a killed restore.
    removeFiles(draft);
    const owner = ownerBeside(state);
    for (const [suffix, part] of parts) await copyPart(part, draft + suffix, owner, options.signal);
    settleDraft(draft, backup);
    await options.verify(draft);
    options.signal.throwIfAborted();
    await options.confirm();
    sync(draft);
    return replace(state, draft);
  } catch (error) {
    throw explainedCopy(error, state);
  } finally {
    removeFiles(draft);
    lock.release();
  }
}

/** The target of a symbolic link: the link itself stays. */
function targetOf(path: string): string {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  if (isLink && !existsSync(path)) {
    throw new UserError(`${path} is a symbolic link to a file that does not exist; mount its disk, or remove the link`);
  }
  const state = resolveLinks(path);
  const stats = statSync(state, { throwIfNoEntry: false });
  if (stats === undefined) return state;
  if (!stats.isFile()) throw new UserError(`${state} is not a file; set \`state:\` in the config to another path`);
  if (ownUid() !== 0 && stats.uid !== ownUid()) {
    throw new UserError(`${state} belongs to another user; run restore as that user, or as root`);
  }
  return state;
}

function assertBackup(backup: string, state: string): void {
  const stats = statSync(backup, { throwIfNoEntry: false });
  if (stats === undefined) throw new UserError(`no file at ${backup}; name a backup`);
  if (!stats.isFile()) throw new UserError(`${backup} is not a file; name a backup`);
  if (identityOf(backup) === identityOf(state)) {
    throw new UserError(`${backup} is the state file itself; name a backup of it`);
  }
  if (isInUse(backup)) {
    throw new UserError(
      `a gateway is running on ${backup}, so it is not a backup; make one with \`${program()} backup\``,
    );
  }
}

function isInUse(backup: string): boolean {
  if (!existsSync(lockPathOf(resolveLinks(backup)))) return false;
  try {
    const lock = tryLockState(backup);
    lock?.release();
    return lock === undefined;
  } catch {
    // A lock failure means read-only storage, on which no gateway can run.
    return false;
  }
}

function lockTarget(state: string): Lock {
  const lock = tryLockState(state);
  if (lock === undefined) throw new UserError(`a gateway is running on ${state}; stop it first`);
  return lock;
}

/** Opens a backup and its logs, by suffix. */
async function openParts(backup: string): Promise<ReadonlyMap<string, FileHandle>> {
  const source = resolveLinks(backup);
  const parts = new Map<string, FileHandle>();
  for (const suffix of ['', ...LOGS]) {
    if (existsSync(source + suffix)) parts.set(suffix, await open(source + suffix, 'r'));
  }
  return parts;
}

/** Copies bytes, so that a read-only backup and its log remain unchanged. */
async function copyPart(part: FileHandle, to: string, owner: Owner | undefined, signal: AbortSignal): Promise<void> {
  createExclusively(to, owner);
  await using target = await open(to, constants.O_WRONLY | constants.O_NOFOLLOW);
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  while (true) {
    signal.throwIfAborted();
    const { bytesRead } = await part.read(chunk);
    if (bytesRead === 0) return;
    await target.writeFile(chunk.subarray(0, bytesRead));
  }
}

/** Links the old state to a second path before the draft replaces it. */
function replace(state: string, draft: string): string | undefined {
  const parts = ['', ...LOGS].filter((suffix) => existsSync(state + suffix));
  const kept = parts.length === 0 ? undefined : `${state}.replaced-${isoTime(Date.now()).replaceAll(/[-:]/g, '')}`;
  let old: Sqlite | undefined;
  try {
    // Comes before SQLite opens the file, because SQLite removes the log of a damaged one.
    if (kept !== undefined) for (const suffix of parts) linkSync(state + suffix, kept + suffix);
    sync(dirname(state));
    old = existsSync(state) ? takeAlone(state) : undefined;
    // The log of an intact state is merged into its file now. The log of a damaged state is kept under the second path,
    // and must not be applied to the new state. A crash right after the removal leaves a damaged state without its log;
    // the copy under the second path is complete.
    removeCompanions(old !== undefined && kept !== undefined ? kept : state);
    sync(dirname(state));
    renameSync(draft, state);
  } catch (error) {
    old?.close();
    if (kept !== undefined) removeFiles(kept);
    throw error;
  }
  old?.close();
  sync(dirname(state));
  return kept;
}

/**
 * Merges the log into the old state and locks out all other programs: a program that opened it earlier makes this fail,
 * and one that opens it now detects the replacement. Returns undefined if the file is too damaged.
 */
function takeAlone(state: string): Sqlite | undefined {
  let database: Sqlite | undefined;
  try {
    makePrivate(state);
    database = openOwn(state);
    const opened = database;
    withRetry(() => opened.pragma('journal_mode = DELETE'), LOCK_WAIT_MS);
    withRetry(() => opened.exec('BEGIN EXCLUSIVE'), LOCK_WAIT_MS);
    if (!existsSync(`${state}-wal`)) return opened;
  } catch (error) {
    database?.close();
    if (isStorageError(error) && !isBusy(error)) return undefined;
    if (!isBusy(error)) throw error;
  }
  database?.close();
  throw new UserError(`another program has ${state} open; end it and try again`);
}
