/** The commands of PostgreSQL's own tools that back up and restore a shared state. Pure. */
import type { PostgresAddress } from '../core/postgres-address.ts';

/** What is backed up: everything the program has made is in this schema. */
const SCHEMA = '--schema=inf_gw';
/** A password on a command line can be read by every user of the machine. */
const PASSWORD = 'it asks for the password, or takes it from ~/.pgpass; do not write it into the command';

/** The lines that say how to back up a database. */
export function databaseBackup(address: PostgresAddress, file: string): readonly string[] {
  const command = ['pg_dump', ...connection(address), SCHEMA, '--format=custom', `--file=${file}`, address.database];
  return [`the state is in PostgreSQL, so back it up with: ${shell(address, command)}`, PASSWORD];
}

/** The lines that say how to restore one: in one transaction, so that a failure changes nothing. */
export function databaseRestore(address: PostgresAddress, file: string): readonly string[] {
  const mode = ['--clean', '--if-exists', '--single-transaction'];
  const command = ['pg_restore', ...connection(address), `--dbname=${address.database}`, ...mode, file];
  return [`the state is in PostgreSQL, so stop its gateways and restore it with: ${shell(address, command)}`, PASSWORD];
}

function connection({ host, port, user }: PostgresAddress): readonly string[] {
  return [`--host=${host}`, `--port=${port}`, `--username=${user}`];
}

/** The command as it can be typed, with the protection of its connection in front. */
function shell({ tls }: PostgresAddress, words: readonly string[]): string {
  return [...tlsVariables(tls), ...words.map(quoted)].join(' ');
}

function tlsVariables(tls: PostgresAddress['tls']): readonly string[] {
  switch (tls.kind) {
    case 'off':
      return [];
    case 'unverified':
      return ['PGSSLMODE=require'];
    case 'verified':
      // pg_dump looks for authorities in a file of its own, unless it is told to take the system's.
      return ['PGSSLMODE=verify-full', `PGSSLROOTCERT=${quoted(tls.authority ?? 'system')}`];
  }
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
