/** Classifies errors of PostgreSQL and of the network, with the next step for the operator. */

import { formatAddress } from '../../core/address.ts';
import { UserError } from '../../core/errors.ts';
import { type PostgresAddress, type ServerAddress, serversOf } from '../../core/postgres-address.ts';
import { replaceUnprintable } from '../../core/printable.ts';
import { program } from '../../core/program.ts';
import type { StorageFault } from '../storage-fault.ts';
import { AuthorityError, NoPasswordError, SilentDatabaseError, UnprovenServerError } from './connect.ts';

/** The server is reachable but unusable. Detected when a connection is opened. */
export class UnusableServerError extends Error {
  override name = 'UnusableServerError';
  readonly advice: string;

  /** `message`: the problem. `advice`: the next step. */
  constructor(message: string, advice: string) {
    super(message);
    this.advice = advice;
  }
}

/** All servers of an address are unusable. */
export class NoPrimaryError extends Error {
  override name = 'NoPrimaryError';
  readonly attempts: readonly (readonly [server: ServerAddress, error: unknown])[];

  constructor(attempts: NoPrimaryError['attempts']) {
    super(attempts.map(([server, error]) => `${placeOf(server)}: ${error}`).join('; '));
    this.attempts = attempts;
  }
}

/** The length of an SQLSTATE. */
const STATE_LENGTH = 5;

interface Trouble {
  readonly what: string;
  readonly advice: string;
  readonly kind: StorageFault['kind'];
}

/** `advice` is a function if it contains a command. */
type Entry = readonly [what: string, advice: string | (() => string), kind?: StorageFault['kind']];

const WAIT = 'if this does not pass, look at the log of the database server';
const LISTENS = 'start the database server, or correct the host and port in `state:`; a firewall may be in the way';
const NAME = 'correct the host in `state:`, or the DNS of this machine';
const CREDENTIALS =
  'correct the user and the password in `state:`; percent-encode / ? # @ : and % in them, such as %40 for @';
const RESTORE = 'restore it from a backup, or correct `state:`';
const LOCKED = 'end the transaction that holds the lock: pg_stat_activity lists them';
export const STANDBY = 'set `state:` to the address of the primary server';
const PROMOTE = 'promote a standby, or add the primary server to `state:`';
const CERTIFICATE =
  'name the authority of its certificate with ?sslrootcert=/path/to/ca.pem; sslmode=require encrypts without checking';
const PROOF =
  'somebody may pose as the server; if it is yours, set scram-sha-256 in its pg_hba.conf, and the password once more if it ' +
  'was kept as MD5, or use ?sslmode=verify-full';

/** By prefix of the SQLSTATE; the first match applies. */
const BY_STATE: readonly (readonly [state: string, ...Entry])[] = [
  ['28P01', 'wrong user or password', CREDENTIALS],
  [
    '28',
    'the server does not let this user in',
    'correct the user in `state:`, or pg_hba.conf on the server; it may ask for TLS (?sslmode=verify-full)',
  ],
  ['3D000', 'there is no such database', 'make it with CREATE DATABASE … OWNER …, or correct its name in `state:`'],
  [
    '42501',
    'the user lacks a privilege',
    () =>
      'the first command, and every command that changes something, needs the user who owns the database; ' +
      `\`${program()} state grant <role>\` gives others what a gateway needs`,
  ],
  [
    '53300',
    'too many connections',
    'raise max_connections on the server, or the limit of this user or database, or end other clients',
  ],
  ['53100', 'the disk of the database server is full', 'free some space there'],
  ['53', 'the database server has run out of something', WAIT],
  ['57P03', 'the server is starting or stopping', WAIT],
  ['57P04', 'the database was dropped', 'restore it from a backup, or correct `state:`'],
  ['57', 'the server has ended the query or the connection', WAIT],
  ['3F000', 'it has no tables of inf-gw', RESTORE],
  // While a backup is restored, tables and functions are briefly missing.
  ['42P01', 'it lacks a table of inf-gw', RESTORE],
  ['42883', 'it lacks a function of inf-gw', RESTORE],
  ['55P03', 'another transaction holds a lock', LOCKED, 'busy'],
  ['40', 'another transaction was in the way', LOCKED, 'busy'],
  ['25P0', 'the server has ended a transaction that took too long', WAIT],
  ['25006', 'it takes no writes: it is a standby, or read-only', STANDBY],
  [
    '08',
    'the connection was refused',
    'correct user, password and database in `state:`, or look at the log of the server, or of the pooler in front of it',
  ],
  ['58', 'the server reports an error of its system', 'check the disk of the database server and its log'],
  ['XX001', 'its data is damaged', 'restore it from a backup', 'damage'],
  ['XX002', 'an index of it is damaged', 'run REINDEX, or restore it from a backup', 'damage'],
  // For example, a function was dropped while it ran.
  ['XX000', 'the server reports an error of its own', WAIT],
];

