/** Connections to PostgreSQL: with timeouts, without automatic reconnects, and authenticated in both directions. */

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ConnectionOptions as TlsOptions } from 'node:tls';
import pg from 'pg';
import { mustProveItself, type ServerAddress } from '../../core/postgres-address.ts';

/** Timeout of the connection setup, including the login. */
const CONNECT_TIMEOUT_MS = 5_000;
/** An idle connection is probed after this time, and then every second. */
const KEEP_ALIVE_MS = 5_000;
/** Timeout of an orderly disconnect. */
const GOODBYE_MS = 1_000;

/** The database did not answer in time, so the connection was closed. */
export class SilentDatabaseError extends Error {
  override name = 'SilentDatabaseError';
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(`no answer within ${timeoutMs / 1000} s`);
    this.timeoutMs = timeoutMs;
  }
}

/** The server requests a password, and the address contains none. */
export class NoPasswordError extends Error {
  override name = 'NoPasswordError';
}

/** The file of `sslrootcert` is unusable. The message contains the reason. */
export class AuthorityError extends Error {
  override name = 'AuthorityError';
}

/**
 * The server neither proved that it knows the password nor has a verified certificate. The message describes its request.
 */
export class UnprovenServerError extends Error {
  override name = 'UnprovenServerError';
}

/**
 * Opens a connection. Rejects within seconds, with an error that `faults.ts` explains. A lost connection is not reopened:
 * its queries reject, and it emits `end`.
 */
export async function connect(address: ServerAddress, applicationName: string): Promise<pg.Client> {
  const { host, port, user, password, database } = address;
  let unproven: UnprovenServerError | undefined;
  const client = new pg.Client({
    host,
    port,
    user,
    database,
    // A function, because pg would search other sources for a missing password and print a warning.
    password: () => {
      if (unproven !== undefined) throw unproven;
      if (password === undefined) throw new NoPasswordError('the server asks for a password');
      return password;
    },
    ssl: tlsOptions(address),
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    // Sends queries immediately. The server answers them in order.
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  });
  // The next query on the connection reports the error.
  client.on('error', () => {});
  if (mustProveItself(address)) {
    requireProof(client, (error) => {
      unproven = error;
    });
  }
  try {
    await client.connect();
    if (unproven !== undefined) throw unproven;
    return client;
  } catch (error) {
    sever(client);
    throw isOfSigningIn(error) ? new UnprovenServerError('the server does not sign in as PostgreSQL does') : error;
  }
}

/** Whether the error is pg's reaction to invalid SCRAM messages: a wrong proof, or messages out of order. */
function isOfSigningIn(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof Error && error.message.startsWith('SASL'));
}

/**
 * Accepts only SCRAM, in which the server proves that it knows the password and the password is never sent. An impostor
 * could request it in clear text or as MD5, or skip authentication. A Unix socket may omit authentication: the system
 * identifies its user.
 */
function requireProof(client: pg.Client, refuse: (error: UnprovenServerError) => void): void {
  let isProven = client.host.startsWith('/');
  const refusing = (what: string) => () => refuse(new UnprovenServerError(`the server asks for ${what}`));
  // Registered before pg's own listeners, which request the password.
  client.connection.on('authenticationCleartextPassword', refusing('the password in clear'));
  client.connection.on('authenticationMD5Password', refusing('an MD5 of the password'));
  // pg verifies the proof, and closes the connection if it is wrong.
  client.connection.on('authenticationSASLFinal', () => {
    isProven = true;
  });
  client.connection.on('authenticationOk', () => {
    if (!isProven) refuse(new UnprovenServerError('the server lets us in, and proves nothing'));
  });
}

/**
 * Runs a query. After the timeout it rejects with a SilentDatabaseError and closes the connection, because the query may
 * still run or have run. This is the only way to detect a link that went silent during a query.
 */
export async function query<Row extends pg.QueryResultRow>(
  client: pg.Client,
  request: string | pg.QueryConfig<unknown[]>,
  timeoutMs: number,
): Promise<pg.QueryResult<Row>> {
  return answered(client, timeoutMs, () => client.query<Row>(request));
}

/** Like `query`, but passes rows one by one instead of collecting them in memory. */
export async function queryRows<Row extends pg.QueryResultRow>(
  client: pg.Client,
  request: pg.QueryConfig,
  timeoutMs: number,
  onRow: (row: Row) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const asked = new pg.Query<Row, unknown[]>(request);
  asked.on('row', (row) => {
    try {
      onRow(row);
    } catch (error) {
      reject(error);
    }
  });
  asked.on('end', () => resolve());
  asked.on('error', reject);
  await answered(client, timeoutMs, () => {
    client.query(asked);
    return promise;
  });
}

async function answered<T>(client: pg.Client, timeoutMs: number, ask: () => Promise<T>): Promise<T> {
  let isOver = false;
  const giveUp = () => {
    if (!isOver) sever(client, new SilentDatabaseError(timeoutMs));
  };
  // After a stall of this process the answer may have arrived unread; it is read before an immediate runs.
  const timer = setTimeout(() => setImmediate(giveUp), timeoutMs);
  try {
    return await ask();
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}

/** Closes a connection in order, or after a second by force, for instance if the link is silent. */
export async function disconnect(client: pg.Client): Promise<void> {
  const timer = setTimeout(() => sever(client), GOODBYE_MS);
  try {
    await client.end();
  } finally {
    clearTimeout(timer);
  }
}

/** Closes a connection immediately. Queries on it reject with the error, or with one of pg's own. */
export function sever(client: pg.Client, error?: Error): void {
  client.connection.stream.destroy(error);
}

function tlsOptions({ tls }: ServerAddress): TlsOptions | false {
  switch (tls.kind) {
    case 'off':
      return false;
    case 'unverified':
      return { rejectUnauthorized: false };
    case 'verified':
      // Explicit, because an environment variable can disable the default.
      return { rejectUnauthorized: true, ...(tls.authority !== undefined && { ca: readAuthority(tls.authority) }) };
  }
}

function readAuthority(path: string): string {
  try {
    const certificates = readFileSync(path, 'utf8');
    // Throws for a file without certificates, which TLS would ignore.
    new X509Certificate(certificates);
    return certificates;
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new AuthorityError(`cannot read certificates from ${path} (${code})`);
  }
}
