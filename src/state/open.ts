/**
 * Opens the state from a file or a database. Each store's modules are loaded only when used. For a folder of another user,
 * a root process switches to that user before it opens any file in it.
 */
import { existsSync } from 'node:fs';
import { UserError } from '../core/errors.ts';
import { becomeOwner } from '../core/folder-owner.ts';
import { type PostgresAddress, serversOf } from '../core/postgres-address.ts';
import type { Durability } from '../core/settings.ts';
import { shellWord } from '../core/shell-word.ts';
import type { StateLocation } from '../core/state-location.ts';
import type { Contents, MoveSource, MoveTarget } from './move.ts';
import type { DatabaseFacts } from './postgres/examine.ts';
import type { CopyOptions } from './sqlite/draft.ts';
import type { RestoreOptions } from './sqlite/restore.ts';
import type { OpenState } from './state.ts';

/** Opens the state and creates its file or tables if they are missing. Rejects with a UserError. */
export async function openState(location: StateLocation, durability: Durability): Promise<OpenState> {
  switch (location.kind) {
    case 'file':
      becomeOwner(location.path);
      return (await import('./sqlite/open-state.ts')).openState(location.path, durability);
    case 'postgres':
      // Operators always wait for the fsync: they seldom write.
      return (await import('./postgres/open-state.ts')).openState(location.address);
  }
}

/**
 * Opens the state for reading. A file is neither created nor migrated; a database enforces the rights of its role. Rejects
 * with a UserError, also if the file does not exist.
 */
export async function openStateToRead(location: StateLocation, durability: Durability): Promise<OpenState> {
  if (location.kind === 'postgres') return openState(location, durability);
  if (isMissingFile(location)) throw new UserError(missingFile(location.path));
  becomeOwner(location.path);
  return (await import('./sqlite/open-state.ts')).openStateToRead(location.path);
}

/** Whether the state is a file that this process cannot write. */
export async function isUnwritableFile(location: StateLocation): Promise<boolean> {
  if (location.kind === 'postgres') return false;
  becomeOwner(location.path);
  return (await import('./sqlite/open-to-read.ts')).isUnwritable(location.path);
}

/**
 * Throws a UserError if files that a running gateway needs next to the state file are missing. No command may open the
 * state then.
 */
export async function assertWhole(path: string): Promise<void> {
  (await import('./sqlite/lock.ts')).refuseWithoutIndex(path);
}

/** Whether a gateway has locked the state. Gateways on a database share it. */
export async function isLocked(location: StateLocation): Promise<boolean> {
  if (location.kind === 'postgres') return false;
  becomeOwner(location.path);
  const lock = (await import('./sqlite/lock.ts')).tryLockState(location.path);
  lock?.release();
  return lock === undefined;
}

/** The commands that create a state file. */
export const CREATORS = '`serve`, `keys create`, `groups create` or `credit add` creates it';

function missingFile(path: string): string {
  return `no state file at ${path}; ${CREATORS}`;
}

/** An empty state, for read commands that run before a state file exists. */
export async function emptyState(): Promise<OpenState> {
  return (await import('./sqlite/open-state.ts')).emptyState();
}

/** Whether the state is a file that does not exist yet. Always false for a database: only connecting to it would show. */
export function isMissingFile(location: StateLocation): boolean {
  return location.kind === 'file' && !existsSync(location.path);
}

/** Locks the source of a move. Rejects with a UserError, also if a gateway runs on it. */
export async function openSource(location: StateLocation): Promise<MoveSource> {
  switch (location.kind) {
    case 'file':
      becomeOwner(location.path);
      return (await import('./sqlite/move.ts')).FileSource.open(location.path);
    case 'postgres':
      return (await import('./postgres/move-source.ts')).DatabaseSource.open(location.address);
  }
}

/** Locks an empty state as the target of a move. Rejects with a UserError, also if it is not empty. */
export async function openTarget(location: StateLocation): Promise<MoveTarget> {
  switch (location.kind) {
    case 'file':
      becomeOwner(location.path);
      return (await import('./sqlite/move.ts')).FileTarget.open(location.path);
    case 'postgres':
      return (await import('./postgres/move-target.ts')).DatabaseTarget.open(location.address);
  }
}

/** Opens a state for an audit, read-only. Rejects with a UserError if it does not exist. */
export async function openContents(location: StateLocation): Promise<{ contents: Contents; close(): Promise<void> }> {
  switch (location.kind) {
    case 'file': {
      if (isMissingFile(location)) throw new UserError(missingFile(location.path));
      becomeOwner(location.path);
      (await import('./sqlite/open-state.ts')).closeToOthers(location.path);
      return { contents: location, close: async () => {} };
    }
    case 'postgres': {
      const session = await (await import('./postgres/long-session.ts')).openReader(location.address);
      return { contents: { kind: 'database', read: session.run }, close: () => session.close() };
    }
  }
}