/** By the code of Node's error; certificate errors have OpenSSL's codes. */
const BY_CODE: Readonly<Record<string, Entry>> = {
  ECONNREFUSED: ['nothing listens there', LISTENS],
  ENOENT: ['there is no such socket', LISTENS],
  ENOTFOUND: ['the host is not known', NAME],
  EAI_AGAIN: ['the DNS does not answer', NAME],
  ECONNRESET: ['the connection was cut', WAIT],
  ECONNABORTED: ['the connection was cut', WAIT],
  EPIPE: ['the connection was cut', WAIT],
  ETIMEDOUT: ['the server does not answer', LISTENS],
  EHOSTUNREACH: ['there is no route to the host', LISTENS],
  EHOSTDOWN: ['there is no route to the host', LISTENS],
  ENETUNREACH: ['there is no route to the host', LISTENS],
  ENETDOWN: ['there is no route to the host', LISTENS],
  EACCES: ['this user may not use the socket', 'correct the permissions of the socket, or use a host and a port'],
  CERT_HAS_EXPIRED: ['its certificate has expired', 'renew the certificate of the server'],
  ERR_TLS_CERT_ALTNAME_INVALID: ['its certificate is for another host', 'set `state:` to a host that it is for'],
  EMFILE: ['this process has too many open files', 'raise the limit of open files (ulimit -n)'],
};

/** By the message of pg's own errors, which have no code. */
const BY_MESSAGE: Readonly<Record<string, Entry>> = {
  'timeout expired': ['the server does not answer', LISTENS],
  'Connection terminated': ['the connection was closed', WAIT],
  'Connection terminated unexpectedly': ['the connection was cut', WAIT],
  'Client has encountered a connection error and is not queryable': ['the connection was cut', WAIT],
  'Client was closed and is not queryable': ['the connection was closed', WAIT],
  'The server does not support SSL connections': [
    'the server has no TLS',
    'turn `ssl` on there; on a network that you trust, ?sslmode=disable does without TLS',
  ],
  'There was an error establishing an SSL connection': ['the server does not start TLS', LISTENS],
};

/** All other error codes of TLS handshakes. */
const TLS_CODE = /^(?:ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|INVALID_CA|INVALID_PURPOSE|EPROTO)/;

/** The current storage fault behind an error; undefined for an internal error. */
export function faultOf(error: unknown, address: PostgresAddress): StorageFault | undefined {
  const trouble = troubleOf(error);
  return trouble && { message: `${nameOf(address)}: ${trouble.what}; ${trouble.advice}`, kind: trouble.kind };
}

/** Converts an error of the database to a UserError. Returns other errors unchanged. */
export function explained(error: unknown, address: PostgresAddress): unknown {
  const trouble = troubleOf(error);
  return trouble ? new UserError([`${nameOf(address)}: ${trouble.what}`, trouble.advice]) : error;
}

function nameOf(address: PostgresAddress): string {
  const { user, database } = address;
  return `the database ${database} at ${serversOf(address).map(placeOf).join(' or ')}, as user ${user}`;
}

function placeOf({ host, port }: ServerAddress): string {
  return host.startsWith('/') ? `${host}/.s.PGSQL.${port}` : formatAddress({ host, port });
}

function troubleOf(error: unknown): Trouble | undefined {
  if (error instanceof UnusableServerError) return { what: error.message, advice: error.advice, kind: 'other' };
  if (error instanceof SilentDatabaseError) return { what: error.message, advice: WAIT, kind: 'other' };
  if (error instanceof NoPasswordError) return { what: error.message, advice: CREDENTIALS, kind: 'other' };
  if (error instanceof UnprovenServerError) return { what: error.message, advice: PROOF, kind: 'other' };
  if (error instanceof AuthorityError) {
    return { what: error.message, advice: 'correct sslrootcert in `state:`', kind: 'other' };
  }
  if (error instanceof NoPrimaryError) return troubleOfAll(error);
  if (!(error instanceof Error)) return undefined;
  const { code = '' } = error as NodeJS.ErrnoException;
  const entry = entryFor(code, error.message);
  if (entry === undefined) return undefined;
  const [what, advice, kind = 'other'] = entry;
  const text = typeof advice === 'function' ? advice() : advice;
  return { what: `${what} (${replaceUnprintable(error.message)})`, advice: text, kind };
}

/** The advice refers to the first server that is not a standby: standbys are in their normal state. */
function troubleOfAll({ attempts }: NoPrimaryError): Trouble | undefined {
  const troubles = attempts.map(([server, error]) => ({ place: placeOf(server), trouble: troubleOf(error) }));
  const known = troubles.filter((each): each is { place: string; trouble: Trouble } => each.trouble !== undefined);
  // An internal error is not a server fault.
  if (known.length < attempts.length) return undefined;
  const what = known.map(({ place, trouble }) => `${place}: ${trouble.what}`).join('; ');
  const advice = known.find(({ trouble }) => trouble.advice !== STANDBY)?.trouble.advice ?? PROMOTE;
  return { what: `none of its servers can be used: ${what}`, advice, kind: 'other' };
}

function entryFor(code: string, message: string): Entry | undefined {
  const byState = BY_STATE.find(([state]) => code.length === STATE_LENGTH && code.startsWith(state));
  if (byState !== undefined) {
    const [, ...entry] = byState;
    return entry;
  }
  if (Object.hasOwn(BY_CODE, code)) return BY_CODE[code];
  if (TLS_CODE.test(code)) return ['its TLS cannot be trusted or used', CERTIFICATE];
  if (message.startsWith('received invalid response')) return ['it does not speak the protocol of PostgreSQL', LISTENS];
  return Object.hasOwn(BY_MESSAGE, message) ? BY_MESSAGE[message] : undefined;
}
