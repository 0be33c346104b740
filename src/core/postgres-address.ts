/** Parses the address of a PostgreSQL database in the config and on the command line, with its credentials. */
import { resolve } from 'node:path';
import { formatAddress, isLoopback } from './address.ts';
import { isPrintable } from './printable.ts';

/** The transport security of a connection. */
export type DatabaseTls =
  | { readonly kind: 'off' }
  /** Encrypted, but without authentication of the server. */
  | { readonly kind: 'unverified' }
  /** `authority`: a file of trusted certificates that replaces Node's defaults. */
  | { readonly kind: 'verified'; readonly authority: string | undefined };

/** A server and its credentials. */
export interface ServerAddress {
  /** A name, an IP address, or the folder of a Unix socket, which starts with a slash. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** A secret. Messages show an address with `showAddress`. */
  readonly password: string | undefined;
  readonly database: string;
  readonly tls: DatabaseTls;
}

export interface PostgresAddress extends ServerAddress {
  /** Alternative servers: a primary and its standbys can switch roles. */
  readonly others: readonly ServerAddress[];
}

/** `problem`: the expected form. It never quotes text that may be part of a password. */
export type ParsedAddress =
  | { readonly kind: 'address'; readonly address: PostgresAddress }
  | { readonly kind: 'problem'; readonly problem: string };

const SCHEME = /^postgres(?:ql)?:\/\//i;
const DEFAULT_PORT = 5432;
const SSL_MODES = ['disable', 'require', 'verify-full'] as const;
type SslMode = (typeof SSL_MODES)[number];
const FORM = 'postgres://user:password@host:5432/database';
/** A primary and its standbys. Every connection attempt contacts each of them. */
const MAX_SERVERS = 8;
/** The parts of an address: before the hosts, the hosts, and the rest. */
const PARTS = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/is;
const ENCODE = 'percent-encode / ? # @ : and % in user and password, such as %40 for @';

/** Reports whether a text is a database address rather than a file path. */
export function isPostgresAddress(text: string): boolean {
  return SCHEME.test(text);
}

/** `postgres://user:***@host:5432/database`: the address without its password. */
export function showAddress(address: PostgresAddress): string {
  const { user, password, database } = address;
  const secret = password === undefined ? '' : ':***';
  const places = serversOf(address).map(({ host, port }) =>
    formatAddress({ host: isSocket(host) ? encodeURIComponent(host) : host, port }),
  );
  return `postgres://${encodeURIComponent(user)}${secret}@${places.join(',')}/${encodeURIComponent(database)}`;
}

/** Returns all servers of an address, in order. */
export function serversOf(address: PostgresAddress): readonly [ServerAddress, ...ServerAddress[]] {
  return [address, ...address.others];
}

/**
 * Reports whether a server must prove knowledge of the password, like libpq's `require_auth=scram-sha-256`. Not required if its
 * certificate identifies it, or without a password.
 */
export function mustProveItself({ password, tls }: ServerAddress): boolean {
  return password !== undefined && tls.kind !== 'verified';
}

/** Reports whether a host is on this machine, where no other machine can intercept or impersonate it. */
export function isOnOwnMachine(host: string): boolean {
  return isSocket(host) || host === 'localhost' || isLoopback(host);
}

/** Parses an address. The path of its `sslrootcert` is relative to `baseDirectory`. */
export function parsePostgresAddress(text: string, baseDirectory: string): ParsedAddress {
  try {
    return { kind: 'address', address: parseAll(text, baseDirectory) };
  } catch (error) {
    if (error instanceof Problem) return { kind: 'problem', problem: error.message };
    throw error;
  }
}

/** Aborts the parsing of an address. */
class Problem extends Error {}