/**
 * Grants a role the privileges that a gateway needs. Returns a description of the objects it created. Rejects with a
 * UserError.
 */
export async function grantToRole(
  address: PostgresAddress,
  role: string,
  retentionMs: number | undefined,
): Promise<string | undefined> {
  return (await import('./postgres/grant.ts')).grantToRole(address, role, retentionMs);
}

/**
 * Names for shell completion where a key is expected: up to `most` key names, and group names with an @ prefix, latest
 * first. Empty without a state file. Reads only, and rejects with any error.
 */
export async function keyNames(location: StateLocation, most: number): Promise<string[]> {
  switch (location.kind) {
    case 'file':
      if (isMissingFile(location)) return [];
      becomeOwner(location.path);
      return (await import('./sqlite/key-names.ts')).keyNames(location.path, most);
    case 'postgres':
      return (await import('./postgres/key-names.ts')).keyNames(location.address, most);
  }
}

/**
 * Copies a state file and returns the size of the copy. Rejects with a UserError; for a database, the message contains the
 * pg_dump command.
 */
export async function backUpState(location: StateLocation, file: string, options: CopyOptions): Promise<number> {
  if (location.kind === 'postgres') throw new UserError(databaseBackup(location.address, file));
  becomeOwner(location.path);
  return (await import('./sqlite/backup.ts')).backUp(location.path, file, options);
}

/** Replaces a state file with a backup and returns the path of the old one. Rejects with a UserError like `backUpState`. */
export async function restoreState(
  location: StateLocation,
  backup: string,
  options: RestoreOptions,
): Promise<string | undefined> {
  if (location.kind === 'postgres') throw new UserError(databaseRestore(location.address, backup));
  return (await import('./sqlite/restore.ts')).restore(location.path, backup, options);
}

/** Examines a database, read-only. Rejects with a UserError if it cannot be reached or used. */
export async function examineDatabase(address: PostgresAddress): Promise<DatabaseFacts> {
  return (await import('./postgres/examine.ts')).examineDatabase(address);
}

/** Limits the backup to the schema of the program. */
const SCHEMA = '--schema=inf_gw';
/** Every user of the machine can read a password on a command line. */
const PASSWORD = 'it asks for the password, or takes it from ~/.pgpass; do not write it into the command';

/** Explains how to back up a database. */
function databaseBackup(address: PostgresAddress, file: string): readonly string[] {
  const command = ['pg_dump', ...connection(address), SCHEMA, '--format=custom', `--file=${file}`, address.database];
  return [`the state is in PostgreSQL, so back it up with: ${shell(address, command)}`, PASSWORD];
}

/** Explains how to restore a database: in one transaction, so that a failure leaves it unchanged. */
function databaseRestore(address: PostgresAddress, file: string): readonly string[] {
  const mode = ['--clean', '--if-exists', '--single-transaction'];
  const command = ['pg_restore', ...connection(address), `--dbname=${address.database}`, ...mode, file];
  return [`the state is in PostgreSQL, so stop its gateways and restore it with: ${shell(address, command)}`, PASSWORD];
}

/** PostgreSQL's tools accept several servers as comma-separated lists. */
function connection(address: PostgresAddress): readonly string[] {
  const servers = serversOf(address);
  const list = (of: readonly (string | number)[]) => of.join(',');
  return [
    `--host=${list(servers.map(({ host }) => host))}`,
    `--port=${list(servers.map(({ port }) => port))}`,
    `--username=${address.user}`,
  ];
}

/** The command for a shell, with the TLS variables of its connection. With several servers it connects to the primary. */
function shell({ tls, others }: PostgresAddress, words: readonly string[]): string {
  const primary = others.length === 0 ? [] : ['PGTARGETSESSIONATTRS=read-write'];
  return [...primary, ...tlsVariables(tls), ...words.map(shellWord)].join(' ');
}

function tlsVariables(tls: PostgresAddress['tls']): readonly string[] {
  switch (tls.kind) {
    case 'off':
      return [];
    case 'unverified':
      return ['PGSSLMODE=require'];
    case 'verified':
      // pg_dump reads authorities from its own file unless PGSSLROOTCERT selects the system's.
      return ['PGSSLMODE=verify-full', `PGSSLROOTCERT=${shellWord(tls.authority ?? 'system')}`];
  }
}
