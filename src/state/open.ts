/**
 * Opens the state wherever it is kept. The parts of a store are loaded only if it is used. In the folder of another user, root
 * has become that user before anything there is opened.
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

/** Opens the state, making its file or its tables if there are none. Rejects with a UserError. */
export async function openState(location: StateLocation, durability: Durability): Promise<OpenState> {
  switch (location.kind) {
    case 'file':
      becomeOwner(location.path);
      return (await import('./sqlite/open-state.ts')).openState(location.path, durability);
    case 'postgres':
      // Here operators always wait for the disk: they seldom write.
      return (await import('./postgres/open-state.ts')).openState(location.address);
  }
}

/**
 * Opens the state, and changes nothing in a file: none is made or migrated. Of a database the rights of its role
 * decide. Rejects with a UserError, also if there is no file.
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

/** Throws a UserError if files are missing that a running gateway needs beside the state file, so that no command may open it. */
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

/** Which commands make a state file. */
export const CREATORS = '`serve`, `keys create`, `groups create` or `credit add` creates it';

function missingFile(path: string): string {
  return `no state file at ${path}; ${CREATORS}`;
}

/** A state with nothing in it, for commands that only read where there is none yet. */
export async function emptyState(): Promise<OpenState> {
  return (await import('./sqlite/open-state.ts')).emptyState();
}

/** Whether the state is a file that does not exist yet. Of a database only opening it tells. */
export function isMissingFile(location: StateLocation): boolean {
  return location.kind === 'file' && !existsSync(location.path);
}

/** Locks a state that is to be moved. Rejects with a UserError, also if a gateway runs on it. */
export async function openSource(location: StateLocation): Promise<MoveSource> {
  switch (location.kind) {
    case 'file':
      becomeOwner(location.path);
      return (await import('./sqlite/move.ts')).FileSource.open(location.path);
    case 'postgres':
      return (await import('./postgres/move-source.ts')).DatabaseSource.open(location.address);
  }
}

/** Locks an empty state that another is to be moved to. Rejects with a UserError, also if it is not empty. */
export async function openTarget(location: StateLocation): Promise<MoveTarget> {
  switch (location.kind) {
    case 'file':
      becomeOwner(location.path);
      return (await import('./sqlite/move.ts')).FileTarget.open(location.path);
    case 'postgres':
      return (await import('./postgres/move-target.ts')).DatabaseTarget.open(location.address);
  }
}

/** Opens a state for an audit, without changing anything. Rejects with a UserError if there is none. */
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

/** Gives a role of a database what a gateway needs. Returns what that has created. Rejects with a UserError. */
export async function grantToRole(
  address: PostgresAddress,
  role: string,
  retentionMs: number | undefined,
): Promise<string | undefined> {
  return (await import('./postgres/grant.ts')).grantToRole(address, role, retentionMs);
}

/**
 * What can be named where a key can: the names of at most so many keys, and of groups with an @ before them, the latest first. None where there is no state file. Changes
 * nothing in the state, and rejects with any error.
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

/** Copies a state file, and returns the size of the copy. Rejects with a UserError, also for a database: that has tools of its own. */
export async function backUpState(location: StateLocation, file: string, options: CopyOptions): Promise<number> {
  if (location.kind === 'postgres') throw new UserError(databaseBackup(location.address, file));
  becomeOwner(location.path);
  return (await import('./sqlite/backup.ts')).backUp(location.path, file, options);
}

/** Replaces a state file by a backup, and returns where the old one is kept. Rejects with a UserError as above. */
export async function restoreState(
  location: StateLocation,
  backup: string,
  options: RestoreOptions,
): Promise<string | undefined> {
  if (location.kind === 'postgres') throw new UserError(databaseRestore(location.address, backup));
  return (await import('./sqlite/restore.ts')).restore(location.path, backup, options);
}

/** Looks at a database without changing anything. Rejects with a UserError if it cannot be reached or used. */
export async function examineDatabase(address: PostgresAddress): Promise<DatabaseFacts> {
  return (await import('./postgres/examine.ts')).examineDatabase(address);
}

/** What is backed up: everything the program has made is in this schema. */
const SCHEMA = '--schema=inf_gw';
/** A password on a command line can be read by every user of the machine. */
const PASSWORD = 'it asks for the password, or takes it from ~/.pgpass; do not write it into the command';

/** The lines that say how to back up a database. */
function databaseBackup(address: PostgresAddress, file: string): readonly string[] {
  const command = ['pg_dump', ...connection(address), SCHEMA, '--format=custom', `--file=${file}`, address.database];
  return [`the state is in PostgreSQL, so back it up with: ${shell(address, command)}`, PASSWORD];
}

/** The lines that say how to restore one: in one transaction, so that a failure changes nothing. */
function databaseRestore(address: PostgresAddress, file: string): readonly string[] {
  const mode = ['--clean', '--if-exists', '--single-transaction'];
  const command = ['pg_restore', ...connection(address), `--dbname=${address.database}`, ...mode, file];
  return [`the state is in PostgreSQL, so stop its gateways and restore it with: ${shell(address, command)}`, PASSWORD];
}

/** PostgreSQL's tools take several servers as lists. */
function connection(address: PostgresAddress): readonly string[] {
  const servers = serversOf(address);
  const list = (of: readonly (string | number)[]) => of.join(',');
  return [
    `--host=${list(servers.map(({ host }) => host))}`,
    `--port=${list(servers.map(({ port }) => port))}`,
    `--username=${address.user}`,
  ];
}

/** The command as it can be typed, with the protection of its connection in front. Of several servers it is for the primary. */
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
      // pg_dump looks for authorities in a file of its own, unless it is told to take the system's.
      return ['PGSSLMODE=verify-full', `PGSSLROOTCERT=${shellWord(tls.authority ?? 'system')}`];
  }
}