/** `host:5432,host:5432` are two servers with the same credentials and settings. */
function parseAll(text: string, baseDirectory: string): PostgresAddress {
  const [, before = '', hosts = text, behind = ''] = PARTS.exec(text) ?? [];
  const servers = hosts.split(',').map((host) => parse(`${before}${host}${behind}`, baseDirectory));
  if (servers.length > MAX_SERVERS) throw new Problem(`expected ${MAX_SERVERS} hosts at most`);
  const [first, ...others] = servers as [ServerAddress, ...ServerAddress[]];
  return { ...first, others };
}

function parse(text: string, baseDirectory: string): ServerAddress {
  if (!SCHEME.test(text)) throw new Problem(`expected ${FORM}`);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // An unescaped / ? or # in a password ends the authority of the URL, so the rest is misparsed.
  if (url === undefined || (url.username === '' && text.includes('@'))) {
    throw new Problem(`expected ${FORM}; ${ENCODE}`);
  }
  if (url.username === '') throw new Problem(`expected a user before the host: ${FORM}`);
  if (url.hash !== '') throw new Problem(`expected ${FORM}; ${ENCODE}`);
  const host = hostOf(url);
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port);
  if (port === 0) throw new Problem('expected a port from 1 to 65535');
  const database = decoded(url.pathname.slice(1));
  if (database === '' || url.pathname.slice(1).includes('/') || !isPrintable(database)) {
    throw new Problem(`expected the name of a database after the host: ${FORM}`);
  }
  const user = decoded(url.username);
  if (!isPrintable(user)) throw new Problem('expected a user without control characters');
  const password = url.password === '' ? undefined : decoded(url.password);
  if (password?.includes('\0')) throw new Problem('expected a password without zero bytes');
  return { host, port, user, password, database, tls: tlsOf(url.searchParams, host, baseDirectory) };
}

function hostOf(url: URL): string {
  const host = decoded(url.hostname).replace(/^\[(.*)\]$/, '$1');
  if (isSocket(host) && isPrintable(host)) return host;
  if (/^[A-Za-z0-9._-]+$/.test(host) || host.includes(':')) return host;
  throw new Problem(
    'expected a host: a name, an IP address, or the folder of a Unix socket such as %2Fvar%2Frun%2Fpostgresql',
  );
}

function tlsOf(parameters: URLSearchParams, host: string, baseDirectory: string): DatabaseTls {
  for (const name of parameters.keys()) {
    if (name !== 'sslmode' && name !== 'sslrootcert') {
      throw new Problem(`${shownName(name)} is not known; expected sslmode or sslrootcert`);
    }
    if (parameters.getAll(name).length > 1) throw new Problem(`expected ${name} once`);
  }
  const given = parameters.get('sslmode');
  const authority = parameters.get('sslrootcert') ?? undefined;
  if (given !== null && !isSslMode(given)) throw new Problem(`expected one of sslmode=${SSL_MODES.join(', ')}`);
  if (authority === '') throw new Problem('expected sslrootcert=/path/to/certificates.pem');
  const mode = given ?? (isOnOwnMachine(host) && authority === undefined ? 'disable' : 'verify-full');
  if (isSocket(host) && mode !== 'disable')
    throw new Problem('a Unix socket has no TLS; leave sslmode and sslrootcert out');
  if (authority !== undefined && mode !== 'verify-full') throw new Problem('sslrootcert needs sslmode=verify-full');
  switch (mode) {
    case 'disable':
      return { kind: 'off' };
    case 'require':
      return { kind: 'unverified' };
    case 'verify-full':
      return { kind: 'verified', authority: authority && resolve(baseDirectory, authority) };
  }
}

function isSslMode(text: string): text is SslMode {
  return (SSL_MODES as readonly string[]).includes(text);
}

/** Returns a displayable parameter name. Unusual names are hidden: they may be part of a password. */
function shownName(name: string): string {
  return /^[a-z][a-z_]{0,40}$/.test(name) ? `the parameter ${name}` : 'a parameter';
}

function isSocket(host: string): boolean {
  return host.startsWith('/');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Problem(`a % is not followed by two hexadecimal digits; ${ENCODE}`);
  }
}
