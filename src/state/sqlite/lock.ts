/** The lock of a state file. The operating system releases it at any end of the process. */
import { existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { UserError } from '../../core/errors.ts';
import { resolveLinks } from '../../core/files.ts';
import { program } from '../../core/program.ts';
import { createPrivately, makePartPrivate, ownerBeside } from './private-files.ts';
import { explained, isBusy } from './storage-errors.ts';
import { lockPathOf } from './whole-files.ts';

/** Maximum wait for a gateway that hands over, and interval of the attempts, in milliseconds. */
const WAIT_MS = 5_000;
const RETRY_MS = 5;
/** Upper bound of the time in which a gateway creates or removes the log and its index, in milliseconds. */
const CHANGE_MS = 500;
const sleepCell = new Int32Array(new SharedArrayBuffer(4));

export interface Lock {
  release(): void;
}

/** Locks a state file for this gateway. Throws a UserError if another gateway has locked it. */
export function lockState(path: string): Lock {
  const lock = tryLockState(path);
  if (lock !== undefined) return lock;
  throw isRunning(path);
}

function isRunning(path: string): UserError {
  return new UserError(
    `another inf-gw serve is running on ${path}; replace it without a pause by \`${program()} serve --takeover\`, stop it, or set \`state:\` in the config to another file`,
  );
}

/** Throws a UserError if another gateway has locked the state file. */
export function refuseLocked(path: string): void {
  if (existsSync(path)) lockState(path).release();
}

/** Locks a state file. Returns undefined if a gateway runs on it or is about to take it over. Throws a UserError. */
export function tryLockState(path: string): Lock | undefined {
  const lock = tryLockHandedOver(path);
  if (lock === undefined || !existsSync(takeoverLockPath(path))) return lock;
  // During the handover of a takeover only the takeover lock is held.
  const takeover = tryLockTakeover(path);
  takeover?.release();
  if (takeover !== undefined) return lock;
  lock.release();
  return undefined;
}

/**
 * Throws a UserError if the index of the log (`-shm`) is missing: a running gateway would not see the writes of a command,
 * and would overwrite them.
 */
export function refuseWithoutIndex(path: string): void {
  const file = resolveLinks(path);
  const deadline = performance.now() + CHANGE_MS;
  while (existsSync(`${file}-wal`) && !existsSync(`${file}-shm`)) {
    const lock = tryLockState(file);
    lock?.release();
    // The files are leftovers of a killed gateway.
    if (lock !== undefined) return;
    // SQLite creates and removes the two files one after the other.
    if (performance.now() > deadline) {
      throw new UserError(`${file}-shm is gone under the gateway that runs on ${path}: restart the gateway`);
    }
    Atomics.wait(sleepCell, 0, 0, RETRY_MS);
  }
}

/** Locks a state file for one of the two gateways of a takeover, after the other has released it. Throws a UserError. */
export async function lockHandedOver(path: string): Promise<Lock> {
  const deadline = performance.now() + WAIT_MS;
  while (true) {
    const lock = tryLockHandedOver(path);
    if (lock !== undefined) return lock;
    if (performance.now() > deadline) throw isRunning(path);
    await setTimeout(RETRY_MS);
  }
}

function tryLockHandedOver(path: string): Lock | undefined {
  // A symbolic link leads to the same file, so it needs the same lock.
  const state = resolveLinks(path);
  return tryLockFile(lockPathOf(state), state);
}

/**
 * Takes the takeover lock of a state file, which reserves the right to replace its gateway. Returns undefined if another
 * gateway has it. Throws a UserError.
 */
export function tryLockTakeover(path: string): Lock | undefined {
  return tryLockFile(takeoverLockPath(path), resolveLinks(path));
}

function takeoverLockPath(path: string): string {
  return `${resolveLinks(path)}-takeover-lock`;
}

/**
 * Locks a file with an exclusive SQLite transaction, which takes a lock of the operating system and writes no data.
 * Returns undefined if another process holds the lock. The lock file gets the owner of the state file.
 */
function tryLockFile(path: string, state: string): Lock | undefined {
  // Read permission is enough to lock a file, so it must be private.
  if (!createPrivately(path, ownerBeside(state))) makePartPrivate(path);
  const database = new Database(path, { timeout: 0 });
  try {
    database.pragma('journal_mode = MEMORY');
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw explained(error, path);
  }
  return { release: () => database.close() };
}
