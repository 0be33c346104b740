/** Copies a state file as of one moment, while a gateway may be writing to it. */
import { existsSync, linkSync, readdirSync, renameSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { UserError } from '../../core/errors.ts';
import { sync } from '../../core/files.ts';
import { openAsItIs, refuseUnknown, withRetry } from './database.ts';
import { type CopyOptions, explainedCopy, settleDraft } from './draft.ts';
import { refuseWithoutIndex } from './lock.ts';
import { createExclusively } from './private-files.ts';
import { isDamage } from './storage-errors.ts';
import { removeFiles } from './whole-files.ts';

/** Number of 4 KB pages between two checks of the signal. With 100, SQLite's own overhead triples the time. */
const STEP_PAGES = 1_024;

/**
 * Copies a state file to `file`, which must not exist, and returns its size in bytes. Rejects with a UserError, after
 * removing partial copies.
 */
export async function backUp(path: string, file: string, options: CopyOptions): Promise<number> {
  if (!existsSync(path)) throw new UserError(`no state file at ${path}: there is nothing to back up`);
  refuseExisting(file);
  const draft = makeDraft(file);
  try {
    await copyPages(path, draft, options);
    settleDraft(draft, path);
    await options.verify(draft);
    options.signal.throwIfAborted();
    sync(draft);
    giveName(draft, file);
    sync(dirname(file));
    return statSync(file).size;
  } catch (error) {
    throw explainedCopy(error, isDamage(error) ? path : file);
  } finally {
    removeFiles(draft);
  }
}

function makeDraft(file: string): string {
  const draft = `${file}.partial-${process.pid}`;
  try {
    removeAbandoned(file);
    createExclusively(draft);
    return draft;
  } catch (error) {
    throw explainedCopy(error, file);
  }
}

/**
 * Copies within a read transaction, which sees a single snapshot. Without it, SQLite restarts the backup after every
 * commit of another process, and would never finish under a gateway with traffic.
 */
async function copyPages(path: string, draft: string, { onProgress, signal }: CopyOptions): Promise<void> {
  refuseWithoutIndex(path);
  const source = openAsItIs(path);
  try {
    refuseUnknown(source, path);
    source.pragma('query_only = ON');
    source.exec('BEGIN');
    withRetry(() => source.prepare('SELECT count(*) FROM sqlite_schema').get());
    await source.backup(draft, {
      progress: ({ totalPages, remainingPages }) => {
        signal.throwIfAborted();
        onProgress(totalPages - remainingPages, totalPages);
        return STEP_PAGES;
      },
    });
  } finally {
    source.close();
  }
}

function refuseExisting(file: string): void {
  if (existsSync(file)) throw new UserError(`${file} already exists; name a file that does not`);
}

/** Never overwrites a file, even one created a moment ago. */
function giveName(draft: string, file: string): void {
  try {
    linkSync(draft, file);
  } catch {
    refuseExisting(file);
    // Fallback for file systems without hard links.
    createExclusively(file);
    renameSync(draft, file);
  }
}

/** Removes drafts of backups to the same file whose process is dead. */
function removeAbandoned(file: string): void {
  const prefix = `${basename(file)}.partial-`;
  for (const name of readdirSync(dirname(file))) {
    const pid = name.startsWith(prefix) ? /^\d+/.exec(name.slice(prefix.length))?.[0] : undefined;
    if (pid !== undefined && !isRunning(Number(pid))) removeFiles(join(dirname(file), prefix + pid));
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
